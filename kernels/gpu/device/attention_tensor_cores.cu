// Attention of many rows of 16-bit elements on tensor cores, with a running softmax
// (Dao, "FlashAttention-2", 2023). A block has a tile of queries of one head and meets the keys
// tile by tile. A warp has 16 rows; scores stay in its registers and become an operand of the
// second product there. The next tile is on its way while a block computes.
#include "kernels/gpu/device/async_copy.h"
#include "kernels/gpu/device/attention_scores.h"
#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/tensor_core.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kWarpRows = 2 * kMatrix;
constexpr int kStep = 2 * kMatrix;  // columns of the first and keys of the second product at once
constexpr int kQuad = 4;            // lanes that share a row
constexpr int64_t kEnoughBlocks = 132;  // one for each multiprocessor of a large GPU

// Warps share the rows of a block, and where there are few rows the keys.
// kColumns: of a head, rounded up.
template <int kColumns, int kRowWarps, int kKeyWarps>
struct Tile {
  static constexpr int kThreads = kWarp * kRowWarps * kKeyWarps;
  static constexpr int kRows = kRowWarps * kWarpRows;
  // Scores and results of wide heads would not fit the registers of a thread.
  static constexpr int kWarpKeys = kKeyWarps > 1 ? kStep : kColumns > 64 ? 32 : 64;
  static constexpr int kKeys = kKeyWarps * kWarpKeys;
  // A row ends in 16 bytes that nobody reads, so that the rows of a matrix lie in different banks.
  static constexpr int kPitch = kColumns + kMatrix;
  static constexpr int kScores = kWarpKeys / kMatrix, kResults = kColumns / kMatrix;
  // Of shared memory: queries, keys and values, then room for the scores of each thread.
  static constexpr size_t kElements = (kRows + 2 * kKeys) * kPitch;
  static constexpr size_t kBytes = kElements * 2 + kThreads * kScores * 4 * sizeof(float);
  // What a warp has of each row for the first of its rows, in place of keys and values.
  static constexpr int kPartFloats = kColumns + 4;
  static_assert((kKeyWarps - 1) * kRows * kPartFloats * sizeof(float) <= 2 * kKeys * kPitch * 2);
};

// Starts to load up to kRows rows of kColumns elements into shared memory, zeros beyond what there
// is. The rows lie in vectors. WaitForCopies and a barrier end it.
template <typename T, int kRows, int kColumns, int kThreads>
__device__ inline void LoadRows(const AttentionOperand& x, int64_t base, int rows, int columns,
                                T* to) {
  constexpr int kEach = kInPack<T>, kPieces = kColumns / kEach, kRowsAtOnce = kThreads / kPieces;
  static_assert(kThreads % kPieces == 0);
  const int thread = static_cast<int>(threadIdx.x);
  const int first = thread / kPieces, c = thread % kPieces * kEach;
  const T* from = As<T>(x.data) + base + first * x.row + c;
  T* piece = to + first * (kColumns + kMatrix) + c;
#pragma unroll(kColumns > 64 ? 2 : 4)
  for (int r = first; r < kRows; r += kRowsAtOnce) {
    if (r < rows && c < columns) {
      CopyAsync(piece, from);
    } else {
      *reinterpret_cast<Pack<T, kEach>*>(piece) = {};
    }
    from += kRowsAtOnce * x.row;
    piece += kRowsAtOnce * (kColumns + kMatrix);
  }
}

template <typename T>
__device__ inline const Pair<T>& PairAt(const T* at) {
  return *reinterpret_cast<const Pair<T>*>(at);
}

// The kernel's parameters, and whether the results lie in vectors.
struct TileParams {
  AttentionParams attention;
  bool out_vectors;
};

