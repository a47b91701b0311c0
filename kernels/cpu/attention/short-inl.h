// Attention over so few keys, as in windows of an image, that the scores of several rows stay in
// registers from the product to the weights. Included after one of the vector headers that has
// AcrossEight.
#ifndef TENON_KERNELS_CPU_ATTENTION_SHORT_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_SHORT_INL_H_

#include "kernels/cpu/attention/tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int kShortVectors = 4;       // of keys, at most
constexpr int kMostLeft = kLanes / 8;  // keys behind them; see Tile::FewLeft
constexpr int kWeightRow = (kShortVectors + 1) * kLanes;

// Rows at a time, so that registers hold their scores next to the keys they are multiplied with,
// and AcrossEight can put them together.
constexpr int ShortRows(int vectors) { return vectors == kShortVectors ? 6 : 8; }

struct ShortTile : Tile {
  const int64_t n, left, whole;  // keys, those behind the last vector, those before them

  explicit ShortTile(AttentionTile& tile)
      : Tile(tile), n(t.end - t.begin), left(FewLeft(n)), whole(n - left) {}

  // Fewer keys gain nothing over AttendTile.
  bool Fits() const {
    return whole > 2 * kLanes && whole <= kShortVectors * kLanes && t.group == 1 && !unusual &&
           !t.by_position && t.part == nullptr;
  }

  // A row of a term, from the first key on; rows follow each other at rows.position.
  static const float* TermRow(const AttentionTile& t, const ScoreTerm<float>& term, int64_t row) {
    return term.rows.At(t.first + row, 0) + t.begin;
  }

  template <int kRows, int kVectors>
  inline __attribute__((always_inline)) void Multiply(const float* a, V (&acc)[kRows][kVectors]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Zero();
    }
    const int64_t a_row = t.q.position, three_rows = 3 * a_row, next_panel = t.dim * kPanel;
    const float *b = keys, *rows[2] = {a, a + 5 * a_row};
    const auto step = [&]() __attribute__((always_inline)) {
      V vb[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) vb[v] = Load(b + v / 2 * next_panel + v % 2 * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const V va = Set(rows[r / 5][r % 5 == 3 ? three_rows : r % 5 * a_row]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[r][v] = MulAdd(va, vb[v], acc[r][v]);
      }
      ++rows[0], ++rows[1];
      b += kPanel;
    };
    FetchSteps fetch = ahead.Take(t.dim);
    for (int64_t p = 0; p < fetch.count; ++p) {
      fetch.Next();
      step();
    }
    for (int64_t p = fetch.count; p < t.dim; ++p) step();
  }

