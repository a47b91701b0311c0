#include "kernels/gpu/cuda/products.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "kernels/gpu/cuda/cuda_status.h"
#include "kernels/gpu/launch.h"

namespace tenon::kernels::gpu {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr int64_t kMaxBatch = 65535;                  // as far as a grid's third axis goes
constexpr size_t kMostPlans = 4096;                   // kept
constexpr int kMostAlgorithms = 8;                    // tried before a product goes without

KernelStatus Check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return KernelStatus::Ok();
  return KernelStatus::Internal(std::string("cuBLASLt: ") + what + ": " +
                                cublasLtGetStatusString(status));
}

// The library does not do this, though nothing is wrong with the queue.
bool IsRefusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

// The largest power of two up to 256 that divides all addresses that are present, and the bytes
// from one matrix to the next.
uint32_t AlignmentOf(const MatMulParams& p, std::initializer_list<const void*> addresses,
                     DType dtype, int64_t stride) {
  uintptr_t all = 256;
  if (p.batch > 1) all |= static_cast<uintptr_t>(stride) * SizeOf(dtype);
  for (const void* address : addresses) all |= reinterpret_cast<uintptr_t>(address);
  return static_cast<uint32_t>(all & (0 - all));
}
// What is read and written in the epilogue; the library knows no alignment of the bias alone.
uint32_t OutAlignment(const MatMulParams& p) {
  return AlignmentOf(p, {p.out, p.residual, p.bias}, p.out_dtype, p.out_stride);
}
uint32_t AlignmentOfA(const MatMulParams& p) { return AlignmentOf(p, {p.a}, p.dtype, p.a_stride); }
uint32_t AlignmentOfB(const MatMulParams& p) { return AlignmentOf(p, {p.b}, p.dtype, p.b_stride); }

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
  KernelStatus Make(DType dtype, int64_t rows, int64_t columns, int64_t leading, int64_t batch,
                    int64_t stride) {
    const auto batch_count = static_cast<int32_t>(batch);
    cublasStatus_t status = cublasLtMatrixLayoutCreate(
        &at, TypeOf(dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading);
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
  std::vector<cublasLtMatmulAlgo_t> algorithms;  // the best last; those that failed are gone
  ~Plan() {
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }
};

Products::Products(cudaStream_t stream, MemoryPool& pool, bool tf32)
    : stream_(stream), pool_(pool), tf32_(tf32) {}

Products::~Products() {
  plans_.clear();
  if (handle_ != nullptr) cublasLtDestroy(handle_);
  if (workspace_ != nullptr) cudaFreeAsync(workspace_, stream_);
}

KernelStatus Products::Open() {
  if (handle_ == nullptr) {
    if (KernelStatus status = Check(cublasLtCreate(&handle_), "opening"); !status.ok()) {
      handle_ = nullptr;
      return status;
    }
  }
  if (workspace_ != nullptr) return KernelStatus::Ok();
  return pool_.Allocate(kWorkspaceBytes, stream_, &workspace_);
}

Products::Key Products::KeyOf(const MatMulParams& p) {
  return {static_cast<int64_t>(p.dtype),
          static_cast<int64_t>(p.out_dtype),
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
          p.pitch(),
          AlignmentOfA(p),
          AlignmentOfB(p),
          OutAlignment(p)};
}

KernelStatus Products::MakePlan(const MatMulParams& p, std::unique_ptr<Plan>& made) {
  auto plan = std::make_unique<Plan>();
  const auto compute =
      tf32_ && p.dtype == DType::kF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasStatus_t result = cublasLtMatmulDescCreate(&plan->product, compute, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    if (result == CUBLAS_STATUS_SUCCESS) {
      result = cublasLtMatmulDescSetAttribute(plan->product, attribute, &value, sizeof(value));
    }
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(p));
  if (p.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, TypeOf(p.out_dtype));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  }
  KernelStatus status = Check(result, "product");
  if (status.ok()) {
    status = plan->b.Make(p.dtype, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k,
                          p.transpose_b ? p.k : p.n, p.batch, p.b_stride);
  }
  if (status.ok()) {
    status = plan->a.Make(p.dtype, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m,
                          p.transpose_a ? p.m : p.k, p.batch, p.a_stride);
  }
  if (status.ok()) status = plan->out.Make(p.out_dtype, p.n, p.m, p.pitch(), p.batch, p.out_stride);
  if (!status.ok()) return status;

  Preference preference;
  result = cublasLtMatmulPreferenceCreate(&preference.at);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (result == CUBLAS_STATUS_SUCCESS) {
      result =
          cublasLtMatmulPreferenceSetAttribute(preference.at, attribute, &value, sizeof(value));
    }
  };
  const uint32_t out_alignment = OutAlignment(p);
  // Parts of a sum are never added in f16 or bf16.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOfB(p));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOfA(p));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out_alignment);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  if (status = Check(result, "preferences"); !status.ok()) return status;
  cublasLtMatmulHeuristicResult_t best[kMostAlgorithms] = {};
  int count = 0;
  result =
      cublasLtMatmulAlgoGetHeuristic(handle_, plan->product, plan->b.at, plan->a.at, plan->out.at,
                                     plan->out.at, preference.at, kMostAlgorithms, best, &count);
  if (!IsRefusal(result)) {
    if (status = Check(result, "choosing an algorithm"); !status.ok()) return status;
    while (--count >= 0) {
      if (best[count].state == CUBLAS_STATUS_SUCCESS) plan->algorithms.push_back(best[count].algo);
    }
  }
  made = std::move(plan);
  return KernelStatus::Ok();
}

