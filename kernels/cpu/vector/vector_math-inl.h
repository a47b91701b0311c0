// exp, log, erf, tanh, sine and cosine on Highway vectors of floats, within a few units in the last
// place of the true values. Included once per instruction set, see Highway's foreach_target.h.
#if defined(TENON_KERNELS_CPU_VECTOR_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_VECTOR_VECTOR_MATH_INL_H_
#undef TENON_KERNELS_CPU_VECTOR_VECTOR_MATH_INL_H_
#else
#define TENON_KERNELS_CPU_VECTOR_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

inline V Const(float c) { return hn::Set(D(), c); }

// Highway's Min and Max differ between targets when an operand is NaN: x86 gives the second.
#define TENON_MIN_MAX_GIVE_SECOND \
  (HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR)

// max(bound, x) and min(bound, x) that keep a NaN in x.
inline V AtLeast(V bound, V x) {
#if TENON_MIN_MAX_GIVE_SECOND
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
inline V AtMost(V bound, V x) {
#if TENON_MIN_MAX_GIVE_SECOND
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#endif
}

inline V ClampKeepingNan(V x, float low, float high) {
  return AtMost(Const(high), AtLeast(Const(low), x));
}

// The integer n nearest to x / ln 2, in [-151, 130], in a form that suits Scale2; Rounded is n, and
// Scale2 is p * 2^n for p of about 1.
#if HWY_TARGET == HWY_AVX3
inline V NearestPower(V x) { return hn::Round(hn::Mul(x, Const(1.44269504088896341f))); }
inline V Rounded(V power) { return power; }
inline V Scale2(V p, V power) { return V{_mm512_scalef_ps(p.raw, power.raw)}; }
#else
// A sum with n + 254 in its lowest bits.
constexpr float kPowerShift = 12582912.0f + 254;
inline V NearestPower(V x) {
  return hn::MulAdd(x, Const(1.44269504088896341f), Const(kPowerShift));
}
inline V Rounded(V power) { return hn::Sub(power, Const(kPowerShift)); }
inline V Scale2(V p, V power) {
  // Two factors, because 2^n itself may not be representable.
  const hn::RebindToSigned<D> di;
  const auto sum = hn::BitCast(di, power), half = hn::ShiftRight<1>(sum);
  const auto factor = [](auto exponent) { return hn::BitCast(D(), hn::ShiftLeft<23>(exponent)); };
  return hn::Mul(hn::Mul(p, factor(half)), factor(hn::Sub(sum, half)));
}
#endif

// e^x = 2^n * (1 + fraction), with n as in NearestPower.
struct ReducedExp {
  V power, fraction;
};
inline ReducedExp ReduceExp(V clamped) {
  const V power = NearestPower(clamped), n = Rounded(power);
  V r = hn::NegMulAdd(n, Const(0.693145751953125f), clamped);  // ln 2 in two parts
  r = hn::NegMulAdd(n, Const(1.428606820309417e-6f), r);
  // Minimax polynomial of e^r on [-ln2/2, ln2/2].
  V p = Const(1.9875691500e-4f);
  p = hn::MulAdd(p, r, Const(1.3981999507e-3f));
  p = hn::MulAdd(p, r, Const(8.3334519073e-3f));
  p = hn::MulAdd(p, r, Const(4.1665795894e-2f));
  p = hn::MulAdd(p, r, Const(1.6666665459e-1f));
  p = hn::MulAdd(p, r, Const(5.0000001201e-1f));
  return {power, hn::MulAdd(p, hn::Mul(r, r), r)};
}

// Overflows to infinity, underflows gradually to 0, keeps NaN.
inline V Exp(V x) {
  const ReducedExp e = ReduceExp(ClampKeepingNan(x, -104.0f, 89.5f));
  return Scale2(hn::Add(e.fraction, Const(1.0f)), e.power);  // the fraction is NaN where x is
}

// e^x - 1, of small x too to the last digits. Below -30 it is -1 to every digit.
inline V ExpMinusOne(V x) {
  const ReducedExp e = ReduceExp(ClampKeepingNan(x, -30.0f, 89.5f));
  return hn::Add(Scale2(e.fraction, e.power), hn::Sub(Scale2(Const(1.0f), e.power), Const(1.0f)));
}

// An odd rational approximation; erf(4) is 1 to the last bit.
inline V Erf(V x) {
  const V z = ClampKeepingNan(x, -4.0f, 4.0f);
  const V s = hn::Mul(z, z);
  V p = Const(-2.72614225801306e-10f);
  p = hn::MulAdd(p, s, Const(2.77068142495902e-08f));
  p = hn::MulAdd(p, s, Const(-2.10102402082508e-06f));
  p = hn::MulAdd(p, s, Const(-5.69250639462346e-05f));
  p = hn::MulAdd(p, s, Const(-7.34990630326855e-04f));
  p = hn::MulAdd(p, s, Const(-2.95459980854025e-03f));
  p = hn::MulAdd(p, s, Const(-1.60960333262415e-02f));
  V q = Const(-1.45660718464996e-05f);
  q = hn::MulAdd(q, s, Const(-2.13374055278905e-04f));
  q = hn::MulAdd(q, s, Const(-1.68282697438203e-03f));
  q = hn::MulAdd(q, s, Const(-7.37332916720468e-03f));
  q = hn::MulAdd(q, s, Const(-1.42647390514189e-02f));
  return ClampKeepingNan(hn::Div(hn::Mul(z, p), q), -1.0f, 1.0f);
}

// An odd rational approximation; beyond the bound tanh is 1 to the last bit.
inline V Tanh(V x) {
  const V z = ClampKeepingNan(x, -9.0f, 9.0f);
  const V s = hn::Mul(z, z);
  V p = Const(-2.76076847742355e-16f);
  p = hn::MulAdd(p, s, Const(2.00018790482477e-13f));
  p = hn::MulAdd(p, s, Const(-8.60467152213735e-11f));
  p = hn::MulAdd(p, s, Const(5.12229709037114e-08f));
  p = hn::MulAdd(p, s, Const(1.48572235717979e-05f));
  p = hn::MulAdd(p, s, Const(6.37261928875436e-04f));
  p = hn::MulAdd(p, s, Const(4.89352455891786e-03f));
  V q = Const(1.19825839466702e-06f);
  q = hn::MulAdd(q, s, Const(1.18534705686654e-04f));
  q = hn::MulAdd(q, s, Const(2.26843463243900e-03f));
  q = hn::MulAdd(q, s, Const(4.89352518554385e-03f));
  const V y = ClampKeepingNan(hn::Div(hn::Mul(z, p), q), -1.0f, 1.0f);
  // Near 0 the function is its argument.
  return hn::IfThenElse(hn::Lt(hn::Abs(x), Const(4e-4f)), x, y);
}

inline V Sigmoid(V x) { return hn::Div(Const(1.0f), hn::Add(Const(1.0f), Exp(hn::Neg(x)))); }

// -inf for 0, NaN below; subnormals count.
inline V Log(V x) {
  const hn::RebindToSigned<D> di;
  const V infinity = Const(std::numeric_limits<float>::infinity());
  const auto tiny = hn::Lt(x, Const(1.17549435e-38f));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, Const(8388608.0f)), x);
  // x = 2^e * m for m in [sqrt(1/2), sqrt(2)).
  const auto bits = hn::BitCast(di, scaled);
  const auto offset = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  V e = hn::ConvertTo(D(), hn::ShiftRight<23>(offset));
  e = hn::Sub(e, hn::IfThenElse(tiny, Const(23.0f), hn::Zero(D())));
  const auto mantissa = hn::And(offset, hn::Set(di, 0x007fffff));
  const V z = hn::Sub(hn::BitCast(D(), hn::Add(mantissa, hn::Set(di, 0x3f3504f3))), Const(1.0f));
  const V s = hn::Mul(z, z);
  V p = Const(7.0376836292e-2f);
  p = hn::MulAdd(p, z, Const(-1.1514610310e-1f));
  p = hn::MulAdd(p, z, Const(1.1676998740e-1f));
  p = hn::MulAdd(p, z, Const(-1.2420140846e-1f));
  p = hn::MulAdd(p, z, Const(1.4249322787e-1f));
  p = hn::MulAdd(p, z, Const(-1.6668057665e-1f));
  p = hn::MulAdd(p, z, Const(2.0000714765e-1f));
  p = hn::MulAdd(p, z, Const(-2.4999993993e-1f));
  p = hn::MulAdd(p, z, Const(3.3333331174e-1f));
  V y = hn::Mul(hn::Mul(p, s), z);
  y = hn::MulAdd(e, Const(-2.12194440e-4f), y);  // ln 2 in two parts
  y = hn::NegMulAdd(Const(0.5f), s, y);
  y = hn::MulAdd(e, Const(0.693359375f), hn::Add(z, y));
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // infinity and NaN pass
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(D())), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), Const(std::numeric_limits<float>::quiet_NaN()),
                        y);
}

