// The common part of the .cu files. nvcc compiles them for the device. For tests, the host compiler
// compiles them on top of emulator/emulator.h.
#ifndef TENON_KERNELS_GPU_DEVICE_DEVICE_CODE_H_
#define TENON_KERNELS_GPU_DEVICE_DEVICE_CODE_H_

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
// Launches a kernel: TENON_LAUNCH(kernel, blocks, threads, shared bytes, stream, params).
#define TENON_LAUNCH(kernel, blocks, threads, shared, stream, params)     \
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), \
           static_cast<size_t>(shared), static_cast<cudaStream_t>(stream)>>>(params)
// Declares the block's dynamic shared memory as an array of floats, aligned for every type.
#define TENON_DYNAMIC_SHARED_FLOATS(name) extern __shared__ __align__(16) float name[]
// Allows a kernel more than kUsualShared bytes of dynamic shared memory. Use it before the launch,
// which fails if this does.
#define TENON_ALLOW_SHARED(kernel, bytes) \
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))
// Marks parameters of a kernel that no thread changes.
#define TENON_GRID_CONSTANT const __grid_constant__
#else
#include "kernels/gpu/emulator/emulator.h"
#endif

#include "kernels/gpu/launch.h"
#include "kernels/gpu/params.h"

namespace tenon::kernels::gpu {

inline constexpr int kWarp = 32;                    // threads of a warp
inline constexpr unsigned kAllLanes = 0xffffffffu;  // the mask of a whole warp
inline constexpr int64_t kMaxBlocks = 1 << 20;      // kernels loop over the rest
inline constexpr size_t kUsualShared = 48 << 10;    // bytes that every kernel may use

// Returns the number of blocks for n items, `each` per block: from 1 to kMaxBlocks.
inline int64_t BlocksFor(int64_t n, int64_t each) {
  const int64_t blocks = (n + each - 1) / each;
  return blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks;
}
// Returns the threads of a block that works on a row of n elements: a power of two, at least kWarp.
inline int ThreadsForRow(int64_t n, int most) {
  int threads = kWarp;
  while (threads < most && threads < n) threads *= 2;
  return threads;
}

#if defined(__CUDACC__)
using F16 = __half;          // an f16 element
using BF16 = __nv_bfloat16;  // a bf16 element
// Converts an element to the type that kernels compute with: float or i64.
__device__ inline float Widen(F16 v) { return __half2float(v); }
__device__ inline float Widen(BF16 v) { return __bfloat162float(v); }
// Rounds a float to an element, to nearest even.
template <typename T>
__device__ inline T Narrow(float v) {
  return static_cast<T>(v);
}
template <>
__device__ inline F16 Narrow<F16>(float v) {
  return __float2half_rn(v);
}
template <>
__device__ inline BF16 Narrow<BF16>(float v) {
  return __float2bfloat16_rn(v);
}
#else
using F16 = Half;
using BF16 = BFloat16;
inline float Widen(F16 v) { return v; }
inline float Widen(BF16 v) { return v; }
template <typename T>
T Narrow(float v) {
  return T(v);
}
#endif
__device__ inline float Widen(float v) { return v; }
__device__ inline int64_t Widen(int64_t v) { return v; }
__device__ inline int64_t Widen(int32_t v) { return v; }

// Calls f.template operator()<T>() for the element type of a float dtype; false for others.
template <typename F>
bool DispatchFloats(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      f.template operator()<float>();
      return true;
    case DType::kF16:
      f.template operator()<F16>();
      return true;
    case DType::kBF16:
      f.template operator()<BF16>();
      return true;
    default:
      return false;
  }
}

// Returns the data as elements of type T.
template <typename T>
__device__ inline const T* As(const void* p) {
  return static_cast<const T*>(p);
}

// N neighboring elements, for one load or store of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Pack {
  T at[N];
};
// The number of elements in 16 bytes.
template <typename T>
inline constexpr int kInPack = 16 / static_cast<int>(sizeof(T));
// True if the address is a multiple of `bytes`.
inline bool IsAligned(const void* at, size_t bytes) {
  return reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

// Divides `index` by `extent` and returns the rest. Uses 32-bit division if that is enough.
__device__ inline int64_t DivMod(int64_t& index, int64_t extent) {
  int64_t rest;
  if (((index | extent) >> 32) == 0) {
    const uint32_t q = static_cast<uint32_t>(index) / static_cast<uint32_t>(extent);
    rest = static_cast<uint32_t>(index) - q * static_cast<uint32_t>(extent);
    index = q;
  } else {
    rest = index % extent;
    index /= extent;
  }
  return rest;
}

// The positions of N operands, in elements.
template <int N>
struct Positions {
  int64_t at[N];  // by operand
};
// Returns the positions of the operands at an index.
template <int N>
__device__ inline Positions<N> Locate(const Strided<N>& s, int64_t index) {
  Positions<N> p;
  for (int k = 0; k < N; ++k) p.at[k] = 0;
  for (int axis = s.rank - 1; axis > 0; --axis) {
    const int64_t i = DivMod(index, s.shape[axis]);
    for (int k = 0; k < N; ++k) p.at[k] += i * s.strides[k][axis];
  }
  for (int k = 0; k < N; ++k) p.at[k] += index * s.strides[k][0];
  return p;
}

// Returns the position of operand k alone.
template <int N>
__device__ inline int64_t LocateOne(const Strided<N>& s, int k, int64_t index) {
  int64_t at = 0;
  for (int axis = s.rank - 1; axis > 0; --axis) {
    at += DivMod(index, s.shape[axis]) * s.strides[k][axis];
  }
  return at + index * s.strides[k][0];
}

// Returns the largest value of the warp, in every lane.
__device__ inline float WarpMax(float v) {
  for (int d = kWarp / 2; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, d));
  return v;
}
// Returns the sum over the warp, in every lane.
__device__ inline float WarpSum(float v) {
  for (int d = kWarp / 2; d > 0; d /= 2) v += __shfl_xor_sync(kAllLanes, v, d);
  return v;
}
// Returns the sum over the block, in every thread. `parts` is shared memory for kWarp floats. It
// can be used again at once.
__device__ inline float BlockSum(float v, float* parts) {
  v = WarpSum(v);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
  __syncthreads();
  float total = 0;
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) total += parts[w];
  __syncthreads();
  return total;
}
// Returns the largest value of the block, in every thread. `parts` is as for BlockSum.
__device__ inline float BlockMax(float v, float* parts) {
  v = WarpMax(v);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
  __syncthreads();
  float most = parts[0];
  for (unsigned w = 1; w < blockDim.x / kWarp; ++w) most = fmaxf(most, parts[w]);
  __syncthreads();
  return most;
}