KernelStatus Products::Multiply(const MatMulParams& p, Plan& plan, bool& done) {
  if (p.bias != nullptr) {
    const cublasStatus_t set = cublasLtMatmulDescSetAttribute(
        plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof(p.bias));
    if (set != CUBLAS_STATUS_SUCCESS) return Check(set, "bias");
  }
  const float one = 1, beta = p.residual != nullptr ? 1 : 0;
  const void* added = p.residual != nullptr ? p.residual : p.out;
  for (; !plan.algorithms.empty(); plan.algorithms.pop_back()) {
    const cublasStatus_t result = cublasLtMatmul(
        handle_, plan.product, &one, p.b, plan.b.at, p.a, plan.a.at, &beta, added, plan.out.at,
        p.out, plan.out.at, &plan.algorithms.back(), workspace_, kWorkspaceBytes, stream_);
    if (IsRefusal(result)) continue;
    done = true;
    return Check(result, "product");
  }
  return KernelStatus::Ok();
}

KernelStatus Products::LaunchWithoutLibrary(const MatMulParams& p) {
  const bool dense = p.pitch() == p.n && (p.batch == 1 || p.out_stride == p.m * p.n);
  if (!dense || (p.bias == nullptr && p.activation == ActivationKind::kNone)) {
    LaunchOn(stream_, p);
    return gpu::Check(cudaGetLastError(), "launching MatMul");
  }
  MatMulParams product = p;
  product.bias = nullptr;
  product.activation = ActivationKind::kNone;
  if (KernelStatus status = LaunchBatches(product); !status.ok()) return status;
  EpilogueParams epilogue = {};
  epilogue.dtype = p.out_dtype;
  epilogue.activation = p.activation;
  epilogue.bias = p.bias;
  epilogue.out = p.out;
  epilogue.rows = p.batch * p.m;
  epilogue.n = p.n;
  LaunchOn(stream_, epilogue);
  return gpu::Check(cudaGetLastError(), "launching Epilogue");
}

KernelStatus Products::LaunchBatches(const MatMulParams& p) {
  if (KernelStatus status = Open(); !status.ok()) return status;
  // Shapes that change from run to run leave plans behind.
  if (plans_.size() >= kMostPlans) plans_.clear();
  std::unique_ptr<Plan>& plan = plans_[KeyOf(p)];
  if (plan == nullptr) {
    if (KernelStatus status = MakePlan(p, plan); !status.ok()) return status;
  }
  bool done = false;
  if (KernelStatus status = Multiply(p, *plan, done); !status.ok() || done) return status;
  return LaunchWithoutLibrary(p);
}

KernelStatus Products::Launch(const MatMulParams& params) {
  const auto size = static_cast<int64_t>(SizeOf(params.dtype));
  const int64_t out_bytes = params.out_stride * static_cast<int64_t>(SizeOf(params.out_dtype));
  for (int64_t first = 0; first < params.batch; first += kMaxBatch) {
    MatMulParams p = params;
    p.batch = std::min(params.batch - first, kMaxBatch);
    p.a = static_cast<const std::byte*>(params.a) + first * params.a_stride * size;
    p.b = static_cast<const std::byte*>(params.b) + first * params.b_stride * size;
    p.out = static_cast<std::byte*>(params.out) + first * out_bytes;
    if (params.residual != nullptr) {
      p.residual = static_cast<const std::byte*>(params.residual) + first * out_bytes;
    }
    if (KernelStatus status = LaunchBatches(p); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels::gpu
