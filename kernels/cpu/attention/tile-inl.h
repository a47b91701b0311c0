// Attention of a tile with more than a few rows. The rows lie across the lanes of one or two
// vectors: scores are kept transposed (keys x rows) and so is the result (elements x rows). Maxima,
// sums and corrections of the online softmax are then vectors, both products broadcast the elements
// of k and of v from where they lie, and any head size is as good as another.
#ifndef TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_

#include "kernels/cpu/attention/scores-inl.h"

namespace tenon::kernels::cpu {
namespace {

// c[r] = sum over p of a(r, p) * b[p], for kRows rows of kVectors vectors, plus c[r] * factor if
// kAdd. Row r of a begins at a + r * a_row; with kUnitRow a_row is 1 and steps are a_step apart,
// else steps are neighbours.
template <int kRows, int kVectors, bool kUnitRow, bool kAdd>
void Accumulate(const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t depth,
                float* c, const V* factor) {
  constexpr int kWidth = kVectors * kLanes;
  V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = kAdd ? Mul(Load(c + r * kWidth + v * kLanes), factor[v]) : Zero();
    }
  }
  // Rows in fives: their addresses need three registers.
  const float* rows[3] = {a, a + 5 * a_row, a + 10 * a_row};
  const int64_t three_rows = 3 * a_row;
  for (int64_t p = 0; p < depth; ++p, b += kWidth) {
    V vb[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vb[v] = Load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const int64_t in_five = r % 5 == 3 ? three_rows : r % 5 * a_row;
      const V va = Set(kUnitRow ? a[r] : rows[r / 5][in_five]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = MulAdd(va, vb[v], acc[r][v]);
    }
    if constexpr (kUnitRow) {
      a += a_step;
    } else {
      ++rows[0], ++rows[1], ++rows[2];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Store(c + r * kWidth + v * kLanes, acc[r][v]);
  }
}

// Accumulate for a number of rows known at run time.
template <int kRows, int kVectors, bool kUnitRow, bool kAdd>
inline void AccumulateRows(int64_t rows, const float* a, int64_t a_row, int64_t a_step,
                           const float* b, int64_t depth, float* c, const V* factor) {
  if (rows == kRows) {
    Accumulate<kRows, kVectors, kUnitRow, kAdd>(a, a_row, a_step, b, depth, c, factor);
  } else if constexpr (kRows > 1) {
    AccumulateRows<kRows - 1, kVectors, kUnitRow, kAdd>(rows, a, a_row, a_step, b, depth, c,
                                                        factor);
  }
}

// The product for any number of rows, in tiles of about equal height.
template <int kVectors, bool kUnitRow, bool kAdd>
void Product(int64_t rows, const float* a, int64_t a_row, int64_t a_step, const float* b,
             int64_t depth, float* c, const V* factor) {
  constexpr int kMost = kTileRows[kVectors - 1];
  const int64_t tiles = (rows + kMost - 1) / kMost;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t n = rows / tiles + (tile < rows % tiles ? 1 : 0);
    AccumulateRows<kMost, kVectors, kUnitRow, kAdd>(n, a, a_row, a_step, b, depth, c, factor);
    a += n * a_row;
    c += n * kVectors * kLanes;
  }
}

// The values of kLanes rows at column first + c.
template <typename T>
inline V LoadColumn(const T* const* rows, int64_t column) {
  alignas(64) float values[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) values[r] = static_cast<float>(rows[r][column]);
  return Load(values);
}

// block[c] = the values of kLanes rows at column first + c, for up to kLanes columns; what lies
// beyond is any number. `more`: rows whose values are added; null: none.
template <typename T>
inline void LoadColumns(const T* const* rows, const T* const* more, int64_t first, int64_t columns,
                        V (&block)[kLanes]) {
  if (columns <= 2) {
    for (int64_t c = 0; c < columns; ++c) {
      block[c] = LoadColumn(rows, first + c);
      if (more != nullptr) block[c] = Add(block[c], LoadColumn(more, first + c));
    }
    return;
  }
  if (columns >= kLanes) {
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) block[r] = LoadUpTo(rows[r] + first, kLanes);
    if (more != nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        block[r] = Add(block[r], LoadUpTo(more[r] + first, kLanes));
      }
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) block[r] = LoadUpTo(rows[r] + first, columns);
    if (more != nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        block[r] = Add(block[r], LoadUpTo(more[r] + first, columns));
      }
    }
  }
  Transpose(block);
}

// One tile whose rows fill kVectors vectors.
template <int kVectors>
struct Tile {
  static constexpr int kWidth = kVectors * kLanes;

  AttentionTile& t;
  float* queries;  // dim x kWidth
  float* scores;   // up to kKeyBlock x kWidth
  float* result;   // v_dim x kWidth
  V max[kVectors], sum[kVectors];

  explicit Tile(AttentionTile& tile)
      : t(tile),
        queries(tile.scratch),
        scores(queries + tile.dim * kWidth),
        result(scores + kKeyBlock * kWidth) {
    for (int v = 0; v < kVectors; ++v) {
      max[v] = Set(kMinusInfinity);
      sum[v] = Zero();
    }
  }