// Of the rows of a norm: floats do not hold the squares of all numbers that they hold.
struct Moments {
  float mean;     // of the row times `scale`; 0 for rms
  float inverse;  // 1 / sqrt(mean of squares + epsilon), of the row times `scale`
  float scale;    // a power of two: 1 if floats hold the squares of the row as it is
  // Returns the norm of an element.
  __device__ float Of(float x) const { return (x * scale - mean) * inverse; }
};
// Returns the moments of a row of `count` elements. `sum_of(f)` returns the sum of f(x) over the
// row, the same in every thread of the block.
template <typename SumOf>
__device__ inline Moments MomentsOf(SumOf&& sum_of, float count, NormKind kind, float epsilon) {
  constexpr float kLeast = 0x1p-100f, kMost = 0x1.fffffep127f;
  Moments m = {0, 0, 1};
  float squares = 0;
  const auto measure = [&](float scale) {
    m = {0, 0, scale};
    if (kind == NormKind::kLayer) m.mean = sum_of([&](float x) { return x * scale; }) / count;
    squares = sum_of([&](float x) {
                const float d = x * scale - m.mean;
                return d * d;
              }) / count +
              epsilon * scale * scale;
  };
  measure(1);
  if (!(squares >= kLeast && squares <= kMost)) measure(squares < kLeast ? 0x1p100f : 0x1p-100f);
  m.inverse = 1.0f / sqrtf(squares);
  return m;
}

// Reports an error in values. The first report stays.
__device__ inline void Report(DeviceError* error, DeviceError::Kind kind, int64_t value,
                              int64_t extent) {
  if (atomicCAS(&error->kind, DeviceError::kNone, kind) == DeviceError::kNone) {
    error->value = value;
    error->extent = extent;
  }
}
// Reports a value outside of [low, high]. `what` is host memory.
__device__ inline void ReportRange(DeviceError* error, int64_t value, int64_t low, int64_t high,
                                   const char* what) {
  if (atomicCAS(&error->kind, DeviceError::kNone, DeviceError::kRange) == DeviceError::kNone) {
    error->value = value;
    error->low = low;
    error->high = high;
    error->what = what;
  }
}
// Returns the row in [0, extent) of an index that may count from the end. If it is out of range,
// reports it and returns -1.
__device__ inline int64_t CheckedIndex(int64_t index, int64_t extent, DeviceError* error,
                                       DeviceError::Kind kind) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  Report(error, kind, index, extent);
  return -1;
}
// Returns index `at` of i64 (`wide`) or i32 indices.
__device__ inline int64_t LoadIndex(const void* indices, bool wide, int64_t at) {
  return wide ? As<int64_t>(indices)[at] : As<int32_t>(indices)[at];
}

__device__ inline float SigmoidOf(float v) { return 1.0f / (1.0f + expf(-v)); }
// Returns the activation of v.
__device__ inline float Activate(ActivationKind kind, float alpha, float beta, float v) {
  switch (kind) {
    case ActivationKind::kNone:
      return v;
    case ActivationKind::kRelu:
      return v < 0 ? 0.0f : v;
    case ActivationKind::kGelu:
      return 0.5f * v * erfcf(-v * 0.70710678118654752440f);
    case ActivationKind::kGeluTanh:
      return 0.5f * v * (1 + tanhf(0.79788456080286535588f * (v + 0.044715f * v * v * v)));
    case ActivationKind::kGeluSigmoid:
      return v * SigmoidOf(1.702f * v);
    case ActivationKind::kSilu:
      return v * SigmoidOf(v);
    case ActivationKind::kSigmoid:
      return SigmoidOf(v);
    case ActivationKind::kTanh:
      return tanhf(v);
    case ActivationKind::kClip:
      if (v < alpha) v = alpha;
      return v > beta ? beta : v;
    case ActivationKind::kLeakyRelu:
      return v >= 0 || v != v ? v : alpha * v;
    case ActivationKind::kHardSigmoid: {
      const float y = alpha * v + beta;
      return y < 0 ? 0.0f : y > 1 ? 1.0f : y;
    }
    case ActivationKind::kHardSwish: {
      const float y = v * (1.0f / 6) + 0.5f;
      return v * (y < 0 ? 0.0f : y > 1 ? 1.0f : y);
    }
    case ActivationKind::kMish: {
      if (v > 20) return v;
      const float e = expf(v), n = e * (e + 2);
      return v * (n / (n + 2));
    }
  }
  return v;
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_DEVICE_CODE_H_