  template <int kRows, int kVectors>
  inline __attribute__((always_inline)) void AddTerm(const float* at, int64_t row,
                                                     V (&acc)[kRows][kVectors]) const {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r, at += row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t there = whole - v * kLanes;
        acc[r][v] = Add(
            acc[r][v], v + 1 < kVectors ? Load(at + v * kLanes) : LoadUpTo(at + v * kLanes, there));
      }
    }
  }

  // Lane r: the score of row first + r with key `key` of the tile's, bias and mask included.
  template <int kRows>
  inline __attribute__((always_inline)) V LeftScores(int64_t first, int64_t key) const {
    V dots[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) dots[r] = Zero();
    // One element is a vector whose lanes add up to it.
    const auto add_term = [&](const ScoreTerm<float>& term) __attribute__((always_inline)) {
      const float* at = TermRow(t, term, first) + key;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r, at += term.rows.position) {
        dots[r] = Add(dots[r], LoadOne(at));
      }
    };
    if (t.bias.rows.base != nullptr) add_term(t.bias);
    if (t.mask.rows.base != nullptr) add_term(t.mask);
    const float* const k = t.k + (t.begin + key) * t.k_row;
    const V scale = Set(t.scale);
    for (int64_t d = 0; d < t.dim; d += kLanes) {
      const V elements = Mul(LoadUpTo(k + d, t.dim - d), scale);
      const float* q = t.q.At(t.first + first, 0) + d;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r, q += t.q.position) {
        dots[r] = MulAdd(elements, LoadUpTo(q, t.dim - d), dots[r]);
      }
    }
    return AcrossEight<Add>(dots);
  }

  // Rows [first, first + kRows).
  template <int kRows, int kVectors>
  void AttendRows(int64_t first) {
    V left_scores[kMostLeft];
    for (int64_t j = 0; j < left; ++j) left_scores[j] = LeftScores<kRows>(first, whole + j);
    V acc[kRows][kVectors];
    Multiply(t.q.At(t.first + first, 0), acc);
    if (t.bias.rows.base != nullptr) AddTerm(TermRow(t, t.bias, first), t.bias.rows.position, acc);
    if (t.mask.rows.base != nullptr) AddTerm(TermRow(t, t.mask, first), t.mask.rows.position, acc);
    if (whole < kVectors * kLanes) {
      const M there = FirstLanes(whole - (kVectors - 1) * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        acc[r][kVectors - 1] = Select(there, acc[r][kVectors - 1], Set(kMinusInfinity));
      }
    }
    // NaN is passed over, as -inf is what the maximum begins with.
    V rows[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      rows[r] = Set(kMinusInfinity);
      if (r >= kRows) continue;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) rows[r] = Max(acc[r][v], rows[r]);
    }
    V max = AcrossEight<Max>(rows);
    for (int64_t j = 0; j < left; ++j) max = Max(left_scores[j], max);
    StorePart(t.max + first, max, kRows);
    // While every score is -inf, exp(-inf - 0) gives the weights 0.
    const V base = Select(Equal(max, Set(kMinusInfinity)), Zero(), max);
    alignas(64) float bases[kLanes], lane[kLanes];
    Store(bases, base);
    V sum = Zero();
    float* const weights = scores;
    for (int64_t j = 0; j < left; ++j) {
      const V e = Exp(Sub(left_scores[j], base));
      sum = Add(sum, e);
      Store(lane, e);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) weights[r * kWeightRow + whole + j] = lane[r];
    }
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      rows[r] = Zero();
      if (r >= kRows) continue;
      const V row_base = Set(bases[r]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const V e = Exp(Sub(acc[r][v], row_base));
        // What lies behind the keys is written by the loop above only.
        if (v + 1 < kVectors || whole == kVectors * kLanes) {
          Store(weights + r * kWeightRow + v * kLanes, e);
        } else {
          StorePart(weights + r * kWeightRow + v * kLanes, e, whole - v * kLanes);
        }
        rows[r] = Add(rows[r], e);
      }
    }
    sum = Add(sum, AcrossEight<Add>(rows));
    StorePart(t.sum + first, sum, kRows);
    WriteRows<kRows>(first, sum);
  }

  // Writes weights times values.
  template <int kRows>
  void WriteRows(int64_t first, V sum) {
    V factor = Div(Set(1.0f), sum);  // 0 * inf is NaN where every key is hidden
    if (t.nan_guard) factor = Select(Equal(sum, Zero()), Zero(), factor);
    alignas(64) float factors[kLanes];
    Store(factors, factor);
    float* outs[kRows];
    for (int r = 0; r < kRows; ++r) outs[r] = t.out.At(t.first + first + r, 0);
    ProductArgs x;
    x.a = scores;
    x.a_row = kWeightRow;
    x.depth = n;
    x.b_row = values_in_place ? t.v_row : v_padded;
    x.out = outs;
    x.scale = factors;
    const float* v = values_in_place ? t.v + t.begin * t.v_row : values;
    for (int64_t d = 0; d < t.v_dim; d += kPanel) {
      x.b = v + d;
      x.column = d;
      x.columns = t.v_dim - d;
      x.fetch = ahead.Take(n);
      if (x.columns > kLanes) {
        cpu::Multiply<kRows, 2>(x);
      } else {
        cpu::Multiply<kRows, 1>(x);
      }
    }
  }

  // For a number of rows known at run time.
  template <int kRows, int kVectors>
  void AttendStrip(int64_t first, int64_t count) {
    if (count == kRows) {
      AttendRows<kRows, kVectors>(first);
    } else if constexpr (kRows > 1) {
      AttendStrip<kRows - 1, kVectors>(first, count);
    }
  }

  template <int kVectors>
  void AttendStrips() {
    constexpr int kRows = ShortRows(kVectors);
    const int64_t strips = (t.rows + kRows - 1) / kRows;
    FetchNext();
    for (int64_t s = 0, first = 0; s < strips; ++s) {
      const int64_t count = (t.rows - first) / (strips - s);
      AttendStrip<kRows, kVectors>(first, count);
      first += count;
    }
    ahead.FetchRest();
  }

  void Run() {
    PackKeys(t.begin, n);
    if (!values_in_place) PackValues(t.begin, n);
    if (whole > 3 * kLanes) {
      AttendStrips<4>();
    } else {
      AttendStrips<3>();
    }
  }
};

void AttendShortOrTile(AttentionTile& tile) {
  ShortTile few_keys(tile);
  if (few_keys.Fits()) {
    few_keys.Run();
  } else {
    AttendTile(tile);
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_SHORT_INL_H_
