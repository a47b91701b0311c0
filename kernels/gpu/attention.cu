// Attention with a running softmax: scores of a tile of keys live in registers, so memory grows
// with the sequence and not with its square. A block has kRows query rows of one head; each warp
// kRowsPerWarp of them, each lane one key of the tile, and then a column of v. Where there are few
// rows, as in decoding, several blocks share their keys.
#include "kernels/gpu/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kRowsPerWarp = 4;
constexpr int kRows = kWarps * kRowsPerWarp;
constexpr int kKeys = kWarp;
constexpr int kThreads = kWarps * kWarp;

// Floats of shared memory: a tile of keys (rows one longer, so that lanes meet different banks), of
// values (rows padded to whole warps), and the query rows.
__host__ __device__ inline int SharedFloats(int dim, int v_columns) {
  return kKeys * (dim + 1) + kKeys * v_columns + kRows * dim;
}

struct Keys {
  int64_t first, end;
};
__device__ inline int64_t Clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}
// Keys that causality and the window show to query i.
__device__ inline Keys VisibleTo(const AttentionParams& p, int64_t i) {
  Keys keys = {0, p.k_len};
  if (p.repeats_first_key) {
    const bool hidden = (p.causal && i + p.causal_offset < 0) ||
                        (p.window > 0 && i + p.causal_offset - p.window >= 0);
    return hidden ? Keys{0, 0} : keys;
  }
  if (p.causal) keys.end = Clamp(i + p.causal_offset + 1, 0, p.k_len);
  if (p.window > 0) keys.first = Clamp(i + p.causal_offset - p.window + 1, 0, keys.end);
  return keys;
}

template <typename T>
struct Scores {
  const AttentionParams& p;
  int64_t b, h;

  __device__ int64_t At(const int64_t (&strides)[4], int64_t i, int64_t j) const {
    return b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3];
  }
  __device__ bool Hidden(int64_t i, int64_t j) const {
    const Keys visible = VisibleTo(p, i);
    if (j < visible.first || j >= visible.end) return true;
    if (p.mask != nullptr && p.mask_is_bool && As<uint8_t>(p.mask)[At(p.mask_strides, i, j)] == 0)
      return true;
    return p.key_mask != nullptr && p.key_mask[At(p.key_mask_strides, i, j)] == 0;
  }
  // Adds bias and mask to the score `s` of key j for query i. Each sum is rounded like a tensor of
  // scores: what f16 cannot hold is infinite. `excluded` is set if one of them is negative
  // infinity.
  __device__ float PlusTerms(float s, int64_t i, int64_t j, bool& excluded) const {
    if (p.bias != nullptr) s = Plus(s, As<T>(p.bias)[At(p.bias_strides, i, j)], excluded);
    if (p.mask != nullptr && !p.mask_is_bool)
      s = Plus(s, As<T>(p.mask)[At(p.mask_strides, i, j)], excluded);
    return s;
  }
  __device__ static float Plus(float s, T term, bool& excluded) {
    const float added = Widen(term);
    excluded |= added == -INFINITY;
    return Widen(Narrow<T>(s + added));
  }
};

// Rows of up to `rows` x `columns` elements into shared memory, zeros beyond them.
template <typename T>
__device__ inline void LoadTile(const AttentionOperand& x, int64_t base, int64_t rows, int columns,
                                int tile_rows, int tile_columns, int pitch, float* to) {
  for (int at = static_cast<int>(threadIdx.x); at < tile_rows * tile_columns; at += kThreads) {
    const int r = at / tile_columns, c = at % tile_columns;
    const bool inside = r < rows && c < columns;
    to[r * pitch + c] = inside ? Widen(As<T>(x.data)[base + r * x.row + c * x.element]) : 0.0f;
  }
}

// Of sums whose scores were lowered by `most`, where all are lowered by `most_of_all`.
__device__ inline float Weight(float most, float most_of_all) {
  return most_of_all == -INFINITY ? 1.0f : expf(most - most_of_all);
}

