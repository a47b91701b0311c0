// Reductions, rotary embeddings, gated activations, and epilogues of products.
#include <type_traits>

#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/elementwise_ops.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;

template <typename C>
struct Reducer {
  ReduceKind kind;
  __device__ C Start() const {
    if (kind == ReduceKind::kMax) return Lowest();
    if (kind == ReduceKind::kMin) return Highest();
    return kind == ReduceKind::kProd ? C(1) : C(0);
  }
  __device__ C Take(C v) const { return kind == ReduceKind::kL2 ? v * v : v; }
  __device__ C Join(C a, C b) const {
    if (kind == ReduceKind::kMax) return a != a || a > b ? a : b;
    if (kind == ReduceKind::kMin) return a != a || a < b ? a : b;
    return kind == ReduceKind::kProd ? a * b : a + b;
  }
  __device__ C Finish(C v, int64_t count) const {
    if (kind == ReduceKind::kMean) return v / static_cast<C>(count);
    return kind == ReduceKind::kL2 ? static_cast<C>(sqrt(static_cast<double>(v))) : v;
  }

 private:
  __device__ static C Lowest() {
    if constexpr (std::is_floating_point_v<C>) return -INFINITY;
    return static_cast<C>(uint64_t{1} << 63);
  }
  __device__ static C Highest() {
    if constexpr (std::is_floating_point_v<C>) return INFINITY;
    return static_cast<C>(~(uint64_t{1} << 63));
  }
};

