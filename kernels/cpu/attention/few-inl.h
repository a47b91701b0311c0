// Attention of a few query rows, as in decoding: dot products along the rows of k and sums of the
// rows of v, so that both stream from memory once, in order.
#ifndef TENON_KERNELS_CPU_ATTENTION_FEW_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_FEW_INL_H_

#include "kernels/cpu/attention/scores-inl.h"

namespace tenon::kernels::cpu {
namespace {

// Half a vector: with more rows, lanes filled with rows pay.
constexpr int kFewRows = kLanes / 2;
constexpr int64_t kAhead = 32;  // how many keys or values before their use they are fetched

// Rows that are read later. Fetching beyond the end of keys or values does no harm.
struct RowsAhead {
  const float* at;
  int64_t row;
};

template <int n>
struct RowCount {
  static constexpr int kRows = n;
};

struct FewRows {
  AttentionTile& t;
  float* scores;       // kFewRows x kKeyBlock
  float* result;       // kFewRows x padded v_dim
  int64_t result_row;  // elements from row to row
  const V indices;
  const float* q[kFewRows];
  float* out[kFewRows];
  RowTerms terms[kFewRows];

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

  // Calls f(RowCount, first row) for groups of rows that together are all of them.
  template <typename F>
  void ForGroups(F f) const {
    int row = 0;
    if constexpr (kFewRows >= 4) {
      for (; row + 4 <= t.rows; row += 4) f(RowCount<4>(), row);
    }
    switch (t.rows - row) {
      case 3:
        if constexpr (kFewRows >= 4) f(RowCount<3>(), row);
        break;
      case 2:
        f(RowCount<2>(), row);
        break;
      case 1:
        f(RowCount<1>(), row);
        break;
      default:
        break;
    }
  }

  // What is read kAhead keys after key `j` of a block of n at `begin`: keys, then values, then the
  // next block's keys or the next tile's.
  RowsAhead AfterKey(int64_t begin, int64_t j, int64_t n) const {
    if (j + kAhead < n) return {t.k + (begin + j + kAhead) * t.k_row, t.k_row};
    return {t.v + (begin + j + kAhead - n) * t.v_row, t.v_row};
  }
  RowsAhead AfterValue(int64_t begin, int64_t j, int64_t n) const {
    if (j + kAhead < n) return {t.v + (begin + j + kAhead) * t.v_row, t.v_row};
    const int64_t key = j + kAhead - n;
    if (begin + n < t.end || t.next == nullptr) return {t.k + (begin + n + key) * t.k_row, t.k_row};
    return {t.next->k + (t.next->begin + key) * t.next->k_row, t.next->k_row};
  }

  // Scores of rows [row, row + kRows) with up to kLanes keys whose elements are neighbours. A key
  // is read from one end to the other before the next, as they lie in memory.
  template <int kRows>
  void Dots(int row, int64_t key, int64_t keys, RowsAhead ahead, float* to) const {
    constexpr int kKeys = kLanes / (kRows == 3 ? 4 : kRows);  // at a time
    for (int64_t j = 0; j < keys; j += kKeys) {
      V acc[kLanes];  // by row, then by key
#pragma GCC unroll 16
      for (int i = kRows * kKeys; i < kLanes; ++i) acc[i] = Zero();
#pragma GCC unroll 16
      for (int i = 0; i < kKeys; ++i) {
        // Beyond the last key: that key again.
        const float* const k = t.k + (key + Min64(j + i, keys - 1)) * t.k_row;
        const float* const fetched = ahead.at + (j + i) * ahead.row;
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) acc[r * kKeys + i] = Zero();
        const auto add = [&](int64_t d, auto load) __attribute__((always_inline)) {
          const V elements = load(k + d);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            acc[r * kKeys + i] = MulAdd(elements, load(q[row + r] + d), acc[r * kKeys + i]);
          }
        };
        int64_t d = 0;
        for (; d + kLanes <= t.dim; d += kLanes) {
          __builtin_prefetch(fetched + d);
          add(
              d, [](const float* at) __attribute__((always_inline)) { return Load(at); });
        }
        if (d == t.dim) continue;
        add(
            d, [&](const float* at)
                   __attribute__((always_inline)) { return LoadPart(at, t.dim - d); });
      }
      alignas(64) float sums[kLanes];
      Store(sums, Mul(SumsOf(acc), Set(t.scale)));
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        memcpy(to + (row + r) * kKeyBlock + j, sums + r * kKeys, kKeys * sizeof(float));
      }
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

