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

// to[c] = the values of all rows at column first + c, for up to kLanes columns.
template <int kVectors, typename T>
void TransposeColumns(const T* const* rows, int num_rows, int64_t first, int64_t columns,
                      float* to) {
  for (int v = 0; v < kVectors; ++v) {
    V block[kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) {
      const int row = v * kLanes + r;
      block[r] = row < num_rows ? LoadUpTo(rows[row] + first, columns) : Zero();
    }
    Transpose(block);
#pragma GCC unroll 16
    for (int c = 0; c < kLanes; ++c) {
      if (c < columns) Store(to + (c * kVectors + v) * kLanes, block[c]);
    }
  }
}

// A score term by lanes: `at` gives the vector of a key in the block of kLanes keys last moved to.
template <int kVectors, typename T>
struct LaneTerm {
  enum class Kind { kNone, kByKey, kByRow, kFull };

  LaneTerm(const ScoreTerm<T>& term, int rows) : term_(term), rows_(rows) {
    if (term.rows[0] == nullptr) return;
    kind = term.step == 0 ? Kind::kByRow : term.same_rows ? Kind::kByKey : Kind::kFull;
    if (kind != Kind::kByRow) return;
    for (int r = 0; r < kVectors * kLanes; ++r) {
      values_[r] = static_cast<float>(term.rows[r < rows ? r : 0][0]);
    }
  }

  void MoveTo(int64_t key, int64_t keys) {
    key_ = key;
    if (kind == Kind::kFull)
      TransposeColumns<kVectors>(term_.rows, rows_, key, keys < kLanes ? keys : kLanes, values_);
  }

  V At(int64_t c, int v) const {
    if (kind == Kind::kByKey) return Set(static_cast<float>(term_.rows[0][key_ + c]));
    return Load(values_ + ((kind == Kind::kByRow ? 0 : c * kVectors) + v) * kLanes);
  }

  Kind kind = Kind::kNone;

 private:
  const ScoreTerm<T>& term_;
  int rows_;
  int64_t key_ = 0;
  alignas(64) float values_[kLanes * kVectors * kLanes];
};

// One tile whose rows fill kVectors vectors.
template <int kVectors>
struct Tile {
  static constexpr int kWidth = kVectors * kLanes;

  AttentionTile& t;
  LaneTerm<kVectors, float> bias, mask;
  LaneTerm<kVectors, uint8_t> keep;
  float* queries;  // dim x kWidth
  float* scores;   // up to kKeyBlock x kWidth
  float* result;   // v_dim x kWidth
  V max[kVectors], sum[kVectors];

  explicit Tile(AttentionTile& tile)
      : t(tile),
        bias(tile.bias, tile.rows),
        mask(tile.mask, tile.rows),
        keep(tile.keep, tile.rows),
        queries(tile.scratch),
        scores(queries + tile.dim * kWidth),
        result(scores + kKeyBlock * kWidth) {
    for (int v = 0; v < kVectors; ++v) {
      max[v] = Set(kMinusInfinity);
      sum[v] = Zero();
    }
  }

  void PackQueries() {
    const V scale = Set(t.scale);
    for (int64_t d = 0; d < t.dim; d += kLanes) {
      const int64_t n = Min64(kLanes, t.dim - d);
      float* to = queries + d * kWidth;
      TransposeColumns<kVectors>(t.q, t.rows, d, n, to);
      for (int64_t i = 0; i < n * kVectors; ++i) {
        Store(to + i * kLanes, Mul(Load(to + i * kLanes), scale));
      }
    }
  }

  // Does causality or the window hide a key of the block from a row?
  bool HidesByPosition(int64_t begin, int64_t n) const {
    return t.last_key[0] < begin + n - 1 || t.first_key[t.rows - 1] > begin;
  }

  // Everything between the product and the softmax. block_max: in and out.
  void FinishScores(int64_t begin, int64_t n, V (&block_max)[kVectors]) {
    using FloatKind = typename LaneTerm<kVectors, float>::Kind;
    using KeepKind = typename LaneTerm<kVectors, uint8_t>::Kind;
    const bool by_position = HidesByPosition(begin, n);
    const bool hides = by_position || keep.kind != KeepKind::kNone || t.key_keep != nullptr;
    const bool by_rows = hides || t.softcap > 0 || bias.kind > FloatKind::kByKey ||
                         mask.kind > FloatKind::kByKey ||
                         (bias.kind == FloatKind::kByKey && mask.kind == FloatKind::kByKey);
    if (by_rows) return FinishByRows(begin, n, by_position, hides, block_max);
    const float* added = bias.kind == FloatKind::kByKey   ? t.bias.rows[0] + begin
                         : mask.kind == FloatKind::kByKey ? t.mask.rows[0] + begin
                                                          : nullptr;
    for (int64_t j = 0; j < n; ++j) {
      const V term = added != nullptr ? Set(added[j]) : Zero();
      for (int v = 0; v < kVectors; ++v) {
        float* at = scores + j * kWidth + v * kLanes;
        V s = Load(at);
        if (added != nullptr) {
          s = Add(s, term);
          Store(at, s);
        }
        block_max[v] = Max(s, block_max[v]);
      }
    }
  }

  void FinishByRows(int64_t begin, int64_t n, bool by_position, bool hides,
                    V (&block_max)[kVectors]) {
    using FloatKind = typename LaneTerm<kVectors, float>::Kind;
    using KeepKind = typename LaneTerm<kVectors, uint8_t>::Kind;
    alignas(64) float lasts[kWidth], firsts[kWidth];  // visible keys, counted from `begin`
    for (int r = 0; r < kWidth; ++r) {
      const int row = r < t.rows ? r : t.rows - 1;
      lasts[r] = static_cast<float>(Clamp64(t.last_key[row] - begin, -1, n));
      firsts[r] = static_cast<float>(Clamp64(t.first_key[row] - begin, 0, n));
    }
    for (int64_t first = 0; first < n; first += kLanes) {
      const int64_t columns = Min64(kLanes, n - first);
      bias.MoveTo(begin + first, columns);
      mask.MoveTo(begin + first, columns);
      keep.MoveTo(begin + first, columns);
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t key = begin + first + c;
        const bool key_hidden = t.key_keep != nullptr && t.key_keep[key * t.key_keep_step] == 0;
        const V position = Set(static_cast<float>(first + c));
        for (int v = 0; v < kVectors; ++v) {
          float* at = scores + (first + c) * kWidth + v * kLanes;
          V s = Load(at);
          if (t.softcap > 0) s = SoftCap(s, t.softcap);
          if (bias.kind != FloatKind::kNone) s = Add(s, bias.At(c, v));
          if (mask.kind != FloatKind::kNone) s = Add(s, mask.At(c, v));
          if (hides) {
            M hidden = key_hidden ? All() : None();
            if (keep.kind != KeepKind::kNone) hidden = Or(hidden, Equal(keep.At(c, v), Zero()));
            if (by_position) {
              hidden = Or(hidden, Less(Load(lasts + v * kLanes), position));
              hidden = Or(hidden, Less(position, Load(firsts + v * kLanes)));
            }
            s = Hide(s, hidden, t.mask_value);
          }
          Store(at, s);
          block_max[v] = Max(s, block_max[v]);
        }
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
      const int64_t rows = Min64(kLanes, t.rows - row);
      if (rows <= 0) break;
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

  void Run() {
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
