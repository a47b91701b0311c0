// Elementwise loops of VectorOps on Highway vectors: ops of one and two operands, rotations.
// Included once per instruction set.
#if defined(TENON_KERNELS_CPU_VECTOR_VECTOR_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_VECTOR_VECTOR_ELEMENTWISE_INL_H_
#undef TENON_KERNELS_CPU_VECTOR_VECTOR_ELEMENTWISE_INL_H_
#else
#define TENON_KERNELS_CPU_VECTOR_VECTOR_ELEMENTWISE_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_math-inl.h"
#include "kernels/cpu/vector/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

constexpr int64_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// Masked loads and stores that touch no byte beyond the mask.
#define TENON_MASKED_PARTS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

// Loads n < Lanes floats; the other lanes get `fill`.
inline V LoadPart(const float* x, int64_t n, float fill = 0) {
#if TENON_MASKED_PARTS
  const auto mask = hn::FirstN(D(), static_cast<size_t>(n));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, D(), x), Const(fill));
#else
  HWY_ALIGN float part[kMaxLanes];
  hn::Store(Const(fill), D(), part);
  std::memcpy(part, x, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(D(), part);
#endif
}

inline void StorePart(V v, float* y, int64_t n) {
#if TENON_MASKED_PARTS
  hn::BlendedStore(v, hn::FirstN(D(), static_cast<size_t>(n)), D(), y);
#else
  HWY_ALIGN float part[kMaxLanes];
  hn::Store(v, D(), part);
  std::memcpy(y, part, static_cast<size_t>(n) * sizeof(float));
#endif
}

template <UnaryOp kOp>
inline V ApplyOne(V x, V alpha, V beta, V gamma) {
  const V zero = hn::Zero(D());
  const V one = Const(1.0f);
  switch (kOp) {
    case UnaryOp::kAbs:
      return hn::Abs(x);
    case UnaryOp::kNeg:
      return hn::Neg(x);
    case UnaryOp::kSqrt:
      return hn::Sqrt(x);
    case UnaryOp::kReciprocal:
      return hn::Div(one, x);
    case UnaryOp::kCeil:
      return hn::Ceil(x);
    case UnaryOp::kFloor:
      return hn::Floor(x);
    case UnaryOp::kRound:
      return hn::Round(x);
    case UnaryOp::kExp:
      return Exp(x);
    case UnaryOp::kErf:
      return Erf(x);
    case UnaryOp::kTanh:
      return Tanh(x);
    case UnaryOp::kSigmoid:
      return Sigmoid(x);
    case UnaryOp::kSilu:
      return hn::Mul(x, Sigmoid(x));
    case UnaryOp::kRelu:
      return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    case UnaryOp::kGelu: {
      const V half = hn::Mul(x, Const(0.5f));
      return hn::MulAdd(half, Erf(hn::Mul(x, Const(0.70710678118654752f))), half);
    }
    case UnaryOp::kGeluTanh: {
      const V cubed = hn::Mul(hn::Mul(x, x), hn::Mul(x, Const(0.044715f)));
      const V half = hn::Mul(x, Const(0.5f));
      return hn::MulAdd(half, Tanh(hn::Mul(hn::Add(x, cubed), Const(0.79788456080286536f))), half);
    }
    case UnaryOp::kGeluSigmoid:
      return hn::Mul(x, Sigmoid(hn::Mul(x, Const(1.702f))));
    case UnaryOp::kClip:
      x = hn::IfThenElse(hn::Lt(x, alpha), alpha, x);
      return hn::IfThenElse(hn::Gt(x, beta), beta, x);
    case UnaryOp::kLeakyRelu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, alpha), x);
    case UnaryOp::kHardSigmoid:
      return ClampKeepingNan(hn::MulAdd(x, alpha, beta), 0.0f, 1.0f);
    case UnaryOp::kHardSwish:
      return hn::Mul(x, ClampKeepingNan(hn::MulAdd(x, Const(1.0f / 6), Const(0.5f)), 0.0f, 1.0f));
    case UnaryOp::kMish: {
      // tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2); beyond 20 it is 1 to every digit.
      const V e = Exp(hn::Min(x, Const(20.0f))), n = hn::Mul(e, hn::Add(e, Const(2.0f)));
      return hn::Mul(x, hn::Div(n, hn::Add(n, Const(2.0f))));
    }
    case UnaryOp::kSquare:
      return hn::Mul(x, x);
    case UnaryOp::kCube:
      return hn::Mul(hn::Mul(x, x), x);
    case UnaryOp::kAffine:
      return hn::MulAdd(x, alpha, beta);
    case UnaryOp::kLog:
      return Log(x);
    case UnaryOp::kSign: {
      const V positive = hn::IfThenElse(hn::Gt(x, zero), one, x);  // a NaN stays
      return hn::IfThenElse(hn::Lt(x, zero), Const(-1.0f), positive);
    }
    case UnaryOp::kSin:
      return Sine<false>(x);
    case UnaryOp::kCos:
      return Sine<true>(x);
    case UnaryOp::kElu:  // a NaN takes the product
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, ExpMinusOne(hn::Mul(x, gamma))),
                            hn::Mul(beta, x));
    case UnaryOp::kSoftplus: {
      // log(1 + e^x) = max(x, 0) + log(1 + t). Of a small t, 1 + t loses digits that the quotient
      // of t and what is left of it makes up for.
      const V t = Exp(hn::Neg(hn::Abs(x))), sum = hn::Add(one, t);
      const V log = hn::Mul(Log(sum), hn::Div(t, hn::Sub(sum, one)));
      return hn::Add(hn::IfThenElse(hn::Lt(x, zero), zero, x),
                     hn::IfThenElse(hn::Eq(sum, one), t, log));
    }
  }
  return x;
}

