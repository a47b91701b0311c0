// The product of a strip of rows, as many as registers hold, with one or two vectors of columns.
// Included after one of the vector headers.
#ifndef TENON_KERNELS_CPU_ATTENTION_PRODUCT_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_PRODUCT_INL_H_

#include "kernels/cpu/attention/fetch-inl.h"
#include "kernels/cpu/attention/scores-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int kPanel = 2 * kLanes;  // columns

// c[r] = sum over p of a[r][p] * b[p], plus what is already there or plus terms. Rows begin *_row
// apart.
struct ProductArgs {
  const float* a;
  int64_t a_row;
  const float* b;
  int64_t b_row;
  int64_t depth;
  float* c;
  int64_t c_row;
  const float* keep = nullptr;  // by row, factors for what is in c and stays in the sum

  int64_t column = 0;   // of the first column in the rows below
  int64_t columns = 0;  // that these have from there on
  // Scores: what lies beyond the columns becomes -inf.
  const float* const* bias = nullptr;  // rows of terms; null: none
  const float* const* mask = nullptr;  // more of them, if there is a bias
  float* max = nullptr;  // by row, a vector of the largest scores: here, and so far unless
  bool first = false;    // these are the first columns
  // Results, if not null: rows for the sum times `scale` of the row instead of c.
  float* const* out = nullptr;
  const float* scale = nullptr;

  FetchSteps fetch;  // at most `depth`
};

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void AddTerms(const ProductArgs& x, const float* const* rows,
                                                    V (&acc)[kRows][kVectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const float* at = rows[r] + x.column + v * kLanes;
      acc[r][v] = Add(acc[r][v], LoadUpTo(at, x.columns - v * kLanes));
    }
  }
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void StoreScores(const ProductArgs& x,
                                                       V (&acc)[kRows][kVectors]) {
  if (x.bias != nullptr) AddTerms(x, x.bias, acc);
  if (x.mask != nullptr) AddTerms(x, x.mask, acc);
  const int64_t in_last = x.columns - (kVectors - 1) * kLanes;
  if (in_last < kLanes) {
    const M there = FirstLanes(in_last);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      acc[r][kVectors - 1] = Select(there, acc[r][kVectors - 1], Set(kMinusInfinity));
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) Store(x.c + r * x.c_row + v * kLanes, acc[r][v]);
  }
  // NaN is passed over, as -inf is what both maxima begin with.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    V max = x.first ? Set(kMinusInfinity) : Load(x.max + r * kLanes);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) max = Max(acc[r][v], max);
    Store(x.max + r * kLanes, max);
  }
}

template <int kRows, int kVectors>
void Multiply(const ProductArgs& x) {
  V acc[kRows][kVectors];
  // A branch around each start and each end, which are short, rather than a function for each pair.
  if (x.keep != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] = Mul(Load(x.c + r * x.c_row + v * kLanes), Set(x.keep[r]));
      }
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Zero();
    }
  }
  // Rows in fives: their addresses need three registers.
  const float* rows[3] = {x.a, x.a + 5 * x.a_row, x.a + 10 * x.a_row};
  const int64_t one_row = x.a_row, three_rows = 3 * x.a_row, b_row = x.b_row;
  const float* b = x.b;
  const auto step = [&]() __attribute__((always_inline)) {
    V vb[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) vb[v] = Load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V va = Set(rows[r / 5][r % 5 == 3 ? three_rows : r % 5 * one_row]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[r][v] = MulAdd(va, vb[v], acc[r][v]);
    }
    ++rows[0], ++rows[1], ++rows[2];
    b += b_row;
  };
  FetchSteps fetch = x.fetch;
  for (int64_t p = 0; p < x.fetch.count; ++p) {
    fetch.Next();
    step();
  }
  for (int64_t p = x.fetch.count; p < x.depth; ++p) step();
  if (x.max != nullptr) {
    StoreScores(x, acc);
  } else if (x.out != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V scale = Set(x.scale[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        float* const to = x.out[r] + x.column + v * kLanes;
        StoreUpTo(to, Mul(acc[r][v], scale), x.columns - v * kLanes);
      }
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) Store(x.c + r * x.c_row + v * kLanes, acc[r][v]);
    }
  }
}

// For a number of rows known at run time.
template <int kRows, int kVectors>
inline void MultiplyRows(int64_t rows, const ProductArgs& x) {
  if (rows == kRows) {
    Multiply<kRows, kVectors>(x);
  } else if constexpr (kRows > 1) {
    MultiplyRows<kRows - 1, kVectors>(rows, x);
  }
}

// For x.columns or kPanel columns, whichever is less; c has whole vectors.
inline void MultiplyPanel(int64_t rows, const ProductArgs& x) {
  if (x.columns > kLanes) {
    MultiplyRows<kStripRows, 2>(rows, x);
  } else {
    MultiplyRows<kStripRows, 1>(rows, x);
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_PRODUCT_INL_H_
