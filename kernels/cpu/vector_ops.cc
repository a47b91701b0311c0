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
  for (int64_t i = 0; i + 1 < n; i += 2) {
    y[i] = x[i] * cos[i] - x[i + 1] * sin[i];
    y[i + 1] = x[i + 1] * cos[i + 1] + x[i] * sin[i + 1];
  }
}

// ---- reductions ---------------------------------------------------------------------------------

// Folds f(accumulator, element vector) with four independent accumulators.
template <typename Step, typename Join>
inline V Fold(const float* x, int64_t n, float start, Step step, Join join) {
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

float Sum(const float* x, int64_t n) {
  return hn::GetLane(hn::SumOfLanes(D(), Fold(x, n, 0, AddStep(), AddStep())));
}

float SumOfSquares(const float* x, int64_t n) {
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

// y = exp(x - max); returns the sum.
float ExpMinus(const float* x, float* y, int64_t n, float max) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vmax = Const(max);
  V sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V e = Exp(hn::Sub(hn::LoadU(d, x + i), vmax));
    if (y != nullptr) hn::StoreU(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  if (i < n) {
    HWY_ALIGN float part[kMaxLanes];
    hn::Store(Exp(hn::Sub(LoadPart(x + i, n - i), vmax)), d, part);
    for (int64_t j = 0; j < n - i; ++j) {
      total += part[j];
      if (y != nullptr) y[i + j] = part[j];
    }
  }
  return total;
}

bool Softmax(float* y, int64_t n) {
  const float max = Max(y, n);
  const float sum = ExpMinus(y, y, n, max);
  Unary<UnaryOp::kAffine>(y, y, n, 1 / sum, 0);
  return max != -kInfinity;
}

void LogSoftmax(const float* x, float* y, int64_t n) {
  const float max = Max(x, n);
  const float log_sum = std::log(ExpMinus(x, nullptr, n, max));
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), Const(max)), Const(log_sum)), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] - max - log_sum;
}

// The sum of (x - mean)^2.
float SquaredDistance(const float* x, int64_t n, float mean) {
  const V vmean = Const(mean);
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V d0 = hn::Sub(hn::LoadU(d, x + i), vmean);
    const V d1 = hn::Sub(hn::LoadU(d, x + i + lanes), vmean);
    s0 = hn::MulAdd(d0, d0, s0);
    s1 = hn::MulAdd(d1, d1, s1);
  }
  float total = 0;
  for (; i + lanes <= n; i += lanes) {
    const V d0 = hn::Sub(hn::LoadU(d, x + i), vmean);
    s0 = hn::MulAdd(d0, d0, s0);
  }
  for (; i < n; ++i) total += (x[i] - mean) * (x[i] - mean);
  return total + hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

inline V NormOne(V s, V mean, V inverse, V scale, V bias) {
  return hn::MulAdd(hn::Mul(hn::Sub(s, mean), inverse), scale, bias);
}

void Norm(const NormRow& row) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = row.n;
  const float* s = row.x;
  if (row.skip != nullptr) {
    float* sum = row.sum != nullptr ? row.sum : row.out;
    Binary<BinaryOp::kAdd, BinaryForm::kVV>(row.x, row.skip, sum, n);
    s = sum;
  } else if (row.sum != nullptr && row.sum != row.x) {
    std::memcpy(row.sum, row.x, static_cast<size_t>(n) * sizeof(float));
  }
  const float mean = row.subtract_mean ? Sum(s, n) / static_cast<float>(n) : 0;
  const float variance = SquaredDistance(s, n, mean) / static_cast<float>(n);
  const V vmean = Const(mean), inverse = Const(1 / std::sqrt(variance + row.epsilon));
  const V one = Const(1), zero = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V scale = row.scale != nullptr ? hn::LoadU(d, row.scale + i) : one;
    const V bias = row.bias != nullptr ? hn::LoadU(d, row.bias + i) : zero;
    hn::StoreU(NormOne(hn::LoadU(d, s + i), vmean, inverse, scale, bias), d, row.out + i);
  }
  if (i < n) {
    const V scale = row.scale != nullptr ? LoadPart(row.scale + i, n - i) : one;
    const V bias = row.bias != nullptr ? LoadPart(row.bias + i, n - i) : zero;
    StorePart(NormOne(LoadPart(s + i, n - i), vmean, inverse, scale, bias), row.out + i, n - i);
  }
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