template <typename T, typename C>
__device__ inline T FromCompute(C v) {
  if constexpr (std::is_floating_point_v<C>) {
    return Narrow<T>(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

// Few results of much are a block's each.
constexpr int64_t kMuch = 1024, kFewResults = 2048;

// One thread a result, one warp where there is more to reduce, or the whole block.
template <typename T, typename C, int kLanes>
__global__ void __launch_bounds__(kThreads) Reduce(TENON_GRID_CONSTANT ReduceParams p) {
  const Reducer<C> reduce = {p.kind};
  constexpr int kResults = kThreads / kLanes;  // of a block at once
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kResults; first < p.n;
       first += static_cast<int64_t>(gridDim.x) * kResults) {
    const int64_t i = first + threadIdx.x / kLanes;
    C v = reduce.Start();
    if (i < p.n) {
      const T* in = As<T>(p.in) + Locate(p.kept, i).at[0];
      for (int64_t j = lane; j < p.count; j += kLanes) {
        v = reduce.Join(v, reduce.Take(static_cast<C>(Widen(in[Locate(p.reduced, j).at[0]]))));
      }
    }
    for (int d = (kLanes < kWarp ? kLanes : kWarp) / 2; d > 0; d /= 2) {
      v = reduce.Join(v, __shfl_xor_sync(kAllLanes, v, d));
    }
    if constexpr (kLanes > kWarp) {
      __shared__ C parts[kThreads / kWarp];
      __syncthreads();  // those before are no longer read
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
      __syncthreads();
      v = parts[0];
      for (int w = 1; w < kThreads / kWarp; ++w) v = reduce.Join(v, parts[w]);
    }
    if (lane == 0 && i < p.n) {
      static_cast<T*>(p.out)[i] = FromCompute<T>(reduce.Finish(v, p.count));
    }
  }
}

template <typename T, typename C>
void LaunchReduce(StreamHandle stream, const ReduceParams& p) {
  if (p.count < kWarp) {
    TENON_LAUNCH((Reduce<T, C, 1>), BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
  } else if (p.count >= kMuch && p.n <= kFewResults) {
    TENON_LAUNCH((Reduce<T, C, kThreads>), BlocksFor(p.n, 1), kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH((Reduce<T, C, kWarp>), BlocksFor(p.n, kThreads / kWarp), kThreads, 0, stream, p);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) Rotary(TENON_GRID_CONSTANT RotaryParams p) {
  const T* x = As<T>(p.x);
  const int64_t half = p.rotated / 2, n = p.rows * p.size;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < n;
       at += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t row = at;
    const int64_t i = DivMod(row, p.size);
    if (i >= p.rotated) {
      static_cast<T*>(p.out)[at] = x[at];
      continue;
    }
    const Positions<2> table = Locate(p.outer, row);
    const bool first = p.interleaved ? i % 2 == 0 : i < half;
    const int64_t distance = p.interleaved ? 1 : half;
    const float turned = first ? -Widen(x[at + distance]) : Widen(x[at - distance]);
    static_cast<T*>(p.out)[at] =
        Narrow<T>(Widen(x[at]) * Widen(As<T>(p.cos)[table.at[0] + i * p.cos_step]) +
                  turned * Widen(As<T>(p.sin)[table.at[1] + i * p.sin_step]));
  }
}

// One element a thread.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    RotaryEmbedding(TENON_GRID_CONSTANT RotaryEmbeddingParams p) {
  const T* x = As<T>(p.x);
  const int64_t n = p.batch * p.heads * p.length * p.dim;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < n;
       at += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t b = at;
    const int64_t d = DivMod(b, p.dim), i = DivMod(b, p.length), h = DivMod(b, p.heads);
    const int64_t row = b * p.batch_stride + h * p.head_stride + i * p.row_stride;
    T* out = static_cast<T*>(p.out) + row;
    if (d >= 2 * p.half) {
      out[d] = x[row + d];
      continue;
    }
    const int64_t pair = p.interleaved ? d / 2 : d % p.half;
    int64_t angle = b * p.angle_strides[0] + i * p.angle_strides[1] + pair * p.angle_strides[2];
    if (p.positions != nullptr) {
      const int64_t position = p.positions[b * p.position_strides[0] + i * p.position_strides[1]];
      if (position < 0 || position >= p.table_rows) {
        Report(p.error, DeviceError::kPosition, position, p.table_rows);
        continue;
      }
      angle = position * p.half + pair;
    }
    const bool first = p.interleaved ? d % 2 == 0 : d < p.half;
    const int64_t distance = p.interleaved ? 1 : p.half;
    const float turned = first ? -Widen(x[row + d + distance]) : Widen(x[row + d - distance]);
    out[d] = Narrow<T>(Widen(x[row + d]) * Widen(As<T>(p.cos)[angle]) +
                       turned * Widen(As<T>(p.sin)[angle]));
  }
}

// kEach neighbours of a row a thread, here and below.
template <typename T, int kEach>
__global__ void __launch_bounds__(kThreads) Gated(TENON_GRID_CONSTANT GatedParams p) {
  using Few = Pack<T, kEach>;
  const int64_t n = p.rows * p.n;
  const Factors factors = {p.alpha, p.beta, 0};
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kEach; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads * kEach) {
    int64_t row = i;
    const int64_t at = DivMod(row, p.n) + row * p.pitch;
    const Few gate = *As<Few>(As<T>(p.gate) + at), up = *As<Few>(As<T>(p.up) + at);
    Few out;
    WithActivation(p.activation, factors, [&](auto f) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        out.at[e] = Narrow<T>(f(Widen(gate.at[e]), 0.0f) * Widen(up.at[e]));
      }
    });
    *reinterpret_cast<Few*>(static_cast<T*>(p.out) + i) = out;
  }
}
bool InVectors(const GatedParams& p, size_t size) {
  const auto each = static_cast<int64_t>(16 / size);
  return p.n % each == 0 && p.pitch % each == 0 && IsAligned(p.gate, 16) && IsAligned(p.up, 16) &&
         IsAligned(p.out, 16);
}

