// cuBLASLt: products as its documentation says, by plain loops over column-major matrices. What a
// caller must be ready for happens often: no algorithm, or one that refuses after all.
#include <cublasLt.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/gpu/emulator/memory_check.h"
#include "kernels/half.h"
#include "tests/gpu/cuda_model/model.h"

namespace model = tenon::kernels::gpu::cuda_model;
using tenon::kernels::BFloat16;
using tenon::kernels::Half;

namespace {

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Product {
  bool tf32 = false;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};  // A, B, C, D
};
// In the bytes of a cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t workspace;
  uint32_t alignments[4];
  bool refuses;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

template <typename T, typename Opaque>
const T& As(Opaque of) {
  return *reinterpret_cast<const T*>(of);
}
template <typename T>
cublasStatus_t Set(T& field, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

float Load(cudaDataType_t type, const void* data, int64_t at) {
  if (type == CUDA_R_16F) return static_cast<const Half*>(data)[at];
  if (type == CUDA_R_16BF) return static_cast<const BFloat16*>(data)[at];
  return static_cast<const float*>(data)[at];
}
void Store(cudaDataType_t type, void* data, int64_t at, float v) {
  if (type == CUDA_R_16F) {
    static_cast<Half*>(data)[at] = Half(v);
  } else if (type == CUDA_R_16BF) {
    static_cast<BFloat16*>(data)[at] = BFloat16(v);
  } else {
    static_cast<float*>(data)[at] = v;
  }
}

// Rounded to 10 bits behind the point.
float ToTf32(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return std::isfinite(v) ? std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu) : v;
}

float Finish(cublasLtEpilogue_t epilogue, float v) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return v < 0 ? 0 : v;
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return 0.5f * v * (1 + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    default:
      return v;
  }
}
bool HasBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

struct Extents {
  int64_t m, n, k;
};
// Of the product, or false if the layouts do not fit.
bool Fit(const Product& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d,
         Extents& e) {
  const bool ta = p.a != CUBLAS_OP_N, tb = p.b != CUBLAS_OP_N;
  e.m = static_cast<int64_t>(ta ? a.columns : a.rows);
  e.k = static_cast<int64_t>(ta ? a.rows : a.columns);
  e.n = static_cast<int64_t>(tb ? b.rows : b.columns);
  const auto is = [&](const Layout& x, int64_t rows, int64_t columns) {
    return static_cast<int64_t>(x.rows) == rows && static_cast<int64_t>(x.columns) == columns &&
           x.leading >= rows && x.batch == a.batch;
  };
  if (p.tf32 && a.type != CUDA_R_32F) return false;
  const bool types = b.type == a.type && c.type == d.type &&
                     (d.type == a.type || (d.type == CUDA_R_32F && a.type == CUDA_R_16BF)) &&
                     (p.bias == nullptr || p.bias_type == d.type);
  return types && is(b, tb ? e.n : e.k, tb ? e.k : e.n) && is(c, e.m, e.n) && is(d, e.m, e.n) &&
         a.leading >= static_cast<int64_t>(a.rows) && e.m > 0 && e.n > 0 && e.k > 0;
}

struct Call {
  Product product;
  Extents e;
  Layout a_layout, b_layout, c_layout, d_layout;
  const void *a, *b, *c;
  void* d;
  float alpha, beta;
};