template <typename T, int kColumns, int kRowWarps, int kKeyWarps>
__global__ void __launch_bounds__(kWarp* kRowWarps* kKeyWarps, 4)
    AttentionOnTensorCores(TENON_GRID_CONSTANT TileParams params) {
  using S = Tile<kColumns, kRowWarps, kKeyWarps>;
  constexpr int kThreads = S::kThreads, kPitch = S::kPitch;
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  const AttentionParams& p = params.attention;
  T* const queries = reinterpret_cast<T*>(shared);
  T* const keys = queries + S::kRows * kPitch;
  T* const values = keys + S::kKeys * kPitch;
  float* const room = reinterpret_cast<float*>(queries + S::kElements);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int key_warp = warp / kRowWarps;
  const int row = warp % kRowWarps * kWarpRows + lane / kQuad;  // and kMatrix behind it
  const int column = lane % kQuad * 2;                          // and its neighbor
  const int warp_key = key_warp * S::kWarpKeys;

  const int64_t tiles = (p.q_len + S::kRows - 1) / S::kRows;
  for (int64_t task = blockIdx.x; task < p.batch * p.heads * tiles; task += gridDim.x) {
    int64_t b = task;
    const int64_t tile = DivMod(b, tiles), h = DivMod(b, p.heads);
    const int64_t kv = h / p.heads_per_kv;
    const int first_row = static_cast<int>(tile) * S::kRows;
    const int rows = static_cast<int>(Clamp(p.q_len - first_row, 0, S::kRows));
    const Scores<T> scores = {p, b, h};
    const Keys range = RangeOf(p, first_row, rows), visible = VisibleToAll(p, first_row, rows);
    const int begin = static_cast<int>(range.first), end = static_cast<int>(range.end);
    const int visible_begin = static_cast<int>(visible.first);
    const int visible_end = static_cast<int>(visible.end);
    const auto count_from = [&](int first) {
      return end - first < S::kKeys ? end - first : S::kKeys;
    };
    const auto load_keys = [&](int first) {
      LoadRows<T, S::kKeys, kColumns, kThreads>(
          p.k, p.k.offset + b * p.k.batch + kv * p.k.head + first * p.k.row, count_from(first),
          p.dim, keys);
    };
    const auto load_values = [&](int first) {
      LoadRows<T, S::kKeys, kColumns, kThreads>(
          p.v, p.v.offset + b * p.v.batch + kv * p.v.head + first * p.v.row, count_from(first),
          p.v_dim, values);
    };

    WaitForCopies<0>();
    __syncthreads();  // the tile before is no longer read
    LoadRows<T, S::kRows, kColumns, kThreads>(
        p.q, p.q.offset + b * p.q.batch + h * p.q.head + first_row * p.q.row, rows, p.dim, queries);
    if (begin < end) load_keys(begin);
    EndCopies();
    if (begin < end) load_values(begin);
    EndCopies();

    // Of rows `row` and `row + kMatrix`.
    float most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
    float out[S::kResults][4] = {};
    int seen = 0;  // a bit for each row: a score of this thread that no mask makes -inf

    const bool has_terms =
        p.mask != nullptr || p.bias != nullptr || p.key_mask != nullptr || p.softcap > 0;
    for (int first_key = begin; first_key < end; first_key += S::kKeys) {
      const int count = count_from(first_key);
      const int next = first_key + S::kKeys;
      WaitForCopies<1>();
      __syncthreads();  // queries and keys are there

      float score[S::kScores][4] = {};
#pragma unroll 1
      for (int d = 0; d < p.dim; d += kStep) {
        const T* const q = queries + row * kPitch + d + column;
        const Pair<T> a[4] = {PairAt(q), PairAt(q + kMatrix * kPitch), PairAt(q + kMatrix),
                              PairAt(q + kMatrix * kPitch + kMatrix)};
#pragma unroll
        for (int j = 0; j < S::kScores; ++j) {
          const T* const k = keys + (warp_key + j * kMatrix + lane / kQuad) * kPitch + d + column;
          const Pair<T> b_operand[2] = {PairAt(k), PairAt(k + kMatrix)};
          MultiplyAdd<T>(score[j], a, b_operand);
        }
      }
      const int own_key = warp_key + column;  // of the first score
#pragma unroll
      for (int j = 0; j < S::kScores; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool inside = row + e / 2 * kMatrix < rows && own_key + j * kMatrix + e % 2 < count;
          score[j][e] = inside ? score[j][e] * p.scale : -INFINITY;
        }
      }
      if (!has_terms && first_key >= visible_begin && first_key + count <= visible_end) {
        seen = -1;
      } else {
        // From shared memory one by one, for it takes many registers.
        float* const own = room + threadIdx.x;
#pragma unroll
        for (int at = 0; at < S::kScores * 4; ++at) own[at * kThreads] = score[at / 4][at % 4];
#pragma unroll 1
        for (int at = 0; at < S::kScores * 4; ++at) {
          const int r = at / 2 % 2, i = row + r * kMatrix;
          const int j = own_key + at / 4 * kMatrix + at % 2;
          if (i >= rows || j >= count) continue;
          bool any = false;
          float& s = own[at * kThreads];
          s = scores.Of(scores.Capped(s), first_row + i, first_key + j, any);
          seen |= any ? 1 << r : 0;
        }
#pragma unroll
        for (int at = 0; at < S::kScores * 4; ++at) score[at / 4][at % 4] = own[at * kThreads];
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float most_now = most[r];
#pragma unroll
        for (int j = 0; j < S::kScores; ++j) {
          most_now = fmaxf(most_now, fmaxf(score[j][2 * r], score[j][2 * r + 1]));
        }
        for (int d = kQuad / 2; d > 0; d /= 2) {
          most_now = fmaxf(most_now, __shfl_xor_sync(kAllLanes, most_now, d));
        }
        const float shrink = Shrinking(most[r], most_now);
        most[r] = most_now;
        total[r] *= shrink;
#pragma unroll
        for (int j = 0; j < S::kScores; ++j) {
#pragma unroll
          for (int e = 2 * r; e < 2 * r + 2; ++e) {
            score[j][e] = WeightOf(score[j][e], most_now);
            total[r] += score[j][e];  // this thread's keys
          }
        }
#pragma unroll
        for (int c = 0; c < S::kResults; ++c) {
          out[c][2 * r] *= shrink;
          out[c][2 * r + 1] *= shrink;
        }
      }

      __syncthreads();  // keys are no longer read
      if (next < end) load_keys(next);
      EndCopies();
      WaitForCopies<1>();
      __syncthreads();  // values are there
#pragma unroll
      for (int j = 0; j < S::kScores; j += 2) {
        const auto pair = [&](int which, int e) {
          return Pair<T>{{Narrow<T>(score[which][e]), Narrow<T>(score[which][e + 1])}};
        };
        const Pair<T> a[4] = {pair(j, 0), pair(j, 2), pair(j + 1, 0), pair(j + 1, 2)};
        // Two matrices of keys below each other, then two of the next columns.
        const T* const from =
            values + (warp_key + j * kMatrix + lane % kStep) * kPitch + lane / kStep * kMatrix;
#pragma unroll
        for (int c = 0; c < S::kResults; c += 2) {
          Pair<T> v[4];
          LoadTransposed(v, from + c * kMatrix);
          const Pair<T> left[2] = {v[0], v[1]}, right[2] = {v[2], v[3]};
          MultiplyAdd<T>(out[c], a, left);
          MultiplyAdd<T>(out[c + 1], a, right);
        }
      }
      __syncthreads();  // values are no longer read
      if (next < end) load_values(next);
      EndCopies();
    }

    for (int d = kQuad / 2; d > 0; d /= 2) {
      seen |= __shfl_xor_sync(kAllLanes, seen, d);
      total[0] += __shfl_xor_sync(kAllLanes, total[0], d);
      total[1] += __shfl_xor_sync(kAllLanes, total[1], d);
    }
    if constexpr (kKeyWarps > 1) {
      // The first warp of the rows joins what the others have of them. Nothing is on its way to the
      // keys and values: the last tile has no next one.
      const auto part = [&](int which, int r) {
        return reinterpret_cast<float*>(keys) +
               ((which - 1) * S::kRows + row + r * kMatrix) * S::kPartFloats;
      };
      if (key_warp > 0) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          float* const own = part(key_warp, r);
          if (lane % kQuad == 0) {
            *reinterpret_cast<Pack<float, 4>*>(own) = {
                {most[r], total[r], (seen >> r & 1) != 0 ? 1.0f : 0.0f, 0.0f}};
          }
#pragma unroll
          for (int c = 0; c < S::kResults; ++c) {
            *reinterpret_cast<Pack<float, 2>*>(own + 4 + c * kMatrix +
                                               column) = {{out[c][2 * r], out[c][2 * r + 1]}};
          }
        }
      }
      __syncthreads();
      if (key_warp > 0) continue;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll 1
        for (int which = 1; which < kKeyWarps; ++which) {
          const float* const other = part(which, r);
          const Pack<float, 4> stats = *As<Pack<float, 4>>(other);
          const float most_now = fmaxf(most[r], stats.at[0]);
          const float mine = Shrinking(most[r], most_now);
          const float others = Shrinking(stats.at[0], most_now);
          most[r] = most_now;
          total[r] = total[r] * mine + stats.at[1] * others;
          seen |= stats.at[2] != 0 ? 1 << r : 0;
#pragma unroll
          for (int c = 0; c < S::kResults; ++c) {
            const Pack<float, 2> two = *As<Pack<float, 2>>(other + 4 + c * kMatrix + column);
            out[c][2 * r] = out[c][2 * r] * mine + two.at[0] * others;
            out[c][2 * r + 1] = out[c][2 * r + 1] * mine + two.at[1] * others;
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int i = row + r * kMatrix;
      if (i >= rows) continue;
      const bool zero = IsZeroRow(p, (seen >> r & 1) != 0, total[r]);
      T* const to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset +
                    b * p.out.batch + h * p.out.head + (first_row + i) * p.out.row;
#pragma unroll
      for (int c = 0; c < S::kResults; ++c) {
        const int at = c * kMatrix + column;
        Pair<T> result;
        for (int e = 0; e < 2; ++e) {
          result.at[e] = Narrow<T>(zero ? 0.0f : out[c][2 * r + e] / total[r]);
        }
        if (at >= p.v_dim) continue;  // an even number
        if (params.out_vectors) {
          *reinterpret_cast<Pair<T>*>(to + at) = result;
        } else {
          to[at * p.out.element] = result.at[0];
          to[(at + 1) * p.out.element] = result.at[1];
        }
      }
    }
  }
}