template <typename T, int kEach>
__global__ void __launch_bounds__(kThreads) Epilogue(TENON_GRID_CONSTANT EpilogueParams p) {
  using Few = Pack<T, kEach>;
  const int64_t n = p.rows * p.n;
  T* out = static_cast<T*>(p.out);
  const Factors factors = {p.alpha, p.beta, 0};
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kEach; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads * kEach) {
    int64_t row = i;
    const int64_t column = DivMod(row, p.n);
    float v[kEach] = {};
    if (!p.from_zero) {
      const Few before = *reinterpret_cast<const Few*>(out + i);
#pragma unroll
      for (int e = 0; e < kEach; ++e) v[e] = Widen(before.at[e]);
    }
    if (p.bias != nullptr && p.bias_rows != 0) {
      const float bias = Widen(As<T>(p.bias)[DivMod(row, p.bias_rows)]);
#pragma unroll
      for (int e = 0; e < kEach; ++e) v[e] += bias;
    } else if (p.bias != nullptr) {
      const Few bias = *As<Few>(As<T>(p.bias) + column);
#pragma unroll
      for (int e = 0; e < kEach; ++e) v[e] += Widen(bias.at[e]);
    }
    WithActivation(p.activation, factors, [&](auto f) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) v[e] = f(v[e], 0.0f);
    });
    if (p.residual != nullptr) {
      const T* const residual = As<T>(p.residual) + Locate(p.residual_at, i).at[0];
      if (kEach == 1 || p.residual_step == 1) {
        const Few added = *As<Few>(residual);
#pragma unroll
        for (int e = 0; e < kEach; ++e) v[e] += Widen(added.at[e]);
      } else {
#pragma unroll
        for (int e = 0; e < kEach; ++e) v[e] += Widen(residual[e * p.residual_step]);
      }
    }
    Few after;
#pragma unroll
    for (int e = 0; e < kEach; ++e) after.at[e] = Narrow<T>(v[e]);
    *reinterpret_cast<Few*>(out + i) = after;
  }
}

// May as many neighbours as 16 bytes hold be taken at once? They have one row then, in the residual
// too, of which `step` is the distance between neighbours.
bool InVectors(const EpilogueParams& p, size_t size, int64_t& step) {
  const auto each = static_cast<int64_t>(16 / size);
  const bool bias_is_row = p.bias != nullptr && p.bias_rows == 0;
  if (p.n % each != 0 || !IsAligned(p.out, 16) || (bias_is_row && !IsAligned(p.bias, 16))) {
    return false;
  }
  if (p.residual == nullptr) return true;
  const int last = p.residual_at.rank - 1;
  step = p.residual_at.strides[0][last];
  int64_t distances = 0;
  for (int axis = 0; axis < last; ++axis) distances |= p.residual_at.strides[0][axis];
  return p.residual_at.shape[last] % each == 0 &&
         (step != 1 || (distances % each == 0 && IsAligned(p.residual, 16)));
}

}  // namespace

void LaunchOn(StreamHandle stream, const ReduceParams& p) {
  // Floats do not hold the squares of all numbers that they hold.
  const bool is_l2 = p.kind == ReduceKind::kL2;
  const bool floats = DispatchFloats(p.dtype, [&]<typename T>() {
    is_l2 ? LaunchReduce<T, double>(stream, p) : LaunchReduce<T, float>(stream, p);
  });
  if (floats) return;
  if (p.dtype == DType::kI64) {
    LaunchReduce<int64_t, int64_t>(stream, p);
  } else {
    LaunchReduce<int32_t, int64_t>(stream, p);
  }
}

void LaunchOn(StreamHandle stream, const RotaryParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Rotary<T>, BlocksFor(p.rows * p.size, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const RotaryEmbeddingParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(RotaryEmbedding<T>, BlocksFor(p.batch * p.heads * p.length * p.dim, kThreads),
                 kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const GatedParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    if (InVectors(p, sizeof(T))) {
      TENON_LAUNCH((Gated<T, kInPack<T>>), BlocksFor(p.rows * p.n, kThreads * kInPack<T>), kThreads,
                   0, stream, p);
    } else {
      TENON_LAUNCH((Gated<T, 1>), BlocksFor(p.rows * p.n, kThreads), kThreads, 0, stream, p);
    }
  });
}

void LaunchOn(StreamHandle stream, const EpilogueParams& params) {
  EpilogueParams p = params;
  DispatchFloats(p.dtype, [&]<typename T>() {
    if (InVectors(p, sizeof(T), p.residual_step)) {
      TENON_LAUNCH((Epilogue<T, kInPack<T>>), BlocksFor(p.rows * p.n, kThreads * kInPack<T>),
                   kThreads, 0, stream, p);
    } else {
      TENON_LAUNCH((Epilogue<T, 1>), BlocksFor(p.rows * p.n, kThreads), kThreads, 0, stream, p);
    }
  });
}

}  // namespace tenon::kernels::gpu
