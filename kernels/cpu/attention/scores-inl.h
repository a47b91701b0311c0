// What tiles of any number of rows share: exp, and what happens to scores before the softmax.
// Included after one of the vector headers.
#ifndef TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_

#include <string.h>

#include "kernels/cpu/attention/tile.h"

namespace tenon::kernels::cpu {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

// exp(x) for x <= 88: 2^t for the t that x is rounded to, within 1.6e-7 of its value; 0 below -104
// at the latest, NaN for NaN. Weights of a softmax, exp(score - max), are within 2e-7 of the
// largest.
inline V Exp(V x) {
  const V t = Max(Set(kLeastPower), Mul(x, Set(1.44269504088896341f)));
  const V n = RoundForPower(t);
  const V f = Sub(t, Rounded(n));
  V p = MulAdd(Set(1.3264727338e-3f), f, Set(9.6715127722e-3f));
  p = MulAdd(p, f, Set(5.5507337441e-2f));
  p = MulAdd(p, f, Set(2.4022242083e-1f));
  p = MulAdd(p, f, Set(6.9314697760e-1f));
  p = MulAdd(p, f, Set(1.0f));
  return Scale2(p, n);
}

// cap * tanh(x / cap). NaN stays.
inline V SoftCap(V x, float cap) {
  const V doubled = Min(Set(40.0f), Max(Set(-40.0f), Mul(x, Set(2 / cap))));
  const V e = Exp(doubled);
  return Sub(Set(cap), Div(Set(2 * cap), Add(e, Set(1.0f))));
}

inline int64_t Min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Clamp64(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// kLanes of the n values that are left at p.
// (none where n <= 0)
inline V LoadUpTo(const float* p, int64_t n) {
  return n >= kLanes ? Load(p) : LoadPart(p, n > 0 ? n : 0);
}
inline V LoadUpTo(const uint8_t* p, int64_t n) {
  if (n >= kLanes) return LoadBytes(p);
  uint8_t part[kLanes] = {};
  memcpy(part, p, static_cast<size_t>(n));
  return LoadBytes(part);
}
inline void StoreUpTo(float* p, V x, int64_t n) {
  if (n >= kLanes) {
    Store(p, x);
  } else {
    StorePart(p, x, n);
  }
}

// 0, 1, 2, …
inline V Indices() {
  alignas(64) float indices[kLanes];
  for (int i = 0; i < kLanes; ++i) indices[i] = static_cast<float>(i);
  return Load(indices);
}

// The position and the head in its group of rows that follow each other.
struct RowWalk {
  int64_t group, i, g;
  RowWalk(const AttentionTile& t, int64_t row)
      : group(t.group),
        i(t.group == 1 ? t.first + row : (t.first + row) / t.group),
        g(t.first + row - i * t.group) {}
  void Next() {
    if (++g == group) g = 0, ++i;
  }
};

// What happens to the scores of one row. Pointers are to the value of key 0; null: absent.
struct RowTerms {
  const float* bias;
  const float* mask;
  const uint8_t* keep;
  int64_t first_key, last_key;  // that its position shows
  RowTerms() = default;
  RowTerms(const AttentionTile& t, const RowWalk& at)
      : bias(t.bias.rows.base == nullptr ? nullptr : t.bias.rows.At(at.i, at.g)),
        mask(t.mask.rows.base == nullptr ? nullptr : t.mask.rows.At(at.i, at.g)),
        keep(t.keep.rows.base == nullptr ? nullptr : t.keep.rows.At(at.i, at.g)),
        first_key(t.by_position ? at.i + t.first_seen : t.begin),
        last_key(t.by_position ? at.i + t.last_seen : t.end - 1) {}
};

inline V TermOf(const float* row, int64_t step, int64_t key, int64_t keys) {
  return step == 0 ? Set(*row) : LoadUpTo(row + key, keys);
}
// Lanes that a mask of bytes hides.
inline M Dropped(const uint8_t* row, int64_t step, int64_t key, int64_t keys) {
  return Equal(step == 0 ? Set(*row) : LoadUpTo(row + key, keys), Zero());
}

// Everything between product and softmax for up to kLanes keys of a row; lanes beyond get -inf.
// Scores that are hidden get mask_value more, or are it if it is -inf or replaces them.
inline V FinishScores(const AttentionTile& t, const RowTerms& row, V indices, int64_t key,
                      int64_t keys, V s) {
  if (t.softcap > 0) s = SoftCap(s, t.softcap);
  M hidden = None();
  if (row.keep != nullptr) hidden = Or(hidden, Dropped(row.keep, t.keep.step, key, keys));
  if (t.key_keep != nullptr) hidden = Or(hidden, Dropped(t.key_keep, t.key_keep_step, key, keys));
  if (t.by_position) {
    const int64_t last = Clamp64(row.last_key - key, -1, kLanes);
    const int64_t first = Clamp64(row.first_key - key, 0, kLanes);
    hidden = Or(hidden, Less(Set(static_cast<float>(last)), indices));
    hidden = Or(hidden, Less(indices, Set(static_cast<float>(first))));
  }
  if (t.mask_replaces && !t.mask_last) s = Select(hidden, Set(t.mask_value), s);
  if (row.bias != nullptr) s = Add(s, TermOf(row.bias, t.bias.step, key, keys));
  if (row.mask != nullptr) s = Add(s, TermOf(row.mask, t.mask.step, key, keys));
  if (t.mask_last) {
    s = Select(hidden, Set(t.mask_value), s);
  } else if (!t.mask_replaces) {
    const V value = Set(t.mask_value);
    s = Select(hidden, t.mask_value == kMinusInfinity ? value : Add(s, value), s);
  }
  if (keys >= kLanes) return s;
  return Select(FirstLanes(keys), s, Set(kMinusInfinity));
}

// Blocks of at most `most` keys and of about equal size, so that none is much smaller than others.
inline int64_t KeyBlockSize(int64_t keys, int64_t most) {
  const int64_t blocks = (keys + most - 1) / most;
  const int64_t even = (keys + blocks - 1) / blocks;
  return (even + kLanes - 1) / kLanes * kLanes;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_