  // How many rows vector v holds.
  int64_t RowsOf(int v) const { return Clamp64(t.rows - v * kLanes, 0, kLanes); }

  void PackQueries() {
    const V scale = Set(t.scale);
    for (int64_t d = 0; d < t.dim; d += kLanes) {
      const int64_t n = Min64(kLanes, t.dim - d);
      for (int v = 0; v < kVectors; ++v) {
        V block[kLanes];
        LoadColumns<float>(t.q + v * kLanes, nullptr, d, n, block);
        float* to = queries + d * kWidth + v * kLanes;
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
          if (i < n) Store(to + i * kWidth, Mul(block[i], scale));
        }
      }
    }
  }

  static bool ByRowAndKey(const ScoreTerm<float>& term) {
    return term.rows[0] != nullptr && term.step != 0 && !term.same_rows;
  }

  // A term that has one value for all keys of a row, or one for all rows.
  void AddSimpleTerm(const ScoreTerm<float>& term, int64_t begin, int64_t n) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = scores + v * kLanes;
      const V by_row = term.step == 0 ? LoadColumn(term.rows + v * kLanes, 0) : Zero();
      const float* row = term.rows[0] + begin;
      for (int64_t j = 0; j < n; ++j, at += kWidth) {
        Store(at, Add(Load(at), term.step == 0 ? by_row : Set(row[j])));
      }
    }
  }

  // A term with values by row and key, and another if it is not null.
  void AddTerms(const ScoreTerm<float>& term, const ScoreTerm<float>* more, int64_t begin,
                int64_t n) {
    for (int64_t first = 0; first < n; first += kLanes) {
      for (int v = 0; v < kVectors; ++v) {
        V block[kLanes];
        LoadColumns<float>(term.rows + v * kLanes,
                           more == nullptr ? nullptr : more->rows + v * kLanes, begin + first,
                           n - first, block);
        float* at = scores + first * kWidth + v * kLanes;
        if (n - first >= kLanes) {
#pragma GCC unroll 16
          for (int c = 0; c < kLanes; ++c) {
            Store(at + c * kWidth, Add(Load(at + c * kWidth), block[c]));
          }
        } else {
          for (int c = 0; c < n - first; ++c) {
            Store(at + c * kWidth, Add(Load(at + c * kWidth), block[c]));
          }
        }
      }
    }
  }

  void AddBiasAndMask(int64_t begin, int64_t n) {
    if (ByRowAndKey(t.bias) && ByRowAndKey(t.mask)) return AddTerms(t.bias, &t.mask, begin, n);
    const ScoreTerm<float>* const terms[2] = {&t.bias, &t.mask};
    for (const ScoreTerm<float>* term : terms) {
      if (term->rows[0] == nullptr) continue;
      if (ByRowAndKey(*term)) {
        AddTerms(*term, nullptr, begin, n);
      } else {
        AddSimpleTerm(*term, begin, n);
      }
    }
  }

  // Hides from each row what a mask, causality or the window hides.
  void HideKeys(int64_t begin, int64_t n) {
    const bool by_position = t.last_key[0] < begin + n - 1 || t.first_key[t.rows - 1] > begin;
    if (!by_position && t.keep.rows[0] == nullptr && t.key_keep == nullptr) return;
    for (int v = 0; v < kVectors; ++v) {
      alignas(64) float last[kLanes], first[kLanes];  // visible keys, counted from `begin`
      for (int r = 0; r < kLanes; ++r) {
        const int row = v * kLanes + r;
        last[r] = static_cast<float>(Clamp64(t.last_key[row] - begin, -1, n));
        first[r] = static_cast<float>(Clamp64(t.first_key[row] - begin, 0, n));
      }
      const V lasts = Load(last), firsts = Load(first);
      for (int64_t j = 0; j < n; j += kLanes) {
        V kept[kLanes];
        LoadKept(v, begin + j, n - j, kept);
        float* at = scores + j * kWidth + v * kLanes;
        for (int64_t c = 0; c < Min64(kLanes, n - j); ++c) {
          const V position = Set(static_cast<float>(j + c));
          M hidden = Equal(kept[c], Zero());
          hidden = Or(hidden, Or(Less(lasts, position), Less(position, firsts)));
          Store(at + c * kWidth,
                Hide(Load(at + c * kWidth), hidden, t.mask_value, t.mask_replaces));
        }
      }
    }
  }

  // Zero where a mask hides a key of the next kLanes (at most n) from a row of vector v.
  void LoadKept(int v, int64_t key, int64_t n, V (&kept)[kLanes]) const {
    if (t.keep.rows[0] == nullptr) {
      for (int c = 0; c < kLanes; ++c) kept[c] = Set(1.0f);
    } else if (t.keep.step == 0) {
      const V rows = LoadColumn(t.keep.rows + v * kLanes, 0);
      for (int c = 0; c < kLanes; ++c) kept[c] = rows;
    } else {
      LoadColumns<uint8_t>(t.keep.rows + v * kLanes, nullptr, key, n, kept);
    }
    if (t.key_keep == nullptr) return;
    for (int64_t c = 0; c < Min64(kLanes, n); ++c) {
      if (t.key_keep[(key + c) * t.key_keep_step] == 0) kept[c] = Zero();
    }
  }

  // Everything between the product and the softmax. block_max: in and out.
  void FinishScores(int64_t begin, int64_t n, V (&block_max)[kVectors]) {
    if (t.softcap > 0) {
      for (int64_t i = 0; i < n * kWidth; i += kLanes) {
        Store(scores + i, SoftCap(Load(scores + i), t.softcap));
      }
    }
    if (t.mask_replaces) HideKeys(begin, n);
    AddBiasAndMask(begin, n);
    if (!t.mask_replaces) HideKeys(begin, n);
    for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        block_max[v] = Max(Load(scores + j * kWidth + v * kLanes), block_max[v]);
      }
    }
  }

  void AddBlock(int64_t begin, int64_t n, bool first) {
    const float* k = t.k + begin * t.k_row;
    if (t.k_element == 1) {
      Product<kVectors, false, false>(n, k, t.k_row, 1, queries, t.dim, scores, nullptr);
    } else {
      Product<kVectors, true, false>(n, k, 1, t.k_element, queries, t.dim, scores, nullptr);
    }
    V new_max[kVectors], base[kVectors], factor[kVectors], block_sum[kVectors];
    for (int v = 0; v < kVectors; ++v) new_max[v] = max[v];
    FinishScores(begin, n, new_max);
    for (int v = 0; v < kVectors; ++v) {
      // While every score is -inf, exp(-inf - 0) gives the weights 0.
      base[v] = Select(Equal(new_max[v], Set(kMinusInfinity)), Zero(), new_max[v]);
      factor[v] = Exp(Sub(max[v], base[v]));
      block_sum[v] = Zero();
      max[v] = new_max[v];
    }
    for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float* at = scores + j * kWidth + v * kLanes;
        const V e = Exp(Sub(Load(at), base[v]));
        Store(at, e);
        block_sum[v] = Add(block_sum[v], e);
      }
    }
    for (int v = 0; v < kVectors; ++v) sum[v] = MulAdd(sum[v], factor[v], block_sum[v]);
    const float* values = t.v + begin * t.v_row;
    if (first) {
      Product<kVectors, true, false>(t.v_dim, values, 1, t.v_row, scores, n, result, nullptr);
    } else {
      Product<kVectors, true, true>(t.v_dim, values, 1, t.v_row, scores, n, result, factor);
    }
  }

  void WriteResult() {
    for (int v = 0; v < kVectors; ++v) {
      const int row = v * kLanes;
      const int64_t rows = RowsOf(v);
      if (rows == 0) break;
      StoreUpTo(t.max + row, max[v], rows);
      StoreUpTo(t.sum + row, sum[v], rows);
      V factor = Set(1.0f);
      if (!t.partial) {
        factor = Div(factor, sum[v]);  // 0 * inf is NaN where every key is hidden
        if (t.nan_guard) factor = Select(Equal(sum[v], Zero()), Zero(), factor);
      }
      for (int64_t d = 0; d < t.v_dim; d += kLanes) {
        const int64_t n = Min64(kLanes, t.v_dim - d);
        V block[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
          block[i] = i < n ? Mul(Load(result + (d + i) * kWidth + row), factor) : Zero();
        }
        Transpose(block);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          if (r < rows) StoreUpTo(t.out[row + r] + d, block[r], n);
        }
      }
    }
  }

  // Asks for what the first block of keys will read, all at once: the latencies of short rows in
  // many places would add up otherwise.
  void Prefetch() const {
    const auto fetch = [](const float* row, int64_t n) {
      for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(row + i);
    };
    const int64_t end = Min64(t.end, t.begin + kKeyBlock);
    for (int64_t j = t.begin; j < end; ++j) {
      if (t.k_element == 1) fetch(t.k + j * t.k_row, t.dim);
      fetch(t.v + j * t.v_row, t.v_dim);
    }
    if (!ByRowAndKey(t.mask)) return;
    for (int r = 0; r < t.rows; ++r) fetch(t.mask.rows[r] + t.begin, end - t.begin);
  }

  void Run() {
    if (t.fresh) Prefetch();
    PackQueries();
    const int64_t keys = t.end - t.begin, size = keys > 0 ? KeyBlockSize(keys) : 1;
    for (int64_t begin = t.begin; begin < t.end; begin += size) {
      AddBlock(begin, Min64(size, t.end - begin), begin == t.begin);
    }
    if (keys <= 0) memset(result, 0, static_cast<size_t>(t.v_dim * kWidth) * sizeof(float));
    WriteResult();
  }
};

void AttendTile(AttentionTile& tile) {
  if (tile.rows <= kLanes) {
    Tile<1>(tile).Run();
  } else {
    Tile<2>(tile).Run();
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_
