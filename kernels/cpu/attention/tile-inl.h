// Attention of a tile with more than a few rows. A block of keys is transposed into panels of two
// vectors; then strip after strip of the rows multiplies with all of it and adds to its results.
// Scores lie as bias and masks do, row by row, and exist for one strip and one block only.
#ifndef TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_

#include "kernels/cpu/attention/product-inl.h"
#include "kernels/cpu/attention/scores-inl.h"

namespace tenon::kernels::cpu {
namespace {

inline int64_t WholeVectors(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Rows a multiple of 4 KiB apart fall into the same set of the first-level cache. A second level
// that is fast enough makes up for a few ways that are missing.
inline bool FallTogether(const AttentionTile& t, int64_t row) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  return row % kPage == 0 && 2 * Min64(t.rows, kStripRows) > 3 * t.cache_ways;
}

struct Tile {
  AttentionTile& t;
  const int64_t v_padded;  // elements of a row of results
  float* const keys;       // panels of dim x kPanel
  float* const scores;     // kStripRows x kKeyBlock
  float* const queries;    // kStripRows x dim
  float* const values;     // kKeyBlock x v_padded
  float* const result;     // rows x v_padded
  const V indices;
  const bool rows_in_place, values_in_place;
  bool add_terms;                    // to scores as they are stored?
  bool unusual;                      // are scores changed further, but for what positions hide?
  bool started[kMaxQueryRows] = {};  // by strip: has it results?
  FetchQueue ahead;                  // what the next tile reads

  explicit Tile(AttentionTile& tile)
      : t(tile),
        v_padded(WholeVectors(tile.v_dim)),
        keys(tile.scratch),
        scores(keys + kKeyBlock * tile.dim),
        queries(scores + kStripRows * kKeyBlock),
        values(queries + kStripRows * tile.dim),
        result(values + kKeyBlock * v_padded),
        indices(Indices()),
        rows_in_place((tile.group == 1 || tile.q.position == tile.group * tile.q.head) &&
                      !FallTogether(tile, tile.group == 1 ? tile.q.position : tile.q.head)),
        values_in_place(tile.v_dim % kLanes == 0) {
    const bool hides = t.keep.rows.base != nullptr || t.key_keep != nullptr || t.by_position;
    const bool any = t.bias.rows.base != nullptr || t.mask.rows.base != nullptr;
    add_terms = any && (t.bias.rows.base == nullptr || t.bias.step != 0) &&
                (t.mask.rows.base == nullptr || t.mask.step != 0) && t.softcap == 0 &&
                !(t.mask_replaces && !t.mask_last && hides);
    unusual = t.softcap > 0 || t.keep.rows.base != nullptr || t.key_keep != nullptr ||
              (any && !add_terms);
  }

  // Rows [first, first + count) of the tile, and what is known of each.
  struct Strip {
    int64_t index, first, count;
    RowWalk begin, last;  // the first and the last row
    const float* bias[kStripRows];
    const float* mask[kStripRows];
    bool has_bias = false, has_mask = false;
    Strip(const AttentionTile& t, int64_t index, int64_t first, int64_t count)
        : index(index), first(first), count(count), begin(t, first), last(t, first + count - 1) {}
  };

  // Keys behind the last whole vector, if they are so few that sums along their elements take less
  // time than a vector that is nearly empty.
  int64_t FewLeft(int64_t n) const {
    const int64_t left = n % kLanes;
    const bool few = n > kLanes && left <= kLanes / 8 && kStripRows <= kLanes;
    return few && t.k_element == 1 ? left : 0;
  }

