// Attention of many rows, with a running softmax: a block has a tile of queries of one head, and
// meets the keys tile by tile. Both products are made of operands in shared memory, a few rows by a
// few columns in the registers of each thread, so that arithmetic is what takes the time.
#include "kernels/gpu/attention_scores.h"
#include "kernels/gpu/device_code.h"

namespace tenon::kernels::gpu {
namespace {

// Threads lie in kGroups groups, each with rows of its own, of kSide threads that share their keys
// and columns: half a warp.
constexpr int kSide = 16, kGroups = 8, kThreads = kSide * kGroups;
// Behind each row of shared memory, so that threads that store along columns meet different banks
// and vectors stay aligned.
constexpr int kPad = 4;
constexpr int64_t kEnoughBlocks = 264;  // for the multiprocessors of a large GPU, two each

// kColumns: of a head, rounded up. kRowsEach: rows of a thread.
template <int kColumns, int kRowsEach>
struct Tile {
  static constexpr int kRows = kGroups * kRowsEach;
  static constexpr int kKeysEach = kColumns > 64 ? 2 : 4, kKeys = kSide * kKeysEach;
  static constexpr int kColumnsEach = kColumns / kSide;
  static constexpr int kRowPitch = kRows + kPad, kKeyPitch = kKeys + kPad;
  // Of shared memory: queries and keys with their columns first, and values. Weights, with their
  // keys first, take the place of the keys.
  static constexpr int kQueryFloats = kColumns * kRowPitch;
  static constexpr int kKeyFloats =
      kColumns * kKeyPitch > kKeys* kRowPitch ? kColumns* kKeyPitch : kKeys* kRowPitch;
  static constexpr int kFloats = kQueryFloats + kKeyFloats + kKeys * kColumns;
};

template <int N>
struct alignas(N * sizeof(float)) Vector {
  float at[N];
};
// N floats of a thread, in pieces of up to four that lie kSide pieces apart where `spread`, else
// side by side. `at`: the thread's first.
template <int N, bool spread>
__device__ inline void Load(const float* at, float (&to)[N]) {
  constexpr int kPiece = N < 4 ? N : 4;
#pragma unroll
  for (int i = 0; i < N; i += kPiece) {
    const auto piece = *reinterpret_cast<const Vector<kPiece>*>(at + (spread ? i * kSide : i));
#pragma unroll
    for (int e = 0; e < kPiece; ++e) to[i + e] = piece.at[e];
  }
}
// A thread's weights to and from where they lie with their keys first.
template <typename S, int kRowsEach>
__device__ inline void Store(const float (&score)[kRowsEach][S::kKeysEach], float* own) {
#pragma unroll
  for (int j = 0; j < S::kKeysEach; ++j) {
#pragma unroll
    for (int r = 0; r < kRowsEach; r += 4) {
      *reinterpret_cast<Vector<4>*>(own + j * S::kRowPitch + r) = {
          score[r][j], score[r + 1][j], score[r + 2][j], score[r + 3][j]};
    }
  }
}
template <typename S, int kRowsEach>
__device__ inline void Fetch(const float* own, float (&score)[kRowsEach][S::kKeysEach]) {
#pragma unroll
  for (int j = 0; j < S::kKeysEach; ++j) {
    float column[kRowsEach];
    Load<kRowsEach, false>(own + j * S::kRowPitch, column);
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) score[r][j] = column[r];
  }
}
template <int N>
__device__ inline void Multiply(const float& a, const float (&b)[N], float (&sums)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) sums[i] += a * b[i];
}

// kRows rows of kColumns elements into shared memory, zeros beyond what there is. Neighbouring
// threads read neighbours.
template <typename T, int kRows, int kColumns>
__device__ inline void LoadRows(const AttentionOperand& x, int64_t base, int64_t rows, int columns,
                                int row_step, int column_step, float* to) {
#pragma unroll 4
  for (int i = 0; i < kRows * kColumns / kThreads; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x);
    const int r = x.element == 1 ? at / kColumns : at % kRows;
    const int c = x.element == 1 ? at % kColumns : at / kRows;
    const bool inside = r < rows && c < columns;
    to[r * row_step + c * column_step] =
        inside ? Widen(As<T>(x.data)[base + r * x.row + c * x.element]) : 0.0f;
  }
}

