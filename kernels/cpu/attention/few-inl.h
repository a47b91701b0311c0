// Attention of a few query rows, as in decoding: dot products along the rows of k and sums of the
// rows of v, so that both stream from memory once, in order.
#ifndef TENON_KERNELS_CPU_ATTENTION_FEW_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_FEW_INL_H_

#include "kernels/cpu/attention/scores-inl.h"

namespace tenon::kernels::cpu {
namespace {

// Half a vector: with more rows, lanes filled with rows pay.
constexpr int kFewRows = kLanes / 2;
constexpr int64_t kPrefetchKeys = 32;  // how far ahead of their use keys and values are fetched

struct FewRows {
  AttentionTile& t;
  float* scores;       // kFewRows x kKeyBlock
  float* result;       // kFewRows x padded v_dim
  int64_t result_row;  // elements from row to row
  const V indices;
  const float* q[kFewRows];
  float* out[kFewRows];
  RowTerms terms[kFewRows];
  float correction[kFewRows];

  explicit FewRows(AttentionTile& tile)
      : t(tile),
        scores(tile.scratch),
        result(scores + kFewRows * kKeyBlock),
        result_row((tile.v_dim + kLanes - 1) / kLanes * kLanes),
        indices(Indices()) {
    RowWalk at(t, 0);
    for (int r = 0; r < t.rows; ++r, at.Next()) {
      q[r] = t.q.At(at.i, at.g);
      out[r] = t.part != nullptr ? t.part + r * t.v_dim : t.out.At(at.i, at.g);
      terms[r] = RowTerms(t, at);
      t.max[r] = kMinusInfinity;
      t.sum[r] = 0;
    }
    memset(result, 0, static_cast<size_t>(t.rows * result_row) * sizeof(float));
  }

  // scores of all rows with up to kLanes keys whose elements are neighbours.
  void Dots(int64_t key, int64_t keys, float* to) const {
    const float* rows[kLanes];  // beyond the last key: that key again
    for (int64_t j = 0; j < kLanes; ++j)
      rows[j] = t.k + (key + (j < keys ? j : keys - 1)) * t.k_row;
    for (int64_t j = 0; j < keys; ++j) {
      // Fetching beyond the end of k does no harm.
      const char* ahead = reinterpret_cast<const char*>(rows[j] + kPrefetchKeys * t.k_row);
      for (int64_t d = 0; d < t.dim; d += 16) __builtin_prefetch(ahead + d * 4);
    }
    for (int r = 0; r < t.rows; ++r) {
      V acc[kLanes];
#pragma GCC unroll 16
      for (int j = 0; j < kLanes; ++j) acc[j] = Zero();
      int64_t d = 0;
      for (; d + kLanes <= t.dim; d += kLanes) {
        const V elements = Load(q[r] + d);
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) acc[j] = MulAdd(elements, Load(rows[j] + d), acc[j]);
      }
      if (d < t.dim) {
        const V elements = LoadPart(q[r] + d, t.dim - d);
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) {
          acc[j] = MulAdd(elements, LoadPart(rows[j] + d, t.dim - d), acc[j]);
        }
      }
      Store(to + r * kKeyBlock, Mul(SumsOf(acc), Set(t.scale)));
    }
  }

  // The same where the keys are neighbours and their elements k_element apart.
  void Columns(int64_t key, int64_t keys, float* to) const {
    for (int r = 0; r < t.rows; ++r) {
      V acc = Zero();
      const float* k = t.k + key;
      for (int64_t d = 0; d < t.dim; ++d, k += t.k_element) {
        acc = MulAdd(Set(q[r][d]), LoadUpTo(k, keys), acc);
      }
      Store(to + r * kKeyBlock, Mul(acc, Set(t.scale)));
    }
  }

  // Turns the scores of row r into weights.
  void Softmax(int r, int64_t n) {
    float* s = scores + r * kKeyBlock;
    V block_max = Set(t.max[r]);
    for (int64_t j = 0; j < n; j += kLanes) block_max = Max(Load(s + j), block_max);
    float lane[kLanes];
    Store(lane, block_max);
    float max = lane[0];
    for (int i = 1; i < kLanes; ++i) max = lane[i] > max ? lane[i] : max;
    const V base = Set(max == kMinusInfinity ? 0 : max);
    Store(lane, Exp(Sub(Set(t.max[r]), base)));
    correction[r] = lane[0];
    V sum = Zero();
    for (int64_t j = 0; j < n; j += kLanes) {
      const V e = Exp(Sub(Load(s + j), base));
      Store(s + j, e);
      sum = Add(sum, e);
    }
    t.sum[r] = t.sum[r] * correction[r] + SumOfLanes(sum);
    t.max[r] = max;
  }

