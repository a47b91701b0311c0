// Attention of few rows, as in decoding, and of wide heads, with a running softmax: memory grows
// with the sequence and not with its square. A few lanes share a key and its value, each with some
// of the columns in its registers. They take keys in turn with the others of their block, and
// blocks share keys where there are few rows and many keys. In the end all join what they have.
#include "kernels/gpu/device/attention_scores.h"
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kEach = 8;  // columns of a lane

// kColumns: of a head, rounded up.
template <typename T, int kColumns>
struct Lanes {
  static constexpr int kCount = kColumns / kEach;  // that share a key
  static constexpr int kKeys = kWarp / kCount;     // of a warp at once
  static constexpr int kPiece = kInPack<T>;        // neighboring columns of a lane
  static constexpr int kPieces = kEach / kPiece;
  // The column of element i of a lane.
  __device__ static int Column(int lane, int i) {
    return i / kPiece * kPiece * kCount + lane * kPiece + i % kPiece;
  }

  // A lane's columns of a row.
  struct Row {
    Pack<T, kPiece> pieces[kPieces];
    __device__ float operator[](int i) const { return Widen(pieces[i / kPiece].at[i % kPiece]); }
  };
  // Returns columns of the row whose first element is at `row`; zeros beyond the first `columns`.
  template <bool kVectors>
  __device__ static Row Load(const T* row, int64_t step, int columns, int lane) {
    Row loaded;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int first = Column(lane, i * kPiece);
      loaded.pieces[i] = {};
      if constexpr (kVectors) {
        if (first < columns) loaded.pieces[i] = *As<Pack<T, kPiece>>(row + first);
      } else {
#pragma unroll
        for (int e = 0; e < kPiece; ++e) {
          if (first + e < columns) loaded.pieces[i].at[e] = row[(first + e) * step];
        }
      }
    }
    return loaded;
  }
};

// What a warp has of a row.
struct Part {
  float most, total;  // the largest score, and the sum of weights
  float seen;         // 1 where it has a score that no mask makes -inf, else 0
};

template <typename T, int kColumns, int kRows, bool kVectors>
__global__ void __launch_bounds__(kThreads, 2) FewRows(TENON_GRID_CONSTANT AttentionParams p) {
  using L = Lanes<T, kColumns>;
  constexpr int kAtOnce = kFewRows / kRows;  // keys whose loads are under way together
  __shared__ float sums[kWarps][kRows][kColumns];
  __shared__ Part parts[kWarps][kRows];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % L::kCount;
  const int own_key = static_cast<int>(threadIdx.x) % kWarp / L::kCount;
  // Each lane adds the terms of one of the scores that it shares with the others.
  const int own_score = lane % kFewRows;

  const int64_t tiles = (p.q_len + kRows - 1) / kRows;
  for (int64_t task = blockIdx.x; task < p.batch * p.heads * tiles * p.splits; task += gridDim.x) {
    int64_t rest = task;
    const int64_t split = DivMod(rest, p.splits), tile = DivMod(rest, tiles),
                  h = DivMod(rest, p.heads), b = rest;
    const int64_t kv = h / p.heads_per_kv, first_row = tile * kRows;
    const int rows = static_cast<int>(Clamp(p.q_len - first_row, 0, kRows));
    const Scores<T> scores = {p, b, h};

    float q[kRows][kEach], out[kRows][kEach] = {}, most[kRows], total[kRows] = {};
    bool seen = false;  // by this lane: a score that no mask makes -inf
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const typename L::Row row = L::template Load<kVectors>(
          As<T>(p.q.data) + p.q.offset + b * p.q.batch + h * p.q.head + (first_row + r) * p.q.row,
          p.q.element, r < rows ? p.dim : 0, lane);
#pragma unroll
      for (int i = 0; i < kEach; ++i) q[r][i] = row[i];
      most[r] = -INFINITY;
    }

    Keys range = RangeOf(p, first_row, rows);
    if (p.splits > 1) {
      const int64_t share = (range.end - range.first + p.splits - 1) / p.splits;
      range.first += split * share;
      range.end = Clamp(range.first + share, range.first, range.end);
    }
    const T* const keys = As<T>(p.k.data) + p.k.offset + b * p.k.batch + kv * p.k.head;
    const T* const values = As<T>(p.v.data) + p.v.offset + b * p.v.batch + kv * p.v.head;
    for (int64_t first = range.first + warp * L::kKeys; first < range.end;
         first += kWarps * L::kKeys * kAtOnce) {
      typename L::Row k[kAtOnce], v[kAtOnce];
      float score[kRows][kAtOnce] = {};
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        const int64_t key = first + a * kWarps * L::kKeys + own_key;
        const bool inside = key < range.end;
        k[a] =
            L::template Load<kVectors>(keys + key * p.k.row, p.k.element, inside ? p.dim : 0, lane);
        v[a] = L::template Load<kVectors>(values + key * p.v.row, p.v.element, inside ? p.v_dim : 0,
                                          lane);
      }
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
#pragma unroll
          for (int i = 0; i < kEach; ++i) score[r][a] += q[r][i] * k[a][i];
        }
      }