  // n keys from `begin` on, element by element and scaled. Beyond the last one: that one again, or
  // zeros.
  void PackKeys(int64_t begin, int64_t n) {
    const V scale = Set(t.scale);
    n -= FewLeft(n);
    for (int64_t j = 0; j < n; j += kLanes) {
      float* to = keys + j / kPanel * kPanel * t.dim + j % kPanel;
      if (t.k_element != 1) {
        const float* k = t.k + begin + j;
        for (int64_t d = 0; d < t.dim; ++d, k += t.k_element, to += kPanel) {
          Store(to, Mul(LoadUpTo(k, n - j), scale));
        }
        continue;
      }
      const float* rows[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) rows[i] = t.k + (begin + Min64(j + i, n - 1)) * t.k_row;
      int64_t d = 0;
      V block[kLanes];
      for (; d + kLanes <= t.dim; d += kLanes, to += kLanes * kPanel) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) block[i] = Mul(Load(rows[i] + d), scale);
        TransposeRegisters(block);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) Store(to + i * kPanel, block[i]);
      }
      if (d == t.dim) continue;
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) block[i] = Mul(LoadPart(rows[i] + d, t.dim - d), scale);
      TransposeRegisters(block);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if (d + i < t.dim) Store(to + i * kPanel, block[i]);
      }
    }
  }

  // Copies values, for rows that are no whole vectors.
  void PackValues(int64_t begin, int64_t n) {
    const float* v = t.v + begin * t.v_row;
    float* to = values;
    for (int64_t j = 0; j < n; ++j, v += t.v_row, to += v_padded) {
      for (int64_t d = 0; d < t.v_dim; d += kLanes) Store(to + d, LoadUpTo(v + d, t.v_dim - d));
    }
  }

  // The queries of a strip, dim from row to row.
  void PackQueries(const Strip& strip) {
    RowWalk at = strip.begin;
    float* to = queries;
    for (int64_t r = 0; r < strip.count; ++r, at.Next(), to += t.dim) {
      const float* q = t.q.At(at.i, at.g);
      for (int64_t d = 0; d < t.dim; d += kLanes) {
        StoreUpTo(to + d, LoadUpTo(q + d, t.dim - d), t.dim - d);
      }
    }
  }

  // Rows of bias and mask.
  void SetTerms(Strip& strip) const {
    const ScoreTerm<float>*bias = &t.bias, *mask = &t.mask;
    if (bias->rows.base == nullptr) bias = mask, mask = nullptr;
    strip.has_bias = true;
    strip.has_mask = mask != nullptr && mask->rows.base != nullptr;
    RowWalk at = strip.begin;
    for (int64_t r = 0; r < strip.count; ++r, at.Next()) {
      strip.bias[r] = bias->rows.At(at.i, at.g);
      if (strip.has_mask) strip.mask[r] = mask->rows.At(at.i, at.g);
    }
  }

  // Scores [from, n) of a strip with the block of keys at `begin`. max: by row, a vector of the
  // largest.
  void Scores(Strip& strip, int64_t begin, int64_t from, int64_t n, float* max) {
    ProductArgs x;
    x.max = max;
    if (rows_in_place) {
      x.a = t.q.At(strip.begin.i, strip.begin.g);
      x.a_row = t.group == 1 ? t.q.position : t.q.head;
    } else {
      PackQueries(strip);
      x.a = queries;
      x.a_row = t.dim;
    }
    if (add_terms) {
      if (!strip.has_bias) SetTerms(strip);
      x.bias = strip.bias;
      if (strip.has_mask) x.mask = strip.mask;
    }
    x.b_row = kPanel;
    x.depth = t.dim;
    x.c_row = kKeyBlock;
    const int64_t left = FewLeft(n);
    for (int64_t j = from; j < n - left; j += kPanel) {
      x.b = keys + j * t.dim;
      x.c = scores + j;
      x.column = begin + j;
      x.columns = n - left - j;
      x.first = j == from;
      x.fetch = ahead.Take(t.dim);
      MultiplyPanel(strip.count, x);
    }
    if (left > 0) ScoresOfFew(strip, x, begin, n - left, left, n - left <= from);
  }

  // Scores of keys [at, at + left) of the block at `begin`; the vector is filled up with -inf.
  void ScoresOfFew(const Strip& strip, const ProductArgs& x, int64_t begin, int64_t at,
                   int64_t left, bool first) {
    alignas(64) float sums[kLanes / 8 + 1][kLanes];  // by key and row
    for (int64_t j = 0; j < left; ++j) {
      const float* const key = t.k + (begin + at + j) * t.k_row;
      // Rows beyond the last one: that one again.
      const float* rows[kLanes];
      V dots[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        rows[r] = x.a + Min64(r, strip.count - 1) * x.a_row;
        dots[r] = Zero();
      }
      for (int64_t d = 0; d < t.dim; d += kLanes) {
        const V elements = LoadUpTo(key + d, t.dim - d);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          dots[r] = MulAdd(elements, LoadUpTo(rows[r] + d, t.dim - d), dots[r]);
        }
      }
      Store(sums[j], Mul(SumsOf(dots), Set(t.scale)));
    }
    for (int64_t r = 0; r < strip.count; ++r) {
      V row = Set(kMinusInfinity);
      for (int64_t j = left - 1; j >= 0; --j) {
        float score = sums[j][r];
        if (x.bias != nullptr) score += x.bias[r][begin + at + j];
        if (x.mask != nullptr) score += x.mask[r][begin + at + j];
        row = Select(FirstLanes(j + 1), Set(score), row);
      }
      Store(scores + r * kKeyBlock + at, row);
      const V max = first ? Set(kMinusInfinity) : Load(x.max + r * kLanes);
      Store(x.max + r * kLanes, Max(row, max));
    }
  }

  // Hides from scores [from, n) of a strip with the block of keys at `begin` what is hidden, and
  // finds the largest scores again.
  void HideKeys(const Strip& strip, int64_t begin, int64_t from, int64_t n, float* max) {
    // Of [plain, end) no row has a score that is hidden.
    int64_t plain = from, end = from;
    if (!unusual) {
      plain = WholeVectors(Clamp64(strip.last.i + t.first_seen - begin, from, n));
      end = Clamp64(strip.begin.i + t.last_seen + 1 - begin, 0, n);
      if (end < n) end = end / kLanes * kLanes;
      if (plain == from && end == n) return;
      if (plain >= end) plain = end = from;
    }
    RowWalk at = strip.begin;
    float* row = scores;
    for (int64_t r = 0; r < strip.count; ++r, at.Next(), row += kKeyBlock) {
      RowTerms terms(t, at);
      if (add_terms) terms.bias = terms.mask = nullptr;
      V largest = Set(kMinusInfinity);
      for (int64_t j = from; j < n; j += kLanes) {
        V x = Load(row + j);
        if (j < plain || j >= end) {
          x = FinishScores(t, terms, indices, begin + j, n - j, x);
          Store(row + j, x);
        }
        largest = Max(x, largest);
      }
      Store(max + r * kLanes, largest);
    }
  }

  // Turns a strip's scores [from, n) into weights. factors: of what its rows have summed up so far.
  void Softmax(const Strip& strip, int64_t from, int64_t n, const float* max, float* factors) {
    float* row = scores;
    for (int64_t group = 0; group < strip.count; group += kLanes) {
      float* const at = t.max + strip.first + group;
      float* const sum_at = t.sum + strip.first + group;
      const int64_t rows = Min64(kLanes, strip.count - group);
      V maxima[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        maxima[i] = Load(max + (group + Min64(i, rows - 1)) * kLanes);
      }
      const V old_max = LoadUpTo(at, rows);
      const V new_max = Max(MaximaOf(maxima), old_max);
      // While every score is -inf, exp(-inf - 0) gives the weights 0.
      const V base = Select(Equal(new_max, Set(kMinusInfinity)), Zero(), new_max);
      const V factor = Exp(Sub(old_max, base));
      alignas(64) float bases[kLanes];
      Store(bases, base);
      Store(factors + group, factor);
      StoreUpTo(at, new_max, rows);
      V sums[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        sums[i] = Zero();
        if (i >= rows) continue;
        const V row_base = Set(bases[i]);
        for (int64_t j = from; j < n; j += kLanes) {
          const V e = Exp(Sub(Load(row + j), row_base));
          Store(row + j, e);
          sums[i] = Add(sums[i], e);
        }
        row += kKeyBlock;
      }
      StoreUpTo(sum_at, MulAdd(LoadUpTo(sum_at, rows), factor, SumsOf(sums)), rows);
    }
  }

  float* OutputOf(int64_t row, const RowWalk& at) const {
    return t.part != nullptr ? t.part + row * t.v_dim : t.out.At(at.i, at.g);
  }

  // What rows of a strip are multiplied with in the end.
  void LastFactors(const Strip& strip, float* factors) const {
    for (int64_t i = 0; i < strip.count; i += kLanes) {
      const int64_t rows = Min64(kLanes, strip.count - i);
      const V sum = LoadUpTo(t.sum + strip.first + i, rows);
      V factor = Div(Set(1.0f), sum);  // 0 * inf is NaN where every key is hidden
      if (t.nan_guard) factor = Select(Equal(sum, Zero()), Zero(), factor);
      Store(factors + i, t.part != nullptr ? Set(1.0f) : factor);
    }
  }

  // Adds weights [from, n) times values to the results; `last`: and writes them.
  void AddValues(const Strip& strip, int64_t begin, int64_t from, int64_t n, const float* factors,
                 bool last) {
    ProductArgs x;
    x.a = scores + from;
    x.a_row = kKeyBlock;
    x.depth = n - from;
    x.c_row = v_padded;
    x.b_row = values_in_place ? t.v_row : v_padded;
    const float* v = values_in_place ? t.v + (begin + from) * t.v_row : values + from * v_padded;
    if (started[strip.index]) x.keep = factors;
    float* outs[kStripRows];
    alignas(64) float scales[kStripRows + kLanes];
    if (last) {
      RowWalk at = strip.begin;
      for (int64_t r = 0; r < strip.count; ++r, at.Next()) outs[r] = OutputOf(strip.first + r, at);
      LastFactors(strip, scales);
      x.out = outs;
      x.scale = scales;
    }
    for (int64_t d = 0; d < t.v_dim; d += kPanel) {
      x.b = v + d;
      x.c = result + strip.first * v_padded + d;
      x.column = d;
      x.columns = t.v_dim - d;
      x.fetch = ahead.Take(x.depth);
      MultiplyPanel(strip.count, x);
    }
    started[strip.index] = true;
  }

  // Has fetched meanwhile what the next tile reads and this one does not.
  void FetchNext() {
    if (t.next == nullptr || t.group != 1) return;
    const AttentionTile& n = *t.next;
    const int64_t count = n.end - n.begin;
    if (n.k != t.k && n.k_element == 1 && count * (n.dim + n.v_dim) <= t.most_fetched) {
      ahead.Add(n.k + n.begin * n.k_row, n.k_row, count, n.dim);
      ahead.Add(n.v + n.begin * n.v_row, n.v_row, count, n.v_dim);
    }
    ahead.Add(n.q.At(n.first, 0), n.q.position, n.rows, n.dim);
    const auto add_term = [&](const ScoreTerm<float>& now, const ScoreTerm<float>& next) {
      if (next.rows.base == nullptr || next.step == 0) return;
      const float* const at = next.rows.At(n.first, 0);
      if (at == now.rows.At(t.first, 0)) return;
      ahead.Add(at + n.begin, next.rows.position, n.rows, Min64(count, kKeyBlock));
    };
    add_term(t.bias, n.bias);
    add_term(t.mask, n.mask);
  }

  // Adds the block of n keys at `begin` to what a strip has.
  void AddBlock(Strip& strip, int64_t begin, int64_t n) {
    int64_t from = 0, end = t.end;  // of the keys that the strip sees
    if (t.skip_hidden && t.by_position) {
      end = Min64(end, strip.last.i + t.last_seen + 1);
      n = Clamp64(end - begin, 0, n);
      from = Clamp64(strip.begin.i + t.first_seen - begin, 0, n) / kPanel * kPanel;
      if (from >= n) return;
    }
    alignas(64) float max[kStripRows * kLanes], factors[kStripRows + kLanes];
    Scores(strip, begin, from, n, max);
    if (unusual || t.by_position) HideKeys(strip, begin, from, n, max);
    Softmax(strip, from, n, max, factors);
    AddValues(strip, begin, from, n, factors, begin + n >= end);
  }

  // Writes what rows are that have seen no key.
  void WriteEmpty(const Strip& strip) const {
    alignas(64) float factors[kStripRows + kLanes];
    LastFactors(strip, factors);
    RowWalk at = strip.begin;
    for (int64_t r = 0; r < strip.count; ++r, at.Next()) {
      float* const to = OutputOf(strip.first + r, at);
      for (int64_t d = 0; d < t.v_dim; ++d) to[d] = 0 * factors[r];
    }
  }

  void Run() {
    for (int64_t r = 0; r < t.rows; ++r) t.max[r] = kMinusInfinity, t.sum[r] = 0;
    // Fewer keys at a time where heads are wide: a block is used by all strips.
    const int64_t all = t.end - t.begin;
    const int64_t most = t.dim + t.v_dim <= 256 ? kKeyBlock : kKeyBlock / 2;
    const int64_t size = all > 0 ? KeyBlockSize(all, most) : 1;
    const int64_t strips = (t.rows + kStripRows - 1) / kStripRows;
    for (int64_t begin = t.begin; begin < t.end; begin += size) {
      const int64_t n = Min64(size, t.end - begin);
      PackKeys(begin, n);
      if (!values_in_place) PackValues(begin, n);
      if (begin + size >= t.end) FetchNext();
      for (int64_t s = 0, first = 0; s < strips; ++s) {
        const int64_t count = (t.rows - first) / (strips - s);
        Strip strip(t, s, first, count);
        AddBlock(strip, begin, n);
        first += count;
      }
    }
    ahead.FetchRest();
    for (int64_t s = 0, first = 0; s < strips; ++s) {
      const int64_t count = (t.rows - first) / (strips - s);
      if (!started[s]) WriteEmpty(Strip(t, s, first, count));
      first += count;
    }
  }
};

void AttendTile(AttentionTile& tile) { Tile(tile).Run(); }

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_TILE_INL_H_