  // result (+)= weights * v for rows [row, row + kRows) and kVectors vectors of elements from d on.
  // With kPart the only vector holds less than kLanes elements.
  template <int kRows, int kVectors, bool kPart>
  void AddValues(int row, int64_t d, int64_t begin, int64_t n) {
    constexpr int kKeys = kRows == 1 ? 4 : kRows == 2 ? 2 : 1;  // sums that do not wait for others
    V acc[kKeys][kRows][kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kKeys; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[i][r][v] = Zero();
      }
    }
    const float* values = t.v + begin * t.v_row + d;
    const float* weights = scores + row * kKeyBlock;
    const int64_t left = t.v_dim - d;
    int64_t j = 0;
    for (; j + kKeys <= n; j += kKeys) {
#pragma GCC unroll 4
      for (int i = 0; i < kKeys; ++i, values += t.v_row) {
        const char* ahead = reinterpret_cast<const char*>(values + kPrefetchKeys * t.v_row);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          __builtin_prefetch(ahead + v * kLanes * 4);
          const V x = kPart ? LoadPart(values, left) : Load(values + v * kLanes);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            acc[i][r][v] = MulAdd(Set(weights[r * kKeyBlock + j + i]), x, acc[i][r][v]);
          }
        }
      }
    }
    for (; j < n; ++j, values += t.v_row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const V x = kPart ? LoadPart(values, left) : Load(values + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          acc[0][r][v] = MulAdd(Set(weights[r * kKeyBlock + j]), x, acc[0][r][v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V total = acc[0][r][v];
#pragma GCC unroll 4
        for (int i = 1; i < kKeys; ++i) total = Add(total, acc[i][r][v]);
        float* at = result + (row + r) * result_row + d + v * kLanes;
        Store(at, MulAdd(Load(at), Set(correction[row + r]), total));
      }
    }
  }

  template <int kRows>
  void AddRows(int row, int64_t begin, int64_t n) {
    int64_t d = 0;
    for (; d + 4 * kLanes <= t.v_dim; d += 4 * kLanes) AddValues<kRows, 4, false>(row, d, begin, n);
    for (; d + kLanes <= t.v_dim; d += kLanes) AddValues<kRows, 1, false>(row, d, begin, n);
    if (d < t.v_dim) AddValues<kRows, 1, true>(row, d, begin, n);
  }

  void AddBlock(int64_t begin, int64_t n) {
    for (int64_t j = 0; j < n; j += kLanes) {
      const int64_t keys = Min64(kLanes, n - j);
      float* to = scores + j;
      if (t.k_element == 1) {
        Dots(begin + j, keys, to);
      } else {
        Columns(begin + j, keys, to);
      }
      for (int r = 0; r < t.rows; ++r) {
        float* at = to + r * kKeyBlock;
        Store(at, FinishScores(t, terms[r], indices, begin + j, keys, Load(at)));
      }
    }
    for (int r = 0; r < t.rows; ++r) Softmax(r, n);
    int r = 0;
    if constexpr (kFewRows >= 4) {
      for (; r + 4 <= t.rows; r += 4) AddRows<4>(r, begin, n);
    }
    if (r + 2 <= t.rows) AddRows<2>(r, begin, n), r += 2;
    if (r < t.rows) AddRows<1>(r, begin, n);
  }

  void Run() {
    const int64_t keys = t.end - t.begin, size = keys > 0 ? KeyBlockSize(keys, kKeyBlock) : 1;
    for (int64_t begin = t.begin; begin < t.end; begin += size) {
      AddBlock(begin, Min64(size, t.end - begin));
    }
    for (int r = 0; r < t.rows; ++r) {
      float factor = t.part != nullptr ? 1 : 1 / t.sum[r];
      if (t.nan_guard && t.part == nullptr && t.sum[r] == 0) factor = 0;
      for (int64_t d = 0; d < t.v_dim; d += kLanes) {
        StoreUpTo(out[r] + d, Mul(Load(result + r * result_row + d), Set(factor)), t.v_dim - d);
      }
    }
  }
};

void AttendFew(AttentionTile& tile) { FewRows(tile).Run(); }

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_FEW_INL_H_
