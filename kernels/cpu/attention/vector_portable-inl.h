// Vectors of 4 floats in the compiler's own vector types, see vector_avx512-inl.h.
#ifndef TENON_KERNELS_CPU_ATTENTION_VECTOR_PORTABLE_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_VECTOR_PORTABLE_INL_H_

#include <stdint.h>
#include <string.h>

namespace tenon::kernels::cpu {
namespace {

constexpr int kLanes = 4;
constexpr int kStripRows = 6;

typedef float V __attribute__((vector_size(16)));
typedef int32_t M __attribute__((vector_size(16)));  // all bits of a lane alike

inline V Set(float x) { return V{x, x, x, x}; }
inline V Zero() { return Set(0); }
inline V Load(const float* p) {
  V x;
  memcpy(&x, p, sizeof(x));
  return x;
}
inline void Store(float* p, V x) { memcpy(p, &x, sizeof(x)); }
inline M FirstLanes(int64_t n) {
  const auto count = static_cast<int32_t>(n);
  return M{0, 1, 2, 3} < M{count, count, count, count};
}
inline V LoadPart(const float* p, int64_t n) {
  V x = Zero();
  for (int64_t i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
inline void StorePart(float* p, V x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = x[i];
}
inline V LoadBytes(const uint8_t* p) {
  return V{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
           static_cast<float>(p[3])};
}

inline V Add(V a, V b) { return a + b; }
inline V Sub(V a, V b) { return a - b; }
inline V Mul(V a, V b) { return a * b; }
inline V Div(V a, V b) { return a / b; }
inline V MulAdd(V a, V b, V c) { return a * b + c; }
inline V NegMulAdd(V a, V b, V c) { return c - a * b; }

inline M Less(V a, V b) { return a < b; }
inline M Equal(V a, V b) { return a == b; }
inline M Or(M a, M b) { return a | b; }
inline M None() { return M{0, 0, 0, 0}; }
inline M All() { return ~None(); }
inline V Select(M m, V yes, V no) { return m ? yes : no; }
inline V Max(V a, V b) { return Select(b < a, a, b); }
inline V Min(V a, V b) { return Select(a < b, a, b); }

// A sum with n + 127, the exponent of 2^n, in its lowest bits; that of -127 is 0.
constexpr float kLeastPower = -127, kPowerShift = 12582912.0f + 127;
inline V RoundForPower(V t) { return t + Set(kPowerShift); }
inline V Rounded(V power) { return power - Set(kPowerShift); }
inline V Scale2(V p, V power) {
  using Bits = uint32_t __attribute__((vector_size(16)));
  return p * reinterpret_cast<V>(reinterpret_cast<Bits>(power) << 23);
}

inline void TransposeRegisters(V (&v)[kLanes]) {
  for (int i = 0; i < kLanes; ++i) {
    for (int j = 0; j < i; ++j) {
      const float x = v[i][j];
      v[i][j] = v[j][i];
      v[j][i] = x;
    }
  }
}

template <V (*op)(V, V)>
inline V Across(const V (&v)[kLanes]) {
  V t[kLanes];
  memcpy(t, v, sizeof(t));
  TransposeRegisters(t);
  return op(op(t[0], t[1]), op(t[2], t[3]));
}
inline V SumsOf(const V (&v)[kLanes]) { return Across<Add>(v); }
inline V MaximaOf(const V (&v)[kLanes]) { return Across<Max>(v); }

inline float SumOfLanes(V x) { return (x[0] + x[1]) + (x[2] + x[3]); }

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_VECTOR_PORTABLE_INL_H_