template <UnaryOp kOp>
inline void Unary(const float* x, float* y, int64_t n, float alpha, float beta, float gamma) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V va = Const(alpha), vb = Const(beta), vc = Const(gamma);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(ApplyOne<kOp>(hn::LoadU(d, x + i), va, vb, vc), d, y + i);
  }
  if (i < n) StorePart(ApplyOne<kOp>(LoadPart(x + i, n - i), va, vb, vc), y + i, n - i);
}

template <BinaryOp kOp>
inline V CombineTwo(V a, V b) {
  switch (kOp) {
    case BinaryOp::kAdd:
      return hn::Add(a, b);
    case BinaryOp::kSub:
      return hn::Sub(a, b);
    case BinaryOp::kMul:
      return hn::Mul(a, b);
    case BinaryOp::kDiv:
      return hn::Div(a, b);
    // NaN wins: a comparison with it is false (some targets' Ne too, so Eq must test for it).
    case BinaryOp::kMax:
      return hn::IfThenElse(hn::Eq(a, a), hn::IfThenElse(hn::Gt(a, b), a, b), a);
    case BinaryOp::kMin:
      return hn::IfThenElse(hn::Eq(a, a), hn::IfThenElse(hn::Lt(a, b), a, b), a);
  }
  return a;
}

template <BinaryOp kOp, BinaryForm kForm>
inline void Binary(const float* a, const float* b, float* y, int64_t n) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n <= 0) return;
  const V first_a = Const(a[0]), first_b = Const(b[0]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V va = kForm == BinaryForm::kSV ? first_a : hn::LoadU(d, a + i);
    const V vb = kForm == BinaryForm::kVS ? first_b : hn::LoadU(d, b + i);
    hn::StoreU(CombineTwo<kOp>(va, vb), d, y + i);
  }
  if (i < n) {
    const V va = kForm == BinaryForm::kSV ? first_a : LoadPart(a + i, n - i);
    const V vb = kForm == BinaryForm::kVS ? first_b : LoadPart(b + i, n - i, 1);
    StorePart(CombineTwo<kOp>(va, vb), y + i, n - i);
  }
}

// y = x * cos + sign * turned * sin, where turned is x's other half.
inline void RotateHalf(const float* x, const float* turned, const float* cos, const float* sin,
                       float* y, int64_t n, float sign) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vsign = Const(sign);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V angle = hn::Mul(hn::LoadU(d, sin + i), vsign);
    const V own = hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, cos + i));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, turned + i), angle, own), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] * cos[i] + sign * turned[i] * sin[i];
}

inline void Rotate(const float* x, const float* cos, const float* sin, float* y, int64_t n,
                   bool interleaved) {
  if (!interleaved) {
    const int64_t half = n / 2;
    RotateHalf(x, x + half, cos, sin, y, half, -1);
    RotateHalf(x + half, x, cos + half, sin + half, y + half, half, 1);
    return;
  }
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (lanes > 1) {
    for (; i + lanes <= n; i += lanes) {
      const V value = hn::LoadU(d, x + i), angle = hn::LoadU(d, sin + i);
      const V turned = hn::Mul(hn::Reverse2(d, value), hn::OddEven(angle, hn::Neg(angle)));
      hn::StoreU(hn::MulAdd(value, hn::LoadU(d, cos + i), turned), d, y + i);
    }
  }
  for (; i + 1 < n; i += 2) {
    y[i] = x[i] * cos[i] - x[i + 1] * sin[i];
    y[i + 1] = x[i + 1] * cos[i + 1] + x[i] * sin[i + 1];
  }
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
