#include "kernels/cpu/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_ops.cc"
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/vector_math-inl.h"
#include "kernels/cpu/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
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

// ---- elementwise --------------------------------------------------------------------------------

template <UnaryOp kOp>
inline V ApplyOne(V x, V alpha, V beta) {
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
  }
  return x;
}

template <UnaryOp kOp>
void Unary(const float* x, float* y, int64_t n, float alpha, float beta) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V va = Const(alpha), vb = Const(beta);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(ApplyOne<kOp>(hn::LoadU(d, x + i), va, vb), d, y + i);
  }
  if (i < n) StorePart(ApplyOne<kOp>(LoadPart(x + i, n - i), va, vb), y + i, n - i);
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
void Binary(const float* a, const float* b, float* y, int64_t n) {
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
void RotateHalf(const float* x, const float* turned, const float* cos, const float* sin, float* y,
                int64_t n, float sign) {
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

void Rotate(const float* x, const float* cos, const float* sin, float* y, int64_t n,
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

// ---- reductions ---------------------------------------------------------------------------------

// Folds f(accumulator, element vector) with four independent accumulators.
template <typename Step, typename Join>
HWY_INLINE V Fold(const float* x, int64_t n, float start, Step step, Join join) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V a0 = Const(start), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = step(a0, hn::LoadU(d, x + i));
    a1 = step(a1, hn::LoadU(d, x + i + lanes));
    a2 = step(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = step(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = step(a0, hn::LoadU(d, x + i));
  if (i < n) a1 = step(a1, LoadPart(x + i, n - i, start));
  return join(join(a0, a1), join(a2, a3));
}

struct AddStep {
  V operator()(V acc, V x) const { return hn::Add(acc, x); }
};
struct SquareStep {
  V operator()(V acc, V x) const { return hn::MulAdd(x, x, acc); }
};
struct MaxStep {
  V operator()(V acc, V x) const { return CombineTwo<BinaryOp::kMax>(acc, x); }
};
struct MinStep {
  V operator()(V acc, V x) const { return CombineTwo<BinaryOp::kMin>(acc, x); }
};

HWY_INLINE float Sum(const float* x, int64_t n) {
  return hn::GetLane(hn::SumOfLanes(D(), Fold(x, n, 0, AddStep(), AddStep())));
}

HWY_INLINE float SumOfSquares(const float* x, int64_t n) {
  return hn::GetLane(hn::SumOfLanes(D(), Fold(x, n, 0, SquareStep(), AddStep())));
}

template <typename Step>
float Extreme(const float* x, int64_t n, float start) {
  HWY_ALIGN float lane[kMaxLanes];
  hn::Store(Fold(x, n, start, Step(), Step()), D(), lane);
  float result = lane[0];
  for (size_t i = 1; i < hn::Lanes(D()); ++i) {
    if (std::isnan(result)) break;
    const bool better = start < 0 ? lane[i] > result : lane[i] < result;
    if (better || std::isnan(lane[i])) result = lane[i];
  }
  return result;
}

float Max(const float* x, int64_t n) { return Extreme<MaxStep>(x, n, -kInfinity); }
float Min(const float* x, int64_t n) { return Extreme<MinStep>(x, n, kInfinity); }

// ---- rows ---------------------------------------------------------------------------------------

// The largest element, or any value at all if there is a NaN.
float MaxWithoutNan(const float* x, int64_t n) {
  const auto larger = [](V acc, V v) { return hn::Max(acc, v); };
  return hn::GetLane(hn::MaxOfLanes(D(), Fold(x, n, -kInfinity, larger, larger)));
}

// y (unless null) = exp(x - max); returns the sum.
template <bool kStore>
float ExpMinus(const float* x, float* y, int64_t n, float max) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vmax = Const(max);
  V sum0 = hn::Zero(d), sum1 = sum0;
  const auto step = [&](int64_t i) {
    const V e = Exp(hn::Sub(hn::LoadU(d, x + i), vmax));
    if constexpr (kStore) hn::StoreU(e, d, y + i);
    return e;
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::Add(sum0, step(i));
    sum1 = hn::Add(sum1, step(i + lanes));
  }
  for (; i + lanes <= n; i += lanes) sum0 = hn::Add(sum0, step(i));
  if (i < n) {
    // Filled with -inf, whose weight is 0.
    const V e = Exp(hn::Sub(LoadPart(x + i, n - i, -kInfinity), vmax));
    if constexpr (kStore) StorePart(e, y + i, n - i);
    sum1 = hn::Add(sum1, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

// A NaN among the scores, or +inf or nothing but -inf, makes the sum NaN, and so every weight.
void Softmax(const float* x, float* y, int64_t n) {
  const float sum = ExpMinus<true>(x, y, n, MaxWithoutNan(x, n));
  Unary<UnaryOp::kAffine>(y, y, n, 1 / sum, 0);
}

void LogSoftmax(const float* x, float* y, int64_t n) {
  const float max = MaxWithoutNan(x, n);
  const float log_sum = std::log(ExpMinus<false>(x, nullptr, n, max));
  const D d;
  const V vmax = Const(max), vlog = Const(log_sum);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), vmax), vlog), d, y + i);
  }
  if (i < n) {
    StorePart(hn::Sub(hn::Sub(LoadPart(x + i, n - i), vmax), vlog), y + i, n - i);
  }
}

// sum = x + skip; returns the total.
HWY_INLINE float AddRows(const float* x, const float* skip, float* sum, int64_t n) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0;
  const auto step = [&](int64_t i) {
    const V s = hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, skip + i));
    hn::StoreU(s, d, sum + i);
    return s;
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::Add(s0, step(i));
    s1 = hn::Add(s1, step(i + lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, step(i));
  if (i < n) {
    const V s = hn::Add(LoadPart(x + i, n - i), LoadPart(skip + i, n - i));
    StorePart(s, sum + i, n - i);
    s1 = hn::Add(s1, s);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

// The sum of (x - mean)^2.
HWY_INLINE float SquaredDistance(const float* x, int64_t n, float mean) {
  const V vmean = Const(mean);
  const auto square = [&](V acc, V v) {
    const V distance = hn::Sub(v, vmean);
    return hn::MulAdd(distance, distance, acc);
  };
  // The accumulators start at 0, the lanes that are missing at the end count as the mean.
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = square(s0, hn::LoadU(d, x + i));
    s1 = square(s1, hn::LoadU(d, x + i + lanes));
    s2 = square(s2, hn::LoadU(d, x + i + 2 * lanes));
    s3 = square(s3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = square(s0, hn::LoadU(d, x + i));
  if (i < n) s1 = square(s1, LoadPart(x + i, n - i, mean));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// out = (x - mean) * inverse [* scale] [+ bias].
template <bool kScale, bool kBias>
HWY_INLINE void ApplyNorm(const float* x, float* out, int64_t n, const float* scale,
                          const float* bias, float mean, float inverse) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vmean = Const(mean), vinverse = Const(inverse);
  const auto one = [&](V v, auto load, int64_t i) {
    v = hn::Mul(hn::Sub(v, vmean), vinverse);
    if constexpr (kScale && kBias) return hn::MulAdd(v, load(scale + i), load(bias + i));
    if constexpr (kScale) v = hn::Mul(v, load(scale + i));
    if constexpr (kBias) v = hn::Add(v, load(bias + i));
    return v;
  };
  const auto load = [&](const float* p) { return hn::LoadU(d, p); };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(one(load(x + i), load, i), d, out + i);
  if (i < n) {
    const auto load_part = [&](const float* p) { return LoadPart(p, n - i); };
    StorePart(one(load_part(x + i), load_part, i), out + i, n - i);
  }
}

HWY_INLINE void Fetch(const float* x, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(x + i);
}

template <bool kMean, bool kScale, bool kBias>
void NormEach(const NormRows& rows) {
  const int64_t n = rows.n;
  const float *scale = rows.scale, *bias = rows.bias;
  const float over_n = 1 / static_cast<float>(n), epsilon = rows.epsilon;
  // A residual comes from far away: fetch its next row while this one's second and third pass leave
  // memory idle. Of shorter rows several are under way anyway, of longer ones the processor fetches
  // enough by itself.
  const bool fetch = rows.skip != nullptr && n >= 128 && n <= 2048;
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.x + r * rows.x_step;
    float* out = rows.out + r * n;
    float total = 0;
    if (rows.skip != nullptr) {
      float* sum = rows.sum != nullptr ? rows.sum + r * n : out;
      total = AddRows(x, rows.skip + r * rows.skip_step, sum, n);
      x = sum;
    } else if (kMean) {
      total = Sum(x, n);
    }
    if (fetch && r + 1 < rows.rows) {
      Fetch(rows.x + (r + 1) * rows.x_step, n);
      Fetch(rows.skip + (r + 1) * rows.skip_step, n);
    }
    const float mean = kMean ? total * over_n : 0;
    const float squares = kMean ? SquaredDistance(x, n, mean) : SumOfSquares(x, n);
    const V root = hn::Sqrt(Const(squares * over_n + epsilon));
    const float inverse = hn::GetLane(hn::Div(Const(1), root));
    ApplyNorm<kScale, kBias>(x, out, n, scale, bias, mean, inverse);
  }
}

void Norm(const NormRows& rows) {
  constexpr decltype(&Norm) kForms[2][2][2] = {
      {{NormEach<false, false, false>, NormEach<false, false, true>},
       {NormEach<false, true, false>, NormEach<false, true, true>}},
      {{NormEach<true, false, false>, NormEach<true, false, true>},
       {NormEach<true, true, false>, NormEach<true, true, true>}}};
  kForms[rows.subtract_mean][rows.scale != nullptr][rows.bias != nullptr](rows);
}

// ---- the table ----------------------------------------------------------------------------------

template <BinaryOp kOp>
void SetBinary(VectorOps& ops) {
  auto& forms = ops.binary[static_cast<int>(kOp)];
  forms[static_cast<int>(BinaryForm::kVV)] = Binary<kOp, BinaryForm::kVV>;
  forms[static_cast<int>(BinaryForm::kVS)] = Binary<kOp, BinaryForm::kVS>;
  forms[static_cast<int>(BinaryForm::kSV)] = Binary<kOp, BinaryForm::kSV>;
}

template <int... kOps>
void SetUnary(VectorOps& ops, std::integer_sequence<int, kOps...>) {
  ((ops.unary[kOps] = Unary<static_cast<UnaryOp>(kOps)>), ...);
}

VectorOps MakeTable() {
  VectorOps ops = {};
  SetUnary(ops, std::make_integer_sequence<int, kNumUnaryOps>());
  SetBinary<BinaryOp::kAdd>(ops);
  SetBinary<BinaryOp::kSub>(ops);
  SetBinary<BinaryOp::kMul>(ops);
  SetBinary<BinaryOp::kDiv>(ops);
  SetBinary<BinaryOp::kMax>(ops);
  SetBinary<BinaryOp::kMin>(ops);
  ops.sum = Sum;
  ops.sum_of_squares = SumOfSquares;
  ops.max = Max;
  ops.min = Min;
  ops.softmax = Softmax;
  ops.log_softmax = LogSoftmax;
  ops.norm = Norm;
  ops.rotate = Rotate;
  return ops;
}

const VectorOps* Table() {
  static const VectorOps table = MakeTable();
  return &table;
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::kernels::cpu {

HWY_EXPORT(Table);

const VectorOps& GetVectorOps() {
  static const VectorOps& ops = []() -> const VectorOps& {
    ActiveIsa();  // limits Highway's targets
    return *HWY_DYNAMIC_DISPATCH(Table)();
  }();
  return ops;
}

}  // namespace tenon::kernels::cpu
#endif  // HWY_ONCE