template <typename T, int kColumns, int kRowsEach>
__global__ void __launch_bounds__(kThreads, 4)
    AttentionTiles(TENON_GRID_CONSTANT AttentionParams p) {
  using S = Tile<kColumns, kRowsEach>;
  constexpr int kPiece = S::kColumnsEach < 4 ? S::kColumnsEach : 4;
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  float* const queries = shared;
  float* const keys = queries + S::kQueryFloats;
  float* const weights = keys;
  float* const values = keys + S::kKeyFloats;
  const int side = static_cast<int>(threadIdx.x) % kSide;
  const int own_row = static_cast<int>(threadIdx.x) / kSide * kRowsEach;

  const int64_t tiles = (p.q_len + S::kRows - 1) / S::kRows;
  for (int64_t task = blockIdx.x; task < p.batch * p.heads * tiles; task += gridDim.x) {
    int64_t b = task;
    const int64_t tile = DivMod(b, tiles), h = DivMod(b, p.heads);
    const int64_t kv = h / p.heads_per_kv, first_row = tile * S::kRows;
    const int rows = static_cast<int>(Clamp(p.q_len - first_row, 0, S::kRows));
    const Scores<T> scores = {p, b, h};

    __syncthreads();  // the tile before is no longer read
    LoadRows<T, S::kRows, kColumns>(p.q,
                                    p.q.offset + b * p.q.batch + h * p.q.head + first_row * p.q.row,
                                    rows, p.dim, 1, S::kRowPitch, queries);
    float most[kRowsEach], total[kRowsEach], out[kRowsEach][S::kColumnsEach];
    int seen = 0;  // a bit for each row: a score of this thread that no mask makes -inf
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      most[r] = -INFINITY;
      total[r] = 0;
#pragma unroll
      for (int c = 0; c < S::kColumnsEach; ++c) out[r][c] = 0;
    }

    const Keys range = RangeOf(p, first_row, rows), visible = VisibleToAll(p, first_row, rows);
    const bool has_terms =
        p.mask != nullptr || p.bias != nullptr || p.key_mask != nullptr || p.softcap > 0;
    for (int64_t first_key = range.first; first_key < range.end; first_key += S::kKeys) {
      const int count = static_cast<int>(Clamp(range.end - first_key, 0, S::kKeys));
      __syncthreads();  // weights and values before are no longer read
      LoadRows<T, S::kKeys, kColumns>(
          p.k, p.k.offset + b * p.k.batch + kv * p.k.head + first_key * p.k.row, count, p.dim, 1,
          S::kKeyPitch, keys);
      LoadRows<T, S::kKeys, kColumns>(
          p.v, p.v.offset + b * p.v.batch + kv * p.v.head + first_key * p.v.row, count, p.v_dim,
          kColumns, 1, values);
      __syncthreads();

      float score[kRowsEach][S::kKeysEach] = {};
#pragma unroll 4
      for (int d = 0; d < p.dim; ++d) {
        float q[kRowsEach], k[S::kKeysEach];
        Load<kRowsEach, false>(queries + d * S::kRowPitch + own_row, q);
        Load<S::kKeysEach, false>(keys + d * S::kKeyPitch + side * S::kKeysEach, k);
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) Multiply(q[r], k, score[r]);
      }

      const bool plain =
          !has_terms && first_key >= visible.first && first_key + count <= visible.end;
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
        for (int j = 0; j < S::kKeysEach; ++j) {
          const bool inside = own_row + r < rows && side * S::kKeysEach + j < count;
          score[r][j] = inside ? score[r][j] * p.scale : -INFINITY;
        }
      }
      __syncthreads();  // keys are no longer read
      float* const own = weights + side * S::kKeysEach * S::kRowPitch + own_row;
      if (plain) {
        seen = -1;
      } else {
        // From shared memory one by one, for it takes many registers.
        Store<S>(score, own);
#pragma unroll 1
        for (int at = 0; at < kRowsEach * S::kKeysEach; ++at) {
          const int r = at % kRowsEach, j = at / kRowsEach;
          if (own_row + r >= rows || side * S::kKeysEach + j >= count) continue;
          bool any = false;
          float& s = own[j * S::kRowPitch + r];
          s = scores.Of(scores.Capped(s), first_row + own_row + r,
                        first_key + side * S::kKeysEach + j, any);
          seen |= any ? 1 << r : 0;
        }
        Fetch<S>(own, score);
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
          score[r][j] = WeightOf(score[r][j], most_now);
          total[r] += score[r][j];  // this thread's keys
        }