// kColumns: columns of v and of the result for each lane.
template <typename T, int kColumns>
__global__ void __launch_bounds__(kThreads, 4) Attention(TENON_GRID_CONSTANT AttentionParams p) {
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  constexpr int kVColumns = kColumns * kWarp;
  float* keys = shared;
  float* values = keys + kKeys * (p.dim + 1);
  float* queries = values + kKeys * kVColumns;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * kRowsPerWarp;

  const int64_t tiles = (p.q_len + kRows - 1) / kRows;
  for (int64_t task = blockIdx.x; task < p.batch * p.heads * tiles * p.splits; task += gridDim.x) {
    int64_t rest = task;
    const int64_t split = DivMod(rest, p.splits), tile = DivMod(rest, tiles),
                  h = DivMod(rest, p.heads), b = rest;
    const int64_t kv = h / p.heads_per_kv, first_row = tile * kRows;
    const int64_t rows = Clamp(p.q_len - first_row, 0, kRows);
    const Scores<T> scores = {p, b, h};

    __syncthreads();  // the tile before is no longer read
    LoadTile<T>(p.q, p.q.offset + b * p.q.batch + h * p.q.head + first_row * p.q.row, rows, p.dim,
                kRows, p.dim, p.dim, queries);

    float most[kRowsPerWarp], total[kRowsPerWarp], out[kRowsPerWarp][kColumns];
    bool seen[kRowsPerWarp];  // by this lane: a score that no mask makes -inf
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      most[r] = -INFINITY;
      total[r] = 0;
      seen[r] = false;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) out[r][c] = 0;
    }

    // Hidden keys count where what they are given is finite.
    const bool skips = p.mask_value == -INFINITY;
    Keys range = {0, p.k_len};
    if (skips && !p.repeats_first_key) {
      range.first = VisibleTo(p, first_row).first;
      range.end = VisibleTo(p, first_row + rows - 1).end;
    }
    if (p.splits > 1) {
      const int64_t share = (range.end - range.first + p.splits - 1) / p.splits;
      range.first += split * share;
      range.end = Clamp(range.first + share, range.first, range.end);
    }
    for (int64_t first_key = range.first; first_key < range.end; first_key += kKeys) {
      const int64_t count = Clamp(range.end - first_key, 0, kKeys);
      __syncthreads();
      LoadTile<T>(p.k, p.k.offset + b * p.k.batch + kv * p.k.head + first_key * p.k.row, count,
                  p.dim, kKeys, p.dim, p.dim + 1, keys);
      LoadTile<T>(p.v, p.v.offset + b * p.v.batch + kv * p.v.head + first_key * p.v.row, count,
                  p.v_dim, kKeys, kVColumns, kVColumns, values);
      __syncthreads();

      float score[kRowsPerWarp] = {};
      for (int d = 0; d < p.dim; ++d) {
        const float k = keys[lane * (p.dim + 1) + d];
#pragma unroll
        for (int r = 0; r < kRowsPerWarp; ++r) score[r] += queries[(warp_row + r) * p.dim + d] * k;
      }
#pragma unroll
      for (int r = 0; r < kRowsPerWarp; ++r) {
        float s = score[r] * p.scale;
        if (p.softcap > 0) s = tanhf(s / p.softcap) * p.softcap;
        if (lane >= count || warp_row + r >= rows) {
          s = -INFINITY;
        } else {
          const int64_t i = first_row + warp_row + r, j = first_key + lane;
          const bool hidden = scores.Hidden(i, j);
          const float hiding = Widen(Narrow<T>(p.mask_value));  // -inf where T cannot hold it
          bool excluded = hidden && hiding == -INFINITY;
          if (hidden && p.mask_replaces) s = hiding;
          s = scores.PlusTerms(s, i, j, excluded);
          if (hidden && !p.mask_replaces) {
            s = skips ? -INFINITY : Widen(Narrow<T>(s + p.mask_value));
          }
          seen[r] |= !excluded;
        }
        const float most_now = fmaxf(most[r], WarpMax(s));
        // Without any score yet, only NaN counts.
        const float weight = most_now == -INFINITY ? (s != s ? s : 0.0f) : expf(s - most_now);
        const float shrink = most_now == -INFINITY ? 1.0f : expf(most[r] - most_now);
        most[r] = most_now;
        total[r] = total[r] * shrink + WarpSum(weight);
        score[r] = weight;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) out[r][c] *= shrink;
      }
      for (int j = 0; j < count; ++j) {
        float v[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) v[c] = values[j * kVColumns + c * kWarp + lane];
#pragma unroll
        for (int r = 0; r < kRowsPerWarp; ++r) {
          const float weight = __shfl_sync(kAllLanes, score[r], j);
#pragma unroll
          for (int c = 0; c < kColumns; ++c) out[r][c] += weight * v[c];
        }
      }
    }