#pragma unroll
      for (int d = L::kCount / 2; d > 0; d /= 2) {
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) {
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            score[r][a] += __shfl_xor_sync(kAllLanes, score[r][a], d);
          }
        }
      }
      float own = -INFINITY;
      {
        const int r = own_score / kAtOnce, a = own_score % kAtOnce;
        const int64_t key = first + a * kWarps * L::kKeys + own_key;
#pragma unroll
        for (int i = 0; i < kFewRows; ++i) {
          if (i == own_score) own = score[i / kAtOnce][i % kAtOnce];
        }
        own = key < range.end && r < rows
                  ? scores.Of(scores.Capped(own * p.scale), first_row + r, key, seen)
                  : -INFINITY;
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float most_now = most[r];
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) {
          score[r][a] = __shfl_sync(kAllLanes, own, own_key * L::kCount + r * kAtOnce + a);
          most_now = fmaxf(most_now, score[r][a]);
        }
        const float shrink = Shrinking(most[r], most_now);
        most[r] = most_now;
        total[r] *= shrink;
#pragma unroll
        for (int i = 0; i < kEach; ++i) out[r][i] *= shrink;
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) {
          const float weight = WeightOf(score[r][a], most_now);
          total[r] += weight;
#pragma unroll
          for (int i = 0; i < kEach; ++i) out[r][i] += weight * v[a][i];
        }
      }
    }

    __syncthreads();  // the parts before are no longer read
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const bool any = __any_sync(kAllLanes, seen && own_score / kAtOnce == r) != 0;
#pragma unroll
      for (int d = L::kCount; d < kWarp; d *= 2) {
        const float other = __shfl_xor_sync(kAllLanes, most[r], d);
        const float most_now = fmaxf(most[r], other);
        const float mine = Shrinking(most[r], most_now), others = Shrinking(other, most_now);
        most[r] = most_now;
        total[r] = total[r] * mine + __shfl_xor_sync(kAllLanes, total[r], d) * others;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          out[r][i] = out[r][i] * mine + __shfl_xor_sync(kAllLanes, out[r][i], d) * others;
        }
      }
      if (own_key != 0) continue;
      if (lane == 0) parts[warp][r] = {most[r], total[r], any ? 1.0f : 0.0f};
#pragma unroll
      for (int i = 0; i < kEach; ++i) sums[warp][r][L::Column(lane, i)] = out[r][i];
    }
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < rows * kColumns; at += kThreads) {
      const int r = at / kColumns, column = at % kColumns;
      Part all = {-INFINITY, 0, 0};
#pragma unroll
      for (int w = 0; w < kWarps; ++w) all.most = fmaxf(all.most, parts[w][r].most);
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const Part& part = parts[w][r];
        const float weight = Shrinking(part.most, all.most);
        all.total += part.total * weight;
        all.seen = fmaxf(all.seen, part.seen);
        sum += sums[w][r][column] * weight;
      }
      if (column >= p.v_dim) continue;
      const int64_t i = first_row + r;
      if (p.splits > 1) {
        float* const part =
            p.parts + (((b * p.heads + h) * p.q_len + i) * p.splits + split) * PartFloats(p.v_dim);
        if (column == 0) {
          part[0] = all.most;
          part[1] = all.total;
          part[2] = all.seen;
        }
        part[3 + column] = sum;
        continue;
      }
      T* const to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset +
                    b * p.out.batch + h * p.out.head + i * p.out.row;
      to[column * p.out.element] =
          Narrow<T>(IsZeroRow(p, all.seen != 0, all.total) ? 0.0f : sum / all.total);
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
      total += parts[s * size + 1] * Shrinking(parts[s * size], most);
    int64_t b = row;
    const int64_t i = DivMod(b, p.q_len), h = DivMod(b, p.heads);
    T* to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset + b * p.out.batch +
            h * p.out.head + i * p.out.row;
    for (int column = lane; column < p.v_dim; column += kWarp) {
      float sum = 0;
      for (int64_t s = 0; s < p.splits; ++s) {
        sum += parts[s * size + 3 + column] * Shrinking(parts[s * size], most);
      }
      to[column * p.out.element] = Narrow<T>(IsZeroRow(p, any, total) ? 0.0f : sum / total);
    }
  }
}

template <typename T, int kColumns, int kRows, bool kVectors>
void LaunchFewRows(StreamHandle stream, const AttentionParams& p) {
  const int64_t tiles = (p.q_len + kRows - 1) / kRows;
  TENON_LAUNCH((FewRows<T, kColumns, kRows, kVectors>),
               BlocksFor(p.batch * p.heads * tiles * p.splits, 1), kThreads, 0, stream, p);
}

template <typename T, int kColumns>
void LaunchFewRows(StreamHandle stream, const AttentionParams& p) {
  if (!InVectors<T>(p.q, p.dim) || !InVectors<T>(p.k, p.dim) || !InVectors<T>(p.v, p.v_dim)) {
    LaunchFewRows<T, kColumns, 2, false>(stream, p);  // addresses take registers
  } else if (p.q_len == 1) {
    LaunchFewRows<T, kColumns, 1, true>(stream, p);
  } else {
    LaunchFewRows<T, kColumns, kFewRows, true>(stream, p);
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const AttentionParams& p) {
  const int columns = p.dim > p.v_dim ? p.dim : p.v_dim;
  const bool in_ints = (p.q_len | p.k_len) < 1 << 30;
  if (p.q_len > kMostFewRows && p.splits == 1 && columns <= kTileColumns && in_ints) {
    if (!LaunchTensorCores(stream, p)) LaunchTiles(stream, p);
    return;
  }
  DispatchFloats(p.dtype, [&]<typename T>() {
    if (columns <= 64) {
      LaunchFewRows<T, 64>(stream, p);
    } else if (columns <= 128) {
      LaunchFewRows<T, 128>(stream, p);
    } else {
      LaunchFewRows<T, 256>(stream, p);
    }
  });
}

void LaunchOn(StreamHandle stream, const JoinAttentionParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Join<T>, BlocksFor(p.batch * p.heads * p.q_len, kWarps), kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
