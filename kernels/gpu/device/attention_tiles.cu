// Attention of many rows, with a running softmax: a block has a tile of queries of one head, and
// meets the keys tile by tile. Both products are made of operands in shared memory, a few rows by a
// few columns in the registers of each thread. The next tile is on its way while a block computes.
#include "kernels/gpu/device/async_copy.h"
#include "kernels/gpu/device/attention_scores.h"
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

// Threads that share their rows are half a warp.
constexpr int kSide = 16;
// Behind each row of shared memory, so that threads that read neighboring rows meet different banks
// and vectors stay aligned.
constexpr int kPad = 4;
constexpr int64_t kEnoughBlocks = 264;  // for the multiprocessors of a large GPU, two each

// Warps share the rows of a block, and where there are few rows also the keys.
// kColumns: of a head, rounded up. kRowsEach: rows of a thread.
template <int kColumns, int kRowsEach, int kRowWarps, int kKeyWarps>
struct Tile {
  static constexpr int kThreads = kWarp * kRowWarps * kKeyWarps;
  static constexpr int kWarpRows = kWarp / kSide * kRowsEach, kRows = kRowWarps * kWarpRows;
  static constexpr int kKeysEach = kColumns > 64 ? 2 : 4;
  static constexpr int kWarpKeys = kSide * kKeysEach, kKeys = kKeyWarps * kWarpKeys;
  static constexpr int kColumnsEach = kColumns / kSide;
  static constexpr int kPiece = kColumnsEach < 4 ? kColumnsEach : 4;  // neighboring columns
  static constexpr int kPitch = kColumns + kPad;                      // of queries and keys
  static constexpr int kWeightPitch = kWarpKeys + kPad;
  // Of shared memory: queries, keys, values, and the weights of each warp.
  static constexpr int kQueryFloats = kRows * kPitch, kKeyFloats = kKeys * kPitch;
  static constexpr int kValueFloats = kKeys * kColumns;
  static constexpr int kWarpWeightFloats = kWarpRows * kWeightPitch;
  static constexpr int kFloats =
      kQueryFloats + kKeyFloats + kValueFloats + kRowWarps * kKeyWarps * kWarpWeightFloats;
  // What a warp has of each row for the first of its rows, in place of the keys.
  static constexpr int kPartFloats = kColumns + 4;
  static_assert((kKeyWarps - 1) * kRows * kPartFloats <= kKeyFloats);
};

template <int N>
struct alignas(N * sizeof(float)) Vector {
  float at[N];
};
template <int N>
__device__ inline const Vector<N>& VectorAt(const float* at) {
  return *reinterpret_cast<const Vector<N>*>(at);
}

// Starts to load up to kRows rows of kColumns elements into shared memory, zeros beyond what there
// is. `vectors` is InVectors<T>(x, columns). WaitForCopies and a barrier end it.
template <typename T, int kRows, int kColumns, int kPitch, int kThreads>
__device__ inline void LoadRows(const AttentionOperand& x, int64_t base, int rows, int columns,
                                bool vectors, float* to) {
  const int thread = static_cast<int>(threadIdx.x);
  if (vectors) {
    constexpr int kEach = kInPack<T>, kPieces = kColumns / kEach, kStep = kThreads / kPieces;
    static_assert(kThreads % kPieces == 0);
    const int first = thread / kPieces, c = thread % kPieces * kEach;
    const T* from = As<T>(x.data) + base + first * x.row + c;
    float* piece = to + first * kPitch + c;
#pragma unroll(kEach == 4 ? 4 : 1)
    for (int r = first; r < kRows; r += kStep) {
      const bool inside = r < rows && c < columns;
      if constexpr (kEach == 4) {
        if (inside) {
          CopyAsync(piece, from);
        } else {
          *reinterpret_cast<Vector<4>*>(piece) = {};
        }
      } else {
        Pack<T, kEach> loaded = {};
        if (inside) loaded = *As<Pack<T, kEach>>(from);
#pragma unroll
        for (int e = 0; e < kEach; e += 4) {
          *reinterpret_cast<Vector<4>*>(piece + e) = {Widen(loaded.at[e]), Widen(loaded.at[e + 1]),
                                                      Widen(loaded.at[e + 2]),
                                                      Widen(loaded.at[e + 3])};
        }
      }
      from += kStep * x.row;
      piece += kStep * kPitch;
    }
    return;
  }
  // Neighboring threads read neighbors.
#pragma unroll 2
  for (int at = thread; at < kRows * kColumns; at += kThreads) {
    const int r = x.element == 1 ? at / kColumns : at % kRows;
    const int c = x.element == 1 ? at % kColumns : at / kRows;
    const bool inside = r < rows && c < columns;
    to[r * kPitch + c] = inside ? Widen(As<T>(x.data)[base + r * x.row + c * x.element]) : 0.0f;
  }
}

