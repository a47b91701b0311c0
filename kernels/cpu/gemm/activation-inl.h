// The activations on vectors, over a struct V of vector operations (see tile-inl.h), within a few
// units in the last place of the true values. The formulas are those of vector_math-inl.h.
#ifndef TENON_KERNELS_CPU_GEMM_ACTIVATION_INL_H_
#define TENON_KERNELS_CPU_GEMM_ACTIVATION_INL_H_

#include "kernels/activation.h"

namespace tenon::kernels::cpu {
namespace {

using Reg = V::Reg;

inline Reg Clamped(Reg x, float low, float high) {
  return V::MinKeepingNan(V::MaxKeepingNan(x, V::Set(low)), V::Set(high));
}

template <int n>
inline Reg Polynomial(Reg s, const float (&coefficients)[n]) {
  Reg p = V::Set(coefficients[0]);
  for (int i = 1; i < n; ++i) p = V::Fma(p, s, V::Set(coefficients[i]));
  return p;
}

// Overflows to infinity, underflows gradually to 0, keeps NaN.
inline Reg Exp(Reg x) {
  constexpr float kP[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                          4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  x = Clamped(x, -104.0f, 89.5f);
  const Reg n = V::Round(x * V::Set(1.44269504088896341f));
  Reg r = V::Fma(n, V::Set(-0.693145751953125f), x);  // ln 2 in two parts
  r = V::Fma(n, V::Set(-1.428606820309417e-6f), r);
  return V::Scale(V::Fma(Polynomial(r, kP), r * r, r) + V::Set(1.0f), n);
}

// An odd rational approximation; erf(4) is 1 to the last bit.
inline Reg Erf(Reg x) {
  constexpr float kP[] = {-2.72614225801306e-10f, 2.77068142495902e-08f,  -2.10102402082508e-06f,
                          -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                          -1.60960333262415e-02f};
  constexpr float kQ[] = {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                          -7.37332916720468e-03f, -1.42647390514189e-02f};
  const Reg z = Clamped(x, -4.0f, 4.0f), s = z * z;
  return Clamped(z * Polynomial(s, kP) / Polynomial(s, kQ), -1.0f, 1.0f);
}

// An odd rational approximation; beyond the bound tanh is 1 to the last bit.
inline Reg Tanh(Reg x) {
  constexpr float kP[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                          5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                          4.89352455891786e-03f};
  constexpr float kQ[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                          4.89352518554385e-03f};
  const Reg z = Clamped(x, -9.0f, 9.0f), s = z * z;
  const Reg y = Clamped(z * Polynomial(s, kP) / Polynomial(s, kQ), -1.0f, 1.0f);
  // Near 0 the function is its argument.
  return V::IfLess(s, V::Set(16e-8f), x, y);
}

inline Reg Sigmoid(Reg x) { return V::Set(1.0f) / (V::Set(1.0f) + Exp(V::Zero() - x)); }

template <ActivationKind kKind>
inline Reg Activated(Reg x, Reg alpha, Reg beta) {
  using Kind = ActivationKind;
  if constexpr (kKind == Kind::kRelu) return V::MaxKeepingNan(x, V::Zero());
  if constexpr (kKind == Kind::kGelu) {
    const Reg half = x * V::Set(0.5f);
    return V::Fma(half, Erf(x * V::Set(0.70710678118654752f)), half);
  }
  if constexpr (kKind == Kind::kGeluTanh) {
    const Reg cubed = x * x * (x * V::Set(0.044715f)), half = x * V::Set(0.5f);
    return V::Fma(half, Tanh((x + cubed) * V::Set(0.79788456080286536f)), half);
  }
  if constexpr (kKind == Kind::kGeluSigmoid) return x * Sigmoid(x * V::Set(1.702f));
  if constexpr (kKind == Kind::kSilu) return x * Sigmoid(x);
  if constexpr (kKind == Kind::kSigmoid) return Sigmoid(x);
  if constexpr (kKind == Kind::kTanh) return Tanh(x);
  if constexpr (kKind == Kind::kClip) {
    return V::MinKeepingNan(V::MaxKeepingNan(x, alpha), beta);
  }
  if constexpr (kKind == Kind::kLeakyRelu) return V::IfLess(x, V::Zero(), x * alpha, x);
  if constexpr (kKind == Kind::kHardSigmoid) return Clamped(V::Fma(x, alpha, beta), 0.0f, 1.0f);
  if constexpr (kKind == Kind::kHardSwish) {
    return x * Clamped(V::Fma(x, V::Set(1.0f / 6), V::Set(0.5f)), 0.0f, 1.0f);
  }
  if constexpr (kKind == Kind::kMish) {
    // tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2); beyond 20 it is 1 to every digit.
    const Reg e = Exp(V::MinKeepingNan(x, V::Set(20.0f))), n = e * (e + V::Set(2.0f));
    return x * (n / (n + V::Set(2.0f)));
  }
  return x;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_ACTIVATION_INL_H_
