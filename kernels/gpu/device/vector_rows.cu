// Norms and embeddings of rows that lie in whole vectors: a block keeps a row in its registers. It
// asks for all operands before it uses one.
#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/vector_rows.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kMostThreads = 512;
template <typename T>
constexpr int kMostPacks = 16 / kInPack<T>;  // of a thread: 16 elements

// The sum over the block, in every thread. Sums take turns with two places of `parts`: who writes
// to one of them has met all others since they read it.
class BlockSums {
 public:
  using Parts = float[2][kWarp];
  __device__ explicit BlockSums(Parts& parts) : parts_(parts) {}
  __device__ float Of(float v) {
    v = WarpSum(v);
    float* const parts = parts_[turn_];
    turn_ ^= 1;
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = v;
    __syncthreads();
    float total = 0;
    for (unsigned w = 0; w < blockDim.x / kWarp; ++w) total += parts[w];
    return total;
  }

 private:
  Parts& parts_;
  int turn_ = 0;
};

// A thread's elements of a row of n, in packs that lie a block apart.
template <typename T, int kPacks>
struct RowOf {
  static constexpr int kEach = kInPack<T>;
  using Elements = Pack<T, kEach>;
  // Calls f(i, c) for each pack i, with its first column.
  template <typename F>
  __device__ static void ForEach(int64_t n, F&& f) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int64_t c = (static_cast<int64_t>(i) * blockDim.x + threadIdx.x) * kEach;
      if (c < n) f(i, c);
    }
  }
  __device__ static Elements At(const void* x, int64_t at) { return *As<Elements>(As<T>(x) + at); }
  __device__ static void Store(void* x, int64_t at, const Elements& elements) {
    *reinterpret_cast<Elements*>(static_cast<T*>(x) + at) = elements;
  }

  Elements x[kPacks], scale[kPacks], bias[kPacks];

  // Stores the norm at `to`, times scale and plus bias where p says that there are any.
  template <typename Params>
  __device__ void StoreNorm(const Params& p, bool has_scale, bool has_bias, int64_t to,
                            BlockSums& sums) const {
    const auto sum_of = [&](auto f) {
      float part = 0;
      ForEach(p.n, [&](int i, int64_t) {
#pragma unroll
        for (int e = 0; e < kEach; ++e) part += f(Widen(x[i].at[e]));
      });
      return sums.Of(part);
    };
    const Moments m = MomentsOf(sum_of, static_cast<float>(p.n), p.kind, p.epsilon);
    ForEach(p.n, [&](int i, int64_t c) {
      Elements result;
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        float v = m.Of(Widen(x[i].at[e]));
        if (has_scale) v *= Widen(scale[i].at[e]);
        if (has_bias) v += Widen(bias[i].at[e]);
        result.at[e] = Narrow<T>(v);
      }
      Store(p.out, to + c, result);
    });
  }
};

// Adds `b` to `a`, rounded to the elements' type.
template <typename T, int kEach>
__device__ inline void AddTo(Pack<T, kEach>& a, const Pack<T, kEach>& b) {
#pragma unroll
  for (int e = 0; e < kEach; ++e) a.at[e] = Narrow<T>(Widen(a.at[e]) + Widen(b.at[e]));
}

template <typename T, int kPacks>
__global__ void __launch_bounds__(kMostThreads) VectorNorm(TENON_GRID_CONSTANT NormParams p) {
  using Row = RowOf<T, kPacks>;
  __shared__ BlockSums::Parts parts;
  BlockSums sums(parts);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const Positions<4> base = Locate(p.outer, row);
    Row own;
    typename Row::Elements skip[kPacks];
    Row::ForEach(p.n, [&](int i, int64_t c) {
      own.x[i] = Row::At(p.in[0], base.at[0] + c);
      if (p.in[1] != nullptr) skip[i] = Row::At(p.in[1], base.at[1] + c);
      if (p.in[2] != nullptr) own.scale[i] = Row::At(p.in[2], base.at[2] + c);
      if (p.in[3] != nullptr) own.bias[i] = Row::At(p.in[3], base.at[3] + c);
    });
    Row::ForEach(p.n, [&](int i, int64_t c) {
      if (p.in[1] != nullptr) AddTo(own.x[i], skip[i]);
      if (p.sum != nullptr) Row::Store(p.sum, row * p.n + c, own.x[i]);
    });
    own.StoreNorm(p, p.in[2] != nullptr, p.in[3] != nullptr, row * p.n, sums);
  }
}