void Multiply(const Call& call) {
  const auto at = [](const Layout& x, int64_t batch, int64_t i, int64_t j) {
    return batch * x.stride + i + j * x.leading;
  };
  const bool ta = call.product.a != CUBLAS_OP_N, tb = call.product.b != CUBLAS_OP_N;
  const cudaDataType_t type = call.a_layout.type;
  for (int64_t batch = 0; batch < call.d_layout.batch; ++batch) {
    for (int64_t j = 0; j < call.e.n; ++j) {
      for (int64_t i = 0; i < call.e.m; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < call.e.k; ++k) {
          float x = Load(type, call.a, at(call.a_layout, batch, ta ? k : i, ta ? i : k));
          float y = Load(type, call.b, at(call.b_layout, batch, tb ? j : k, tb ? k : j));
          if (call.product.tf32) {
            x = ToTf32(x);
            y = ToTf32(y);
          }
          sum += static_cast<double>(x) * static_cast<double>(y);
        }
        float v = call.alpha * static_cast<float>(sum);
        if (call.beta != 0) {
          v += call.beta * Load(call.c_layout.type, call.c, at(call.c_layout, batch, i, j));
        }
        if (HasBias(call.product.epilogue)) {
          v += Load(call.product.bias_type, call.product.bias, i);
        }
        Store(call.d_layout.type, call.d, at(call.d_layout, batch, i, j),
              Finish(call.product.epilogue, v));
      }
    }
  }
}

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t) { return "a status of the model"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (model::ThisCallFails()) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasLtHandle_t>(new int());
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  if (model::ThisCallFails()) return CUBLAS_STATUS_ALLOC_FAILED;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t of,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  auto& layout = *reinterpret_cast<Layout*>(of);
  if (model::ThisCallFails()) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return Set(layout.batch, value, bytes);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    return Set(layout.stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (model::ThisCallFails()) return CUBLAS_STATUS_ALLOC_FAILED;
  // No sums in f16, and TF32 only where it is asked for.
  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if ((compute != CUBLAS_COMPUTE_32F && !(tf32 && std::getenv("TENON_CUDA_TF32") != nullptr)) ||
      scale != CUDA_R_32F) {
    model::Broken("lowers the precision");
  }
  *product = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{.tf32 = tf32});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete reinterpret_cast<Product*>(product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  auto& product = *reinterpret_cast<Product*>(of);
  if (model::ThisCallFails()) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Set(product.a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Set(product.b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Set(product.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Set(product.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return Set(product.bias_type, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (model::ThisCallFails()) return CUBLAS_STATUS_ALLOC_FAILED;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  auto& preference = *reinterpret_cast<Preference*>(of);
  uint32_t ignored = 0;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Set(preference.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Set(preference.alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Set(preference.alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Set(preference.alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Set(preference.alignments[3], value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Set(ignored, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t of,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preferred, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  const auto& product = As<Product>(of);
  const auto& preference = As<Preference>(preferred);
  *count = 0;
  if (model::ThisCallFails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Extents e;
  if (!Fit(product, As<Layout>(a), As<Layout>(b), As<Layout>(c), As<Layout>(d), e)) {
    model::Broken("multiplies matrices that do not fit");
  }
  if (std::getenv("TENON_CUDA_TF32") != nullptr && !product.tf32 &&
      As<Layout>(a).type == CUDA_R_32F) {
    model::Broken("asks for f32 products where TF32 is allowed");
  }
  if (HasBias(product.epilogue) && product.bias == nullptr) {
    model::Broken("wants a bias and names none");
  }
  const bool plain = product.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!plain && e.n % 5 == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (plain && e.m % 11 == 0) return CUBLAS_STATUS_SUCCESS;  // and no result
  for (; *count < wanted && *count < 3; ++*count) {
    Algorithm algorithm = {preference.workspace, {}, *count == 0 && e.k % 2 == 0};
    std::memcpy(algorithm.alignments, preference.alignments, sizeof(algorithm.alignments));
    results[*count] = {};
    std::memcpy(&results[*count].algo, &algorithm, sizeof(algorithm));
    // One that is of no use, as the state says.
    results[*count].state = *count == 1 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t of, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  if (model::ThisCallFails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const auto& algorithm = As<Algorithm>(chosen);
  const void* const operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(operands[i]) % algorithm.alignments[i] != 0) {
      model::Broken("multiplies operands that are less aligned than it said");
    }
  }
  if (workspace == nullptr || workspace_bytes < algorithm.workspace) {
    model::Broken("has less workspace than it said");
  }
  if (algorithm.refuses) return CUBLAS_STATUS_NOT_SUPPORTED;
  Call call = {As<Product>(of),
               {},
               As<Layout>(a_layout),
               As<Layout>(b_layout),
               As<Layout>(c_layout),
               As<Layout>(d_layout),
               a,
               b,
               c,
               d,
               *static_cast<const float*>(alpha),
               *static_cast<const float*>(beta)};
  if (!Fit(call.product, call.a_layout, call.b_layout, call.c_layout, call.d_layout, call.e)) {
    model::Broken("multiplies matrices that do not fit");
  }
  model::Submit(stream, [call] { Multiply(call); });
  return CUBLAS_STATUS_SUCCESS;
}
}
