// The activations on vectors, over a struct V of vector operations (see tile-inl.h), within a few
// units in the last place of the true values. The formulas are those of vector_math-inl.h.
#ifndef TENON_KERNELS_CPU_GEMM_ACTIVATION_INL_H_
#define TENON_KERNELS_CPU_GEMM_ACTIVATION_INL_H_

#include "kernels/activation.h"
#include "kernels/cpu/gemm/unroll-inl.h"

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

// 2^(i / 16).
alignas(64) constexpr float kRootsOfTwo[16] = {
    1.0f,       1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
    1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f, 1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};

// 2 to the nearest 16th from a table, times a polynomial of the rest: three quarters of the
// instructions.
template <class T>
inline Reg ExpOfTable(Reg x) {
  constexpr float kP[] = {0.055505738f, 0.24023433f, 0.6931472f};  // 2^r - 1 = r P(r)
  x = Clamped(x, -104.0f, 89.5f);
  // The sum has the 16ths of the exponent in its lowest bits.
  const Reg shift = V::Set(786432.0f), log2e = V::Set(1.44269504088896341f);
  const Reg bits = V::Fma(x, log2e, shift), n = bits - shift;
  Reg r = V::Fma(x, log2e, V::Zero() - n);
  r = V::Fma(x, V::Set(1.925963033e-8f), r);  // what the constant lacks
  const Reg root = T::Lookup(kRootsOfTwo, bits);
  return T::ScaleFloor(V::Fma(root * r, Polynomial(r, kP), root), n);
}

