// Elementwise ops with broadcasting, casts and selections: one thread an element, the op a uniform
// branch.
#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/elementwise_ops.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ElementwiseFloat(TENON_GRID_CONSTANT ElementwiseParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<2> at = Locate(p.at, i);
    const float a = Widen(As<T>(p.a)[at.at[0]]);
    const float b = p.b != nullptr ? Widen(As<T>(p.b)[at.at[1]]) : 0.0f;
    if (GivesBool(p.op)) {
      static_cast<uint8_t*>(p.out)[i] = Test(p.op, a, b);
    } else {
      static_cast<T*>(p.out)[i] = Narrow<T>(Apply(p.op, {p.alpha, p.beta, p.gamma}, a, b));
    }
  }
}

template <typename I>
__global__ void __launch_bounds__(kThreads)
    ElementwiseInt(TENON_GRID_CONSTANT ElementwiseParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<2> at = Locate(p.at, i);
    const I a = As<I>(p.a)[at.at[0]];
    const I b = p.b != nullptr ? As<I>(p.b)[at.at[1]] : I{0};
    if (GivesBool(p.op)) {
      static_cast<uint8_t*>(p.out)[i] = Test(p.op, a, b);
    } else {
      static_cast<I*>(p.out)[i] = ApplyInt(p.op, a, b);
    }
  }
}

__device__ inline int64_t LoadInt(DType dtype, const void* in, int64_t i) {
  switch (dtype) {
    case DType::kI8:
      return As<int8_t>(in)[i];
    case DType::kI16:
      return As<int16_t>(in)[i];
    case DType::kI32:
      return As<int32_t>(in)[i];
    case DType::kI64:
      return As<int64_t>(in)[i];
    default:  // bool, u8
      return As<uint8_t>(in)[i];
  }
}
__device__ inline double LoadFloat(DType dtype, const void* in, int64_t i) {
  switch (dtype) {
    case DType::kF16:
      return Widen(As<F16>(in)[i]);
    case DType::kBF16:
      return Widen(As<BF16>(in)[i]);
    case DType::kF32:
      return As<float>(in)[i];
    default:
      return As<double>(in)[i];
  }
}

// V: int64_t or double.
template <typename V>
__device__ inline void StoreAs(DType dtype, void* out, int64_t i, V v) {
  switch (dtype) {
    case DType::kBool:
      static_cast<uint8_t*>(out)[i] = v != 0;
      break;
    case DType::kI8:
      static_cast<int8_t*>(out)[i] = static_cast<int8_t>(static_cast<int64_t>(v));
      break;
    case DType::kU8:
      static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(static_cast<int64_t>(v));
      break;
    case DType::kI16:
      static_cast<int16_t*>(out)[i] = static_cast<int16_t>(static_cast<int64_t>(v));
      break;
    case DType::kI32:
      static_cast<int32_t*>(out)[i] = static_cast<int32_t>(static_cast<int64_t>(v));
      break;
    case DType::kI64:
      static_cast<int64_t*>(out)[i] = static_cast<int64_t>(v);
      break;
    case DType::kF16:
      static_cast<F16*>(out)[i] = Narrow<F16>(static_cast<float>(v));
      break;
    case DType::kBF16:
      static_cast<BF16*>(out)[i] = Narrow<BF16>(static_cast<float>(v));
      break;
    case DType::kF32:
      static_cast<float*>(out)[i] = static_cast<float>(v);
      break;
    default:
      static_cast<double*>(out)[i] = static_cast<double>(v);
      break;
  }
}

__global__ void __launch_bounds__(kThreads) CastKernel(TENON_GRID_CONSTANT CastParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    if (IsFloat(p.from)) {
      StoreAs(p.to, p.out, i, LoadFloat(p.from, p.in, i));
    } else {
      StoreAs(p.to, p.out, i, LoadInt(p.from, p.in, i));
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) FmaKernel(TENON_GRID_CONSTANT FmaParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<3> at = Locate(p.at, i);
    const float a = Widen(As<T>(p.a)[at.at[0]]), b = Widen(As<T>(p.b)[at.at[1]]);
    static_cast<T*>(p.out)[i] = Narrow<T>(fmaf(a, b, Widen(As<T>(p.c)[at.at[2]])));
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SelectKernel(TENON_GRID_CONSTANT SelectParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<3> at = Locate(p.at, i);
    static_cast<T*>(p.out)[i] = p.cond[at.at[0]] != 0 ? As<T>(p.a)[at.at[1]] : As<T>(p.b)[at.at[2]];
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const ElementwiseParams& p) {
  const int64_t blocks = BlocksFor(p.n, kThreads);
  const bool floats = DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(ElementwiseFloat<T>, blocks, kThreads, 0, stream, p);
  });
  if (floats) return;
  if (p.dtype == DType::kI64) {
    TENON_LAUNCH(ElementwiseInt<int64_t>, blocks, kThreads, 0, stream, p);
  } else if (p.dtype == DType::kI32) {
    TENON_LAUNCH(ElementwiseInt<int32_t>, blocks, kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(ElementwiseInt<uint8_t>, blocks, kThreads, 0, stream, p);
  }
}

void LaunchOn(StreamHandle stream, const CastParams& p) {
  TENON_LAUNCH(CastKernel, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
}

void LaunchOn(StreamHandle stream, const FmaParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(FmaKernel<T>, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const SelectParams& p) {
  const int64_t blocks = BlocksFor(p.n, kThreads);
  if (p.size == 1) {
    TENON_LAUNCH(SelectKernel<uint8_t>, blocks, kThreads, 0, stream, p);
  } else if (p.size == 2) {
    TENON_LAUNCH(SelectKernel<uint16_t>, blocks, kThreads, 0, stream, p);
  } else if (p.size == 4) {
    TENON_LAUNCH(SelectKernel<uint32_t>, blocks, kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(SelectKernel<uint64_t>, blocks, kThreads, 0, stream, p);
  }
}

}  // namespace tenon::kernels::gpu
