#include "kernels/gpu/cuda/products.h"

#include <algorithm>
#include <cstdint>

#include "kernels/gpu/cuda/cuda_status.h"

namespace tenon::kernels::gpu {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA recommends for Hopper

KernelStatus Check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return KernelStatus::Ok();
  return KernelStatus::Internal(std::string("cuBLASLt: ") + what + ": " +
                                cublasLtGetStatusString(status));
}

// The largest power of two up to 256 that divides all addresses that are present.
uint32_t AlignmentOf(const void* a, const void* b) {
  const auto all = reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | 256;
  return static_cast<uint32_t>(all & (0 - all));
}

cudaDataType_t TypeOf(DType dtype) {
  return dtype == DType::kF16 ? CUDA_R_16F : dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t EpilogueOf(const MatMulParams& p) {
  switch (p.activation) {
    case ActivationKind::kRelu:
      return p.bias != nullptr ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ActivationKind::kGeluTanh:
      return p.bias != nullptr ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return p.bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// A matrix in the library's column-major order.
struct Layout {
  cublasLtMatrixLayout_t at = nullptr;
  ~Layout() {
    if (at != nullptr) cublasLtMatrixLayoutDestroy(at);
  }
  KernelStatus Make(DType dtype, int64_t rows, int64_t columns, int64_t batch, int64_t stride) {
    const auto batch_count = static_cast<int32_t>(batch);
    cublasStatus_t status = cublasLtMatrixLayoutCreate(
        &at, TypeOf(dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatrixLayoutSetAttribute(at, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                &batch_count, sizeof(batch_count));
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatrixLayoutSetAttribute(at, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof(stride));
    }
    return Check(status, "matrix layout");
  }
};

struct Preference {
  cublasLtMatmulPreference_t at = nullptr;
  ~Preference() {
    if (at != nullptr) cublasLtMatmulPreferenceDestroy(at);
  }
};

}  // namespace

// Row-major out = a * b is column-major out^T = b^T * a^T, so the library's first operand is b.
struct Products::Plan {
  cublasLtMatmulDesc_t product = nullptr;
  Layout b, a, out;
  cublasLtMatmulAlgo_t algorithm = {};
  ~Plan() {
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }
};

Products::Products() = default;

Products::~Products() {
  plans_.clear();
  if (handle_ != nullptr) cublasLtDestroy(handle_);
  if (workspace_ != nullptr) cudaFreeAsync(workspace_, stream_);
}

KernelStatus Products::Open(cudaStream_t stream) {
  stream_ = stream;
  KernelStatus status = Check(cublasLtCreate(&handle_), "opening");
  if (!status.ok()) return status;
  return gpu::Check(cudaMallocAsync(&workspace_, kWorkspaceBytes, stream), "workspace");
}

Products::Key Products::KeyOf(const MatMulParams& p) {
  return {static_cast<int64_t>(p.dtype),
          (p.transpose_a ? 1 : 0) | (p.transpose_b ? 2 : 0) | (p.bias != nullptr ? 4 : 0) |
              (p.residual != nullptr ? 8 : 0),
          static_cast<int64_t>(p.activation),
          p.m,
          p.n,
          p.k,
          p.batch,
          p.a_stride,
          p.b_stride,
          p.out_stride,
          AlignmentOf(p.a, nullptr),
          AlignmentOf(p.b, nullptr),
          AlignmentOf(p.out, p.residual)};
}

KernelStatus Products::MakePlan(const MatMulParams& p, std::unique_ptr<Plan>& made) {
  auto plan = std::make_unique<Plan>();
  cublasStatus_t result = cublasLtMatmulDescCreate(&plan->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    if (result == CUBLAS_STATUS_SUCCESS) {
      result = cublasLtMatmulDescSetAttribute(plan->product, attribute, &value, sizeof(value));
    }
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(p));
  if (p.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, TypeOf(p.dtype));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  }
  KernelStatus status = Check(result, "product");
  if (status.ok()) {
    status = plan->b.Make(p.dtype, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.batch,
                          p.b_stride);
  }
  if (status.ok()) {
    status = plan->a.Make(p.dtype, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.batch,
                          p.a_stride);
  }
  if (status.ok()) status = plan->out.Make(p.dtype, p.n, p.m, p.batch, p.out_stride);
  if (!status.ok()) return status;

  Preference preference;
  result = cublasLtMatmulPreferenceCreate(&preference.at);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (result == CUBLAS_STATUS_SUCCESS) {
      result =
          cublasLtMatmulPreferenceSetAttribute(preference.at, attribute, &value, sizeof(value));
    }
  };
  const uint32_t out_alignment = AlignmentOf(p.out, p.residual);
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOf(p.b, nullptr));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOf(p.a, nullptr));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out_alignment);
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  if (result == CUBLAS_STATUS_SUCCESS) {
    result =
        cublasLtMatmulAlgoGetHeuristic(handle_, plan->product, plan->b.at, plan->a.at, plan->out.at,
                                       plan->out.at, preference.at, 1, &best, &found);
  }
  status = Check(result, "choosing an algorithm");
  if (!status.ok()) return status;
  if (found == 0) return KernelStatus::Unsupported("cuBLASLt has no algorithm for this product");
  plan->algorithm = best.algo;
  made = std::move(plan);
  return KernelStatus::Ok();
}

KernelStatus Products::Launch(const MatMulParams& p) {
  std::unique_ptr<Plan>& plan = plans_[KeyOf(p)];
  if (plan == nullptr) {
    if (KernelStatus status = MakePlan(p, plan); !status.ok()) return status;
  } else if (p.bias != nullptr) {
    const cublasStatus_t set = cublasLtMatmulDescSetAttribute(
        plan->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof(p.bias));
    if (set != CUBLAS_STATUS_SUCCESS) return Check(set, "bias");
  }
  const float one = 1, beta = p.residual != nullptr ? 1 : 0;
  const void* added = p.residual != nullptr ? p.residual : p.out;
  return Check(cublasLtMatmul(handle_, plan->product, &one, p.b, plan->b.at, p.a, plan->a.at, &beta,
                              added, plan->out.at, p.out, plan->out.at, &plan->algorithm,
                              workspace_, kWorkspaceBytes, stream_),
               "product");
}

}  // namespace tenon::kernels::gpu