// Overflows to infinity, underflows gradually to 0, keeps NaN.
template <class T = V>
inline Reg Exp(Reg x) {
  if constexpr (T::kLookups == 16) {
    return ExpOfTable<T>(x);
  } else {
    constexpr float kP[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                            4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    x = Clamped(x, -104.0f, 89.5f);
    // The sum has the nearest integer, and 254 more, in its lowest bits.
    const Reg shift = V::Set(12583166.0f), bits = V::Fma(x, V::Set(1.44269504088896341f), shift);
    const Reg n = bits - shift;
    Reg r = V::Fma(n, V::Set(-0.693145751953125f), x);  // ln 2 in two parts
    r = V::Fma(n, V::Set(-1.428606820309417e-6f), r);
    return T::ScaleByBits(V::Fma(Polynomial(r, kP), r * r, r) + V::Set(1.0f), bits);
  }
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

// The upper tail of the normal distribution as polynomials: with 16 pieces at 0.4 (i + t), with 8
// at (i + t) / 1.125, |t| <= 1/2. Each row has the coefficients of one power of t, the highest
// first, column i those of piece i. They are within 7e-9 of it; the last piece, from 5.8 on, is 0.
alignas(64) constexpr float kTailOf16[6][16] = {
    {-1.01282385e-4f, -6.44861357e-5f, 1.03158936e-5f, 5.85012058e-5f, 5.46646552e-5f,
     2.31192516e-5f, -2.89352943e-6f, -1.16550027e-5f, -9.42491806e-6f, -4.88603564e-6f,
     -1.87975297e-6f, -5.65755727e-7f, -1.36722306e-7f, -2.69335541e-8f, -4.3672701e-9f, 0},
    {0, -4.42049262e-4f, -5.78964711e-4f, -3.86419328e-4f, -8.48126583e-5f, 1.13115719e-4f,
     1.57149887e-4f, 1.14326525e-4f, 5.91988428e-5f, 2.36534397e-5f, 7.55015935e-6f, 1.96134988e-6f,
     4.19358827e-7f, 7.43500763e-8f, 1.0987721e-8f, 0},
    {4.2552785e-3f, 3.29964724e-3f, 1.11245597e-3f, -9.11305484e-4f, -1.84568588e-3f,
     -1.7277213e-3f, -1.13706966e-3f, -5.7752576e-4f, -2.34978041e-4f, -7.80599439e-5f,
     -2.14105548e-5f, -4.88362593e-6f, -9.30899716e-7f, -1.48811637e-7f, -2.00022665e-8f, 0},
    {0, 1.17842518e-2f, 1.85398441e-2f, 1.86417364e-2f, 1.41980089e-2f, 8.63874797e-3f,
     4.29985113e-3f, 1.77307019e-3f, 6.10300223e-4f, 1.76204296e-4f, 4.28137537e-5f, 8.77541152e-6f,
     1.51992492e-6f, 2.22749364e-7f, 2.76496799e-8f, 0},
    {-1.59576908e-1f, -1.47308052e-1f, -1.15876622e-1f, -7.76744261e-2f, -4.43683341e-2f,
     -2.1596387e-2f, -8.95781163e-3f, -3.1661801e-3f, -9.53635201e-4f, -2.44760857e-4f,
     -5.35321633e-5f, -9.97702318e-6f, -1.58453133e-6f, -2.14444427e-7f, -2.47310936e-8f, 0},
    {0.5f, 3.44578266e-1f, 2.11855412e-1f, 1.15069672e-1f, 5.47992885e-2f, 2.27501299e-2f,
     8.19753483e-3f, 2.55513028e-3f, 6.87138294e-4f, 1.59108909e-4f, 3.16714068e-5f, 5.41260442e-6f,
     7.93345009e-7f, 9.96480196e-8f, 1.07182654e-8f, 0}};
alignas(32) constexpr float kTailOf8[8][8] = {
    {0.0004491114f, -0.00025952002f, -6.7445006e-5f, 9.184864e-5f, -1.0134785e-5f, -4.9606956e-6f,
     -3.0233153e-7f, 0},
    {6.468912e-5f, 0.0012245115f, -0.00062828313f, -0.00012400573f, 8.311329e-5f, 1.3606709e-5f,
     5.867498e-7f, 0},
    {-0.005559149f, 0.0013853753f, 0.0022701612f, -0.0005742915f, -0.0002886481f, -2.6013171e-5f,
     -7.844953e-7f, 0},
    {4.5295474e-6f, -0.013725782f, 0.0006044845f, 0.0032511426f, 0.0006399548f, 3.958779e-5f,
     9.2772586e-7f, 0},
    {0.04669793f, 0.006602356f, -0.020776019f, -0.008151993f, -0.0009775853f, -4.4983473e-5f,
     -8.535129e-7f, 0},
    {1.2314628e-8f, 0.09437305f, 0.057698157f, 0.0120055815f, 0.0010076447f, 3.598533e-5f,
     5.6018064e-7f, 0},
    {-0.35461536f, -0.23888254f, -0.0730239f, -0.010129766f, -0.0006376576f, -1.8215e-5f,
     -2.3611439e-7f, 0},
    {0.5f, 0.1870314f, 0.037720177f, 0.003830381f, 0.00018859071f, 4.4059243e-6f, 4.8209134e-8f,
     0}};

template <class T, int kRows, int kPieces>
inline Reg TailOfPieces(const float (&rows)[kRows][kPieces], Reg pieces, Reg t) {
  Reg p = T::Lookup(rows[0], pieces);
  TENON_UNROLL
  for (int d = 1; d < kRows; ++d) p = V::Fma(p, t, T::Lookup(rows[d], pieces));
  return p;
}

// x times the distribution, from tables: half the time of a division and the rest.
template <class T>
inline Reg GeluOfTables(Reg x) {
  const Reg size = V::MinKeepingNan(T::Abs(x), V::Set(6.0f));
  const Reg pieces_a_unit = V::Set(T::kLookups == 16 ? 2.5f : 1.125f);
  // The sum has the nearest integer in its lowest bits.
  const Reg shift = V::Set(12582912.0f), bits = V::Fma(size, pieces_a_unit, shift);
  const Reg t = V::Fma(size, pieces_a_unit, shift - bits);
  Reg tail;
  if constexpr (T::kLookups == 16) {
    tail = TailOfPieces<T>(kTailOf16, bits, t);
  } else {
    tail = TailOfPieces<T>(kTailOf8, bits, t);
  }
  // The tail is 0 there: of -inf it makes NaN, as in the other kernels.
  return V::MaxKeepingNan(x, V::Zero()) - V::MaxKeepingNan(size, V::Zero() - x) * tail;
}

template <ActivationKind kKind>
inline Reg Activated(Reg x, Reg alpha, Reg beta) {
  using Kind = ActivationKind;
  if constexpr (kKind == Kind::kRelu) return V::MaxKeepingNan(x, V::Zero());
  if constexpr (kKind == Kind::kGelu && V::kLookups > 0) {
    return GeluOfTables<V>(x);
  } else if constexpr (kKind == Kind::kGelu) {
    const Reg half = x * V::Set(0.5f);
    return V::Fma(half, Erf(x * V::Set(0.70710678118654752f)), half);
  }
  if constexpr (kKind == Kind::kGeluTanh) {
    const Reg cubed = x * x * (x * V::Set(0.044715f)), half = x * V::Set(0.5f);
    return V::Fma(half, Tanh((x + cubed) * V::Set(0.79788456080286536f)), half);
  }
  if constexpr (kKind == Kind::kGeluSigmoid) return x * Sigmoid(x * V::Set(1.702f));
  if constexpr (kKind == Kind::kSilu) return x / (V::Set(1.0f) + Exp(V::Zero() - x));
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
