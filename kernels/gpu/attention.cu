// Attention with a running softmax: scores of a tile of keys live in registers, so memory grows
// with the sequence and not with its square. A block has kRows query rows of one head; each warp
// kRowsPerWarp of them, each lane one key of the tile, and then a column of v. Where there are few
// rows, as in decoding, several blocks share their keys.
#include "kernels/gpu/attention_scores.h"
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

    Keys range = RangeOf(p, first_row, rows);
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
        float s = scores.Capped(score[r] * p.scale);
        if (lane >= count || warp_row + r >= rows) {
          s = -INFINITY;
        } else {
          s = scores.Of(s, first_row + warp_row + r, first_key + lane, seen[r]);
        }
        const float most_now = fmaxf(most[r], WarpMax(s));
        const float weight = WeightOf(s, most_now), shrink = Shrinking(most[r], most_now);
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
        to[column * p.out.element] =
            Narrow<T>(IsZeroRow(p, any, total[r]) ? 0.0f : out[r][c] / total[r]);
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
      to[column * p.out.element] = Narrow<T>(IsZeroRow(p, any, total) ? 0.0f : sum / total);
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
  if (p.q_len > kRows && p.splits == 1 && p.dim <= kTileColumns && p.v_dim <= kTileColumns) {
    LaunchTiles(stream, p);
    return;
  }
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