// The sine, or the cosine. The reduction to [-pi/4, pi/4] in three parts is exact enough up to
// 8192; vectors with larger elements go through the library's function.
template <bool kCosine>
inline V Sine(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  if (!hn::AllTrue(d, hn::Lt(hn::Abs(x), Const(8192.0f)))) {
    HWY_ALIGN float lane[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(x, d, lane);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      lane[i] = kCosine ? std::cos(lane[i]) : std::sin(lane[i]);
    }
    return hn::Load(d, lane);
  }
  const V q = hn::Round(hn::Mul(x, Const(0.63661977236758134f)));
  V r = hn::NegMulAdd(q, Const(1.5703125f), x);
  r = hn::NegMulAdd(q, Const(4.837512969970703e-4f), r);
  r = hn::NegMulAdd(q, Const(7.549789948768648e-8f), r);
  const V s = hn::Mul(r, r);
  V sine = Const(-1.9515295891e-4f);
  sine = hn::MulAdd(sine, s, Const(8.3321608736e-3f));
  sine = hn::MulAdd(sine, s, Const(-1.6666654611e-1f));
  sine = hn::MulAdd(hn::Mul(sine, s), r, r);
  V cosine = Const(2.443315711809948e-5f);
  cosine = hn::MulAdd(cosine, s, Const(-1.388731625493765e-3f));
  cosine = hn::MulAdd(cosine, s, Const(4.166664568298827e-2f));
  cosine = hn::MulAdd(hn::Mul(cosine, s), s, hn::NegMulAdd(Const(0.5f), s, Const(1.0f)));
  auto quadrant = hn::ConvertTo(di, q);
  if (kCosine) quadrant = hn::Add(quadrant, hn::Set(di, 1));
  const auto odd = hn::TestBit(quadrant, hn::Set(di, 1));
  const V y = hn::IfThenElse(hn::RebindMask(d, odd), cosine, sine);
  // In quadrants 2 and 3 the sign turns.
  const auto sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(di, 2)));
  return hn::Xor(y, hn::BitCast(d, sign));
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