// The kernel's parameters, and which operands lie in vectors.
struct TileParams {
  AttentionParams attention;
  bool q_vectors, k_vectors, v_vectors, out_vectors;
};

template <typename T, int kColumns, int kRowsEach, int kRowWarps, int kKeyWarps>
__global__ void __launch_bounds__(kWarp* kRowWarps* kKeyWarps, 4)
    AttentionTiles(TENON_GRID_CONSTANT TileParams params) {
  using S = Tile<kColumns, kRowsEach, kRowWarps, kKeyWarps>;
  constexpr int kPiece = S::kPiece, kThreads = S::kThreads;
  [[maybe_unused]] constexpr int kUnroll = kRowsEach > 4 ? 1 : 2;  // as far as registers go
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  const AttentionParams& p = params.attention;
  float* const queries = shared;
  float* const keys = queries + S::kQueryFloats;
  float* const values = keys + S::kKeyFloats;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int key_warp = warp / kRowWarps;
  const int side = static_cast<int>(threadIdx.x) % kSide;
  const int group_row = static_cast<int>(threadIdx.x) % kWarp / kSide * kRowsEach;
  const int own_row = warp % kRowWarps * S::kWarpRows + group_row;
  const int own_key = key_warp * S::kWarpKeys + side;  // and others kSide apart
  float* const weights = values + S::kValueFloats + warp * S::kWarpWeightFloats +
                         group_row * S::kWeightPitch;  // of this thread's rows

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
      LoadRows<T, S::kKeys, kColumns, S::kPitch, kThreads>(
          p.k, p.k.offset + b * p.k.batch + kv * p.k.head + first * p.k.row, count_from(first),
          p.dim, params.k_vectors, keys);
    };
    const auto load_values = [&](int first) {
      LoadRows<T, S::kKeys, kColumns, kColumns, kThreads>(
          p.v, p.v.offset + b * p.v.batch + kv * p.v.head + first * p.v.row, count_from(first),
          p.v_dim, params.v_vectors, values);
    };

    WaitForCopies<0>();
    __syncthreads();  // the tile before is no longer read
    LoadRows<T, S::kRows, kColumns, S::kPitch, kThreads>(
        p.q, p.q.offset + b * p.q.batch + h * p.q.head + first_row * p.q.row, rows, p.dim,
        params.q_vectors, queries);
    if (begin < end) load_keys(begin);
    EndCopies();
    if (begin < end) load_values(begin);
    EndCopies();

    float most[kRowsEach], total[kRowsEach], out[kRowsEach][S::kColumnsEach];
    int seen = 0;  // a bit for each row: a score of this thread that no mask makes -inf
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      most[r] = -INFINITY;
      total[r] = 0;
#pragma unroll
      for (int c = 0; c < S::kColumnsEach; ++c) out[r][c] = 0;
    }

    const bool has_terms =
        p.mask != nullptr || p.bias != nullptr || p.key_mask != nullptr || p.softcap > 0;
    for (int first_key = begin; first_key < end; first_key += S::kKeys) {
      const int count = count_from(first_key);
      const int next = first_key + S::kKeys;
      WaitForCopies<1>();
      __syncthreads();  // queries and keys are there

      float score[kRowsEach][S::kKeysEach] = {};
#pragma unroll 1
      for (int d = 0; d < p.dim; d += 4) {
        Vector<4> k[S::kKeysEach];
#pragma unroll
        for (int j = 0; j < S::kKeysEach; ++j) {
          k[j] = VectorAt<4>(keys + (own_key + j * kSide) * S::kPitch + d);
        }
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
          const Vector<4> q = VectorAt<4>(queries + (own_row + r) * S::kPitch + d);
#pragma unroll
          for (int j = 0; j < S::kKeysEach; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) score[r][j] += q.at[e] * k[j].at[e];
          }
        }
      }
      const bool plain =
          !has_terms && first_key >= visible_begin && first_key + count <= visible_end;
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
        for (int j = 0; j < S::kKeysEach; ++j) {
          const bool inside = own_row + r < rows && own_key + j * kSide < count;
          score[r][j] = inside ? score[r][j] * p.scale : -INFINITY;
        }
      }
      float* const own = weights + side;
      if (plain) {
        seen = -1;
      } else {
        // From shared memory one by one, for it takes many registers.
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
          for (int j = 0; j < S::kKeysEach; ++j) {
            own[r * S::kWeightPitch + j * kSide] = score[r][j];
          }
        }