#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const bool any = __any_sync(kAllLanes, seen[r]) != 0;
      if (warp_row + r >= rows) continue;
      if (p.splits > 1) {
        float* part =
            p.parts +
            (((b * p.heads + h) * p.q_len + first_row + warp_row + r) * p.splits + split) *
                PartFloats(p.v_dim);
        if (lane == 0) {
          part[0] = most[r];
          part[1] = total[r];
          part[2] = any ? 1.0f : 0.0f;
        }
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const int column = c * kWarp + lane;
          if (column < p.v_dim) part[3 + column] = out[r][c];
        }
        continue;
      }
      const int64_t at =
          p.out.offset + b * p.out.batch + h * p.out.head + (first_row + warp_row + r) * p.out.row;
      T* to = static_cast<T*>(const_cast<void*>(p.out.data)) + at;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int column = c * kWarp + lane;
        if (column >= p.v_dim) continue;
        to[column * p.out.element] = Narrow<T>(!any && p.nan_guard ? 0.0f : out[r][c] / total[r]);
      }
    }
  }
}

// One warp a row.
template <typename T>
__global__ void __launch_bounds__(kThreads) Join(TENON_GRID_CONSTANT JoinAttentionParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t rows = p.batch * p.heads * p.q_len;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; row < rows;
       row += static_cast<int64_t>(gridDim.x) * kWarps) {
    const int size = PartFloats(p.v_dim);
    const float* parts = p.parts + row * p.splits * size;
    float most = -INFINITY, total = 0;
    bool any = false;
    for (int64_t s = 0; s < p.splits; ++s) {
      most = fmaxf(most, parts[s * size]);
      any = any || parts[s * size + 2] != 0;
    }
    // A part without any score has nothing to add, or NaN.
    for (int64_t s = 0; s < p.splits; ++s)
      total += parts[s * size + 1] * Weight(parts[s * size], most);
    int64_t b = row;
    const int64_t i = DivMod(b, p.q_len), h = DivMod(b, p.heads);
    T* to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset + b * p.out.batch +
            h * p.out.head + i * p.out.row;
    for (int column = lane; column < p.v_dim; column += kWarp) {
      float sum = 0;
      for (int64_t s = 0; s < p.splits; ++s) {
        sum += parts[s * size + 3 + column] * Weight(parts[s * size], most);
      }
      to[column * p.out.element] = Narrow<T>(!any && p.nan_guard ? 0.0f : sum / total);
    }
  }
}

template <typename T, int kColumns>
void LaunchAttention(StreamHandle stream, const AttentionParams& p) {
  const size_t shared = static_cast<size_t>(SharedFloats(p.dim, kColumns * kWarp)) * sizeof(float);
  if (shared > kUsualShared) TENON_ALLOW_SHARED((Attention<T, kColumns>), shared);
  const int64_t tiles = (p.q_len + kRows - 1) / kRows;
  TENON_LAUNCH((Attention<T, kColumns>), BlocksFor(p.batch * p.heads * tiles * p.splits, 1),
               kThreads, shared, stream, p);
}

}  // namespace

void LaunchOn(StreamHandle stream, const AttentionParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    if (p.v_dim <= 2 * kWarp) {
      LaunchAttention<T, 2>(stream, p);
    } else if (p.v_dim <= 4 * kWarp) {
      LaunchAttention<T, 4>(stream, p);
    } else {
      LaunchAttention<T, 8>(stream, p);
    }
  });
}

void LaunchOn(StreamHandle stream, const JoinAttentionParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Join<T>, BlocksFor(p.batch * p.heads * p.q_len, kWarps), kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