  // Turns the scores of row r into weights, and its results into sums of such.
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
    const float correction = lane[0];
    for (int64_t d = 0; d < result_row; d += kLanes) {
      float* const at = result + r * result_row + d;
      Store(at, Mul(Load(at), Set(correction)));
    }
    V sum = Zero();
    for (int64_t j = 0; j < n; j += kLanes) {
      const V e = Exp(Sub(Load(s + j), base));
      Store(s + j, e);
      sum = Add(sum, e);
    }
    t.sum[r] = t.sum[r] * correction + SumOfLanes(sum);
    t.max[r] = max;
  }

  // Adds weights * v for rows [row, row + kRows), keys [from, to) of the block at `begin` and
  // kVectors vectors of elements from d on. With kPart the only vector holds less than kLanes
  // elements.
  template <int kRows, int kVectors, bool kPart>
  void AddValues(int row, int64_t d, int64_t begin, int64_t from, int64_t to, RowsAhead ahead) {
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
    const int64_t v_row = t.v_row;
    const float* values = t.v + (begin + from) * v_row + d;
    const float* weights = scores + row * kKeyBlock;
    const float* fetched = ahead.at + d;
    const auto add = [&](int64_t j, int i) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        __builtin_prefetch(fetched + v * kLanes);
        const V x = kPart ? LoadPart(values, t.v_dim - d) : Load(values + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          acc[i][r][v] = MulAdd(Set(weights[r * kKeyBlock + j]), x, acc[i][r][v]);
        }
      }
      values += v_row;
      fetched += ahead.row;
    };
    int64_t j = from;
    for (; j + kKeys <= to; j += kKeys) {
#pragma GCC unroll 4
      for (int i = 0; i < kKeys; ++i) add(j + i, i);
    }
    for (; j < to; ++j) add(j, 0);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V total = acc[0][r][v];
#pragma GCC unroll 4
        for (int i = 1; i < kKeys; ++i) total = Add(total, acc[i][r][v]);
        float* const at = result + (row + r) * result_row + d + v * kLanes;
        Store(at, Add(Load(at), total));
      }
    }
  }

  template <int kRows>
  void AddRows(int row, int64_t begin, int64_t from, int64_t to, RowsAhead ahead) {
    int64_t d = 0;
    for (; d + 4 * kLanes <= t.v_dim; d += 4 * kLanes) {
      AddValues<kRows, 4, false>(row, d, begin, from, to, ahead);
    }
    for (; d + kLanes <= t.v_dim; d += kLanes) {
      AddValues<kRows, 1, false>(row, d, begin, from, to, ahead);
    }
    if (d < t.v_dim) AddValues<kRows, 1, true>(row, d, begin, from, to, ahead);
  }

  void AddBlock(int64_t begin, int64_t n) {
    for (int64_t j = 0; j < n; j += kLanes) {
      const int64_t keys = Min64(kLanes, n - j);
      float* to = scores + j;
      if (t.k_element == 1) {
        const RowsAhead ahead = AfterKey(begin, j, n);
        ForGroups([&](auto rows, int row) {
          Dots<decltype(rows)::kRows>(row, begin + j, keys, ahead, to);
        });
      } else {
        Columns(begin + j, keys, to);
      }
      for (int r = 0; r < t.rows; ++r) {
        float* at = to + r * kKeyBlock;
        Store(at, FinishScores(t, terms[r], indices, begin + j, keys, Load(at)));
      }
    }
    for (int r = 0; r < t.rows; ++r) Softmax(r, n);
    // Where values are gone through several times, so few at a time that they stay in the
    // first-level cache meanwhile; else all, but for the last ones: these fetch something else.
    const bool once = t.rows <= 4 && t.v_dim <= 4 * kLanes;
    for (int64_t from = 0, to; from < n; from = to) {
      to = Min64(n, once && from == 0 && n > 2 * kAhead ? n - kAhead : from + kAhead);
      const RowsAhead ahead = AfterValue(begin, from, n);
      ForGroups(
          [&](auto rows, int row) { AddRows<decltype(rows)::kRows>(row, begin, from, to, ahead); });
    }
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