#pragma unroll
        for (int c = 0; c < S::kColumnsEach; ++c) out[r][c] *= shrink;
      }

      Store<S>(score, own);
      __syncthreads();
#pragma unroll 4
      for (int j = 0; j < count; ++j) {
        float w[kRowsEach], v[S::kColumnsEach];
        Load<kRowsEach, false>(weights + j * S::kRowPitch + own_row, w);
        Load<S::kColumnsEach, true>(values + j * kColumns + side * kPiece, v);
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) Multiply(w[r], v, out[r]);
      }
    }

    for (int d = kSide / 2; d > 0; d /= 2) seen |= __shfl_xor_sync(kAllLanes, seen, d);
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      float sum = total[r];
      for (int d = kSide / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kAllLanes, sum, d);
      if (own_row + r >= rows) continue;
      const bool zero = IsZeroRow(p, (seen >> r & 1) != 0, sum);
      T* const to = static_cast<T*>(const_cast<void*>(p.out.data)) + p.out.offset +
                    b * p.out.batch + h * p.out.head + (first_row + own_row + r) * p.out.row;
#pragma unroll
      for (int c = 0; c < S::kColumnsEach; ++c) {
        const int column = c / kPiece * kPiece * kSide + side * kPiece + c % kPiece;
        if (column < p.v_dim) to[column * p.out.element] = Narrow<T>(zero ? 0.0f : out[r][c] / sum);
      }
    }
  }
}

template <typename T, int kColumns, int kRowsEach>
void Launch(StreamHandle stream, const AttentionParams& p) {
  using S = Tile<kColumns, kRowsEach>;
  constexpr size_t kShared = S::kFloats * sizeof(float);
  if (kShared > kUsualShared) TENON_ALLOW_SHARED((AttentionTiles<T, kColumns, kRowsEach>), kShared);
  const int64_t tiles = (p.q_len + S::kRows - 1) / S::kRows;
  TENON_LAUNCH((AttentionTiles<T, kColumns, kRowsEach>), BlocksFor(p.batch * p.heads * tiles, 1),
               kThreads, kShared, stream, p);
}

// Wide heads leave no registers for more rows, and few blocks no rows.
template <typename T, int kColumns>
void Launch(StreamHandle stream, const AttentionParams& p) {
  if constexpr (kColumns <= 64) {
    constexpr int64_t kRows = Tile<kColumns, 8>::kRows;
    if (p.batch * p.heads * ((p.q_len + kRows - 1) / kRows) >= kEnoughBlocks) {
      Launch<T, kColumns, 8>(stream, p);
      return;
    }
  }
  Launch<T, kColumns, 4>(stream, p);
}

}  // namespace

void LaunchTiles(StreamHandle stream, const AttentionParams& p) {
  const int columns = p.dim > p.v_dim ? p.dim : p.v_dim;
  DispatchFloats(p.dtype, [&]<typename T>() {
    if (columns <= 32) {
      Launch<T, 32>(stream, p);
    } else if (columns <= 64) {
      Launch<T, 64>(stream, p);
    } else {
      Launch<T, kTileColumns>(stream, p);
    }
  });
}

}  // namespace tenon::kernels::gpu
