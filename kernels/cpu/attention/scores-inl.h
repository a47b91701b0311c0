// What tiles of any number of rows share: exp, and which keys are hidden. Included after one of the
// vector headers.
#ifndef TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_

#include <string.h>

#include "kernels/cpu/attention/tile.h"

namespace tenon::kernels::cpu {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

// exp(x) for x <= 88, within 1.2e-7 of its value; 0 below -104 at the latest, NaN for NaN.
inline V Exp(V x) {
  x = Max(Set(-110.0f), x);
  const V n = Round(Mul(x, Set(1.44269504088896341f)));
  V r = NegMulAdd(n, Set(0.693145751953125f), x);  // ln 2 in two parts
  r = NegMulAdd(n, Set(1.428606820309417e-6f), r);
  V p = MulAdd(Set(1.9875691500e-4f), r, Set(1.3981999507e-3f));
  p = MulAdd(p, r, Set(8.3334519073e-3f));
  p = MulAdd(p, r, Set(4.1665795894e-2f));
  p = MulAdd(p, r, Set(1.6666665459e-1f));
  p = MulAdd(p, r, Set(5.0000001201e-1f));
  p = MulAdd(p, Mul(r, r), r);
  return Scale2(Add(p, Set(1.0f)), n);
}

// cap * tanh(x / cap). NaN stays.
inline V SoftCap(V x, float cap) {
  const V doubled = Min(Set(40.0f), Max(Set(-40.0f), Mul(x, Set(2 / cap))));
  const V e = Exp(doubled);
  return Sub(Set(cap), Div(Set(2 * cap), Add(e, Set(1.0f))));
}

// Scores that are hidden get `mask_value` more, or are it if it is -inf or `replaces`.
inline V Hide(V score, M hidden, float mask_value, bool replaces) {
  const bool instead = replaces || mask_value == kMinusInfinity;
  const V value = instead ? Set(mask_value) : Add(score, Set(mask_value));
  return Select(hidden, value, score);
}

inline int64_t Min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Clamp64(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// kLanes of the n values that are left at p.
inline V LoadUpTo(const float* p, int64_t n) { return n >= kLanes ? Load(p) : LoadPart(p, n); }
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

// Blocks of keys of about equal size, so that none is much smaller than the others.
inline int64_t KeyBlockSize(int64_t keys) {
  const int64_t blocks = (keys + kKeyBlock - 1) / kKeyBlock;
  const int64_t even = (keys + blocks - 1) / blocks;
  return (even + kLanes - 1) / kLanes * kLanes;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_SCORES_INL_H_