template <typename T, int kColumns, int kRowWarps, int kKeyWarps>
void Launch(StreamHandle stream, const TileParams& params) {
  using S = Tile<kColumns, kRowWarps, kKeyWarps>;
  if (S::kBytes > kUsualShared) {
    TENON_ALLOW_SHARED((AttentionOnTensorCores<T, kColumns, kRowWarps, kKeyWarps>), S::kBytes);
  }
  const AttentionParams& p = params.attention;
  const int64_t tiles = (p.q_len + S::kRows - 1) / S::kRows;
  TENON_LAUNCH((AttentionOnTensorCores<T, kColumns, kRowWarps, kKeyWarps>),
               BlocksFor(p.batch * p.heads * tiles, 1), S::kThreads, S::kBytes, stream, params);
}

template <typename T, int kColumns>
void Launch(StreamHandle stream, const TileParams& params) {
  const AttentionParams& p = params.attention;
  constexpr int kRows = Tile<kColumns, 4, 1>::kRows;
  if (p.batch * p.heads * ((p.q_len + kRows - 1) / kRows) >= kEnoughBlocks) {
    Launch<T, kColumns, 4, 1>(stream, params);
  } else {
    Launch<T, kColumns, 1, 4>(stream, params);
  }
}

template <typename T>
bool LaunchOf(StreamHandle stream, const AttentionParams& p) {
  if constexpr (sizeof(T) != 2) {
    return false;
  } else {
    if (!InVectors<T>(p.q, p.dim) || !InVectors<T>(p.k, p.dim) || !InVectors<T>(p.v, p.v_dim)) {
      return false;
    }
    const TileParams params = {p, InVectors<T>(p.out, p.v_dim)};
    const int columns = p.dim > p.v_dim ? p.dim : p.v_dim;
    if (columns <= 32) {
      Launch<T, 32>(stream, params);
    } else if (columns <= 64) {
      Launch<T, 64>(stream, params);
    } else {
      Launch<T, kTileColumns>(stream, params);
    }
    return true;
  }
}

}  // namespace

bool LaunchTensorCores(StreamHandle stream, const AttentionParams& p) {
  bool launched = false;
  DispatchFloats(p.dtype, [&]<typename T>() { launched = LaunchOf<T>(stream, p); });
  return launched;
}

}  // namespace tenon::kernels::gpu