#pragma unroll 1
        for (int at = 0; at < kRowsEach * S::kKeysEach; ++at) {
          const int r = at % kRowsEach, j = at / kRowsEach;
          if (own_row + r >= rows || own_key + j * kSide >= count) continue;
          bool any = false;
          float& s = own[r * S::kWeightPitch + j * kSide];
          s = scores.Of(scores.Capped(s), first_row + own_row + r, first_key + own_key + j * kSide,
                        any);
          seen |= any ? 1 << r : 0;
        }
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
          for (int j = 0; j < S::kKeysEach; ++j) {
            score[r][j] = own[r * S::kWeightPitch + j * kSide];
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
        float most_now = most[r];
#pragma unroll
        for (int j = 0; j < S::kKeysEach; ++j) most_now = fmaxf(most_now, score[r][j]);
        for (int d = kSide / 2; d > 0; d /= 2) {
          most_now = fmaxf(most_now, __shfl_xor_sync(kAllLanes, most_now, d));
        }
        const float shrink = Shrinking(most[r], most_now);
        most[r] = most_now;
        total[r] *= shrink;
#pragma unroll
        for (int j = 0; j < S::kKeysEach; ++j) {
          const float weight = WeightOf(score[r][j], most_now);
          total[r] += weight;  // this thread's keys
          own[r * S::kWeightPitch + j * kSide] = weight;
        }
#pragma unroll
        for (int c = 0; c < S::kColumnsEach; ++c) out[r][c] *= shrink;
      }

      __syncthreads();  // keys are no longer read, and weights are there
      if (next < end) load_keys(next);
      EndCopies();
      WaitForCopies<1>();
      __syncthreads();                                     // values are there
      const int behind = count - key_warp * S::kWarpKeys;  // keys from this warp's first
      const int warp_count = behind < S::kWarpKeys ? behind : S::kWarpKeys;
#pragma unroll(kUnroll)
      for (int j = 0; j < warp_count; j += 4) {
        Vector<4> w[kRowsEach];
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) w[r] = VectorAt<4>(weights + r * S::kWeightPitch + j);
        const float* const row = values + (key_warp * S::kWarpKeys + j) * kColumns + side * kPiece;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