template <typename T, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    VectorEmbedding(TENON_GRID_CONSTANT EmbeddingParams p) {
  using Row = RowOf<T, kPacks>;
  constexpr int kMostTables = EmbeddingParams::kMostTables;
  __shared__ BlockSums::Parts parts;
  BlockSums sums(parts);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const Positions<kMostTables + 1> base = Locate(p.outer, row);
    int64_t from[kMostTables];  // all indices are read before one is used
#pragma unroll
    for (int k = 0; k < kMostTables; ++k) {
      if (k < p.num_tables) from[k] = LoadIndex(p.ids[k], p.wide_ids[k], base.at[k]);
    }
    Row own;
    Row::ForEach(p.n, [&](int i, int64_t c) {
      own.x[i] = {};
      if (p.scale != nullptr) own.scale[i] = Row::At(p.scale, c);
      if (p.bias != nullptr) own.bias[i] = Row::At(p.bias, c);
    });
#pragma unroll
    for (int k = 0; k < kMostTables; ++k) {
      if (k >= p.num_tables) continue;
      const int64_t at =
          CheckedIndex(from[k], p.table_rows[k], p.error, DeviceError::kEmbeddingIndex);
      if (at < 0) continue;
      Row::ForEach(p.n, [&](int i, int64_t c) {
        const typename Row::Elements w = Row::At(p.tables[k], at * p.n + c);
        if (k == 0) {
          own.x[i] = w;
        } else {
          AddTo(own.x[i], w);
        }
      });
    }
    Row::ForEach(p.n, [&](int i, int64_t c) {
      if (p.added != nullptr) AddTo(own.x[i], Row::At(p.added, base.at[kMostTables] + c));
      if (p.sum != nullptr) Row::Store(p.sum, row * p.n + c, own.x[i]);
      if (p.kind == NormKind::kNone) Row::Store(p.out, row * p.n + c, own.x[i]);
    });
    if (p.kind == NormKind::kNone) continue;
    own.StoreNorm(p, p.scale != nullptr, p.bias != nullptr, row * p.n, sums);
  }
}

// Calls f.template operator()<T, kPacks>(threads) for rows of n elements of a float dtype. Returns
// false if a block does not hold such a row, or if it is not whole packs.
template <typename F>
bool DispatchRow(DType dtype, int64_t n, F&& f) {
  bool launched = false;
  DispatchFloats(dtype, [&]<typename T>() {
    const int64_t packs = n / kInPack<T>;
    if (n % kInPack<T> != 0 || packs > kMostThreads * kMostPacks<T>) return;
    launched = true;
    const int threads = packs >= kMostThreads
                            ? kMostThreads
                            : static_cast<int>((packs + kWarp - 1) / kWarp) * kWarp;
    if (packs <= kMostThreads) {
      f.template operator()<T, 1>(threads);
    } else if (packs <= 2 * kMostThreads || kMostPacks<T> == 2) {
      f.template operator()<T, 2>(threads);
    } else {
      f.template operator()<T, kMostPacks<T>>(threads);
    }
  });
  return launched;
}

// May 16 bytes of rows at `x` be read at once? `outer` locates them as operand k. True if absent.
template <int N>
bool InVectors(const void* x, const Strided<N>& outer, int k, DType dtype) {
  bool whole = IsAligned(x, 16);
  for (int axis = 0; axis < outer.rank; ++axis) {
    const auto bytes = outer.strides[k][axis] * static_cast<int64_t>(SizeOf(dtype));
    whole = whole && (bytes % 16 == 0 || outer.shape[axis] == 1);
  }
  return x == nullptr || whole;
}

}  // namespace

bool LaunchVectors(StreamHandle stream, const NormParams& p) {
  if (!IsAligned(p.out, 16) || !IsAligned(p.sum, 16)) return false;
  for (int k = 0; k < 4; ++k) {
    const bool dense = p.inner.rank == 1 && p.inner.strides[k][0] == 1;
    if (p.in[k] != nullptr && (!dense || !InVectors(p.in[k], p.outer, k, p.dtype))) return false;
  }
  return DispatchRow(p.dtype, p.n, [&]<typename T, int kPacks>(int threads) {
    TENON_LAUNCH((VectorNorm<T, kPacks>), BlocksFor(p.rows, 1), threads, 0, stream, p);
  });
}

bool LaunchVectors(StreamHandle stream, const EmbeddingParams& p) {
  constexpr int kAdded = EmbeddingParams::kMostTables;
  for (const void* x :
       {static_cast<const void*>(p.out), static_cast<const void*>(p.sum), p.scale, p.bias}) {
    if (!IsAligned(x, 16)) return false;
  }
  for (int k = 0; k < p.num_tables; ++k) {
    if (!IsAligned(p.tables[k], 16)) return false;
  }
  if (p.added != nullptr && (p.added_step != 1 || !InVectors(p.added, p.outer, kAdded, p.dtype))) {
    return false;
  }
  return DispatchRow(p.dtype, p.n, [&]<typename T, int kPacks>(int threads) {
    TENON_LAUNCH((VectorEmbedding<T, kPacks>), BlocksFor(p.rows, 1), threads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