#pragma unroll
          for (int c = 0; c < S::kColumnsEach; c += kPiece) {
            const Vector<kPiece> v = VectorAt<kPiece>(row + e * kColumns + c * kSide);
#pragma unroll
            for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
              for (int i = 0; i < kPiece; ++i) out[r][c + i] += w[r].at[e] * v.at[i];
            }
          }
        }
      }
      __syncthreads();  // weights and values are no longer read
      if (next < end) load_values(next);
      EndCopies();
    }

    for (int d = kSide / 2; d > 0; d /= 2) seen |= __shfl_xor_sync(kAllLanes, seen, d);
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      for (int d = kSide / 2; d > 0; d /= 2) total[r] += __shfl_xor_sync(kAllLanes, total[r], d);
    }
    if constexpr (kKeyWarps > 1) {
      // The first warp of the rows joins what the others have of them. No keys are on their way:
      // the last tile has no next one.
      const auto part = [&](int which, int r) {
        return keys + ((which - 1) * S::kRows + own_row + r) * S::kPartFloats;
      };
      const auto piece = [&](int c) { return 4 + c * kSide + side * kPiece; };
      if (key_warp > 0) {
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
          float* const own = part(key_warp, r);
          if (side == 0) {
            *reinterpret_cast<Vector<4>*>(own) = {most[r], total[r],
                                                  (seen >> r & 1) != 0 ? 1.0f : 0.0f, 0.0f};
          }
#pragma unroll
          for (int c = 0; c < S::kColumnsEach; ++c) {
            own[piece(c / kPiece * kPiece) + c % kPiece] = out[r][c];
          }
        }
      }
      __syncthreads();
      if (key_warp > 0) continue;
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
        for (int which = 1; which < kKeyWarps; ++which) {
          const float* const other = part(which, r);
          const Vector<4> stats = VectorAt<4>(other);
          const float most_now = fmaxf(most[r], stats.at[0]);
          const float mine = Shrinking(most[r], most_now);
          const float others = Shrinking(stats.at[0], most_now);
          most[r] = most_now;
          total[r] = total[r] * mine + stats.at[1] * others;
          seen |= stats.at[2] != 0 ? 1 << r : 0;
#pragma unroll
          for (int c = 0; c < S::kColumnsEach; ++c) {
            out[r][c] = out[r][c] * mine + other[piece(c / kPiece * kPiece) + c % kPiece] * others;
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      if (own_row + r >= rows) continue;
      const bool zero = IsZeroRow(p, (seen >> r & 1) != 0, total[r]);
      T* const to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset +
                    b * p.out.batch + h * p.out.head + (first_row + own_row + r) * p.out.row;
#pragma unroll
      for (int c = 0; c < S::kColumnsEach; c += kPiece) {
        const int column = c * kSide + side * kPiece;
        Pack<T, kPiece> result;
#pragma unroll
        for (int i = 0; i < kPiece; ++i) {
          result.at[i] = Narrow<T>(zero ? 0.0f : out[r][c + i] / total[r]);
        }
        if (params.out_vectors) {
          if (column < p.v_dim) *reinterpret_cast<Pack<T, kPiece>*>(to + column) = result;
          continue;
        }
#pragma unroll
        for (int i = 0; i < kPiece; ++i) {
          if (column + i < p.v_dim) to[(column + i) * p.out.element] = result.at[i];
        }
      }
    }
  }
}

template <typename T, int kColumns, int kRowsEach, int kRowWarps, int kKeyWarps>
void Launch(StreamHandle stream, const TileParams& params) {
  using S = Tile<kColumns, kRowsEach, kRowWarps, kKeyWarps>;
  constexpr size_t kShared = S::kFloats * sizeof(float);
  if (kShared > kUsualShared) {
    TENON_ALLOW_SHARED((AttentionTiles<T, kColumns, kRowsEach, kRowWarps, kKeyWarps>), kShared);
  }
  const AttentionParams& p = params.attention;
  const int64_t tiles = (p.q_len + S::kRows - 1) / S::kRows;
  TENON_LAUNCH((AttentionTiles<T, kColumns, kRowsEach, kRowWarps, kKeyWarps>),
               BlocksFor(p.batch * p.heads * tiles, 1), S::kThreads, kShared, stream, params);
}

// Wide heads leave no registers for more rows. Where there are few blocks, each has fewer rows, and
// its warps share the keys.
template <typename T, int kColumns>
void Launch(StreamHandle stream, const TileParams& params) {
  const AttentionParams& p = params.attention;
  const auto enough = [&](int64_t rows) {
    return p.batch * p.heads * ((p.q_len + rows - 1) / rows) >= kEnoughBlocks;
  };
  if constexpr (kColumns <= 64) {
    if (enough(Tile<kColumns, 8, 4, 1>::kRows)) {
      Launch<T, kColumns, 8, 4, 1>(stream, params);
      return;
    }
  }
  if (enough(Tile<kColumns, 4, 4, 1>::kRows)) {
    Launch<T, kColumns, 4, 4, 1>(stream, params);
  } else {
    Launch<T, kColumns, 4, 2, 2>(stream, params);
  }
}

}  // namespace

void LaunchTiles(StreamHandle stream, const AttentionParams& p) {
  const int columns = p.dim > p.v_dim ? p.dim : p.v_dim;
  DispatchFloats(p.dtype, [&]<typename T>() {
    const TileParams params = {p, InVectors<T>(p.q, p.dim), InVectors<T>(p.k, p.dim),
                               InVectors<T>(p.v, p.v_dim), InVectors<T>(p.out, p.v_dim)};
    if (columns <= 32) {
      Launch<T, 32>(stream, params);
    } else if (columns <= 64) {
      Launch<T, 64>(stream, params);
    } else {
      Launch<T, kTileColumns>(stream, params);
    }
  });
}

}  // namespace tenon::kernels::gpu
