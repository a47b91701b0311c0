// Elementwise ops, groups of them and gated activations.
#include <algorithm>
#include <cmath>
#include <span>

#include "fmt/format.h"
#include "ir/base/pointwise.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

template <typename Attrs>
Generator Unary(Attrs attrs, float low = -6, float high = 6) {
  return [=](Random& random) {
    const Shape shape = random.Chance(10) ? Shape{70001} : random.RandomShape();
    return Make({random.Floats(shape, low, high)}, {F32(shape)}, MakeAttrs(attrs));
  };
}

Case Binary(Random& random) {
  const Shape out = random.Chance(10) ? Shape{5, 113, 117} : random.RandomShape();
  Shape a = BroadcastInput(random, out), b = BroadcastInput(random, out);
  const Dims both = BroadcastShape(a, b);
  return Make({random.Floats(a), random.Floats(b, 0.5f, 3)},
              {F32(Shape(both.begin(), both.end()))});
}

Case IsNan(Random& random) {
  const Shape shape = random.RandomShape();
  Case c = Make({random.Floats(shape)}, {Tensor(DType::kBool, shape)});
  for (int64_t i = 0; i < c.inputs[0].numel(); ++i) {
    if (random.Chance(30)) c.inputs[0].data<float>()[i] = std::nanf("");
  }
  return c;
}

Case Pow(Random& random) {
  constexpr float kExponents[] = {1, 2, 3, 0.5f, -1, 1.7f};
  const Shape shape = random.RandomShape(1);
  return Make(
      {random.Floats(shape, 0.1f, 4), Tensor::Of<float>({}, {kExponents[random.Int(0, 5)]})},
      {F32(shape)});
}

Case Where(Random& random) {
  const Shape out = random.Chance(10) ? Shape{3, 101, 203} : random.RandomShape();
  const DType dtype = random.Chance(70) ? DType::kF32 : DType::kI32;
  Shape c = BroadcastInput(random, out), a = BroadcastInput(random, out), b = out;
  return Make({random.Bools(c), random.Any(dtype, a), random.Any(dtype, b)}, {Tensor(dtype, out)});
}

Case Fma(Random& random) {
  const Shape out = random.Chance(10) ? Shape{3, 101, 203} : random.RandomShape();
  return Make({random.Floats(BroadcastInput(random, out)), random.Floats(out),
               random.Floats(BroadcastInput(random, out))},
              {F32(out)});
}

// Operands of a dtype that numbers have, with values that are often equal.
Case Compare(Random& random) {
  const Shape out = random.RandomShape();
  Shape a = BroadcastInput(random, out), b = BroadcastInput(random, out);
  const Dims both = BroadcastShape(a, b);
  const Shape shape(both.begin(), both.end());
  if (random.Chance(30)) {
    return Make({random.Ints(a, -2, 2), random.Ints(b, -2, 2)}, {Tensor(DType::kBool, shape)});
  }
  return Make({random.Floats(a), random.Floats(b)}, {Tensor(DType::kBool, shape)});
}

Case Logic(Random& random) {
  const Shape out = random.RandomShape();
  Shape a = BroadcastInput(random, out), b = BroadcastInput(random, out);
  const Dims both = BroadcastShape(a, b);
  return Make({random.Bools(a), random.Bools(b)},
              {Tensor(DType::kBool, Shape(both.begin(), both.end()))});
}

Case Not(Random& random) {
  const Shape shape = random.RandomShape();
  return Make({random.Bools(shape)}, {Tensor(DType::kBool, shape)});
}

Tensor OfPointwise(Random& random, DType dtype, const Shape& shape) {
  switch (dtype) {
    case DType::kBool:
      return random.Bools(shape);
    case DType::kF32:
      return random.Floats(shape);
    case DType::kI64:
      return random.Ints(shape, -5, 5);
    case DType::kU8:
    case DType::kI8:
      return random.Bytes(dtype, shape);
    default: {
      Tensor t(dtype, shape);
      for (int64_t i = 0; i < t.numel(); ++i) {
        t.data<int32_t>()[i] = static_cast<int32_t>(random.Int(-5, 5));
      }
      return t;
    }
  }
}

constexpr DType kPointwiseTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kBool,
                                     DType::kI64, DType::kI32, DType::kU8,  DType::kI8};

DType PointwiseType(Random& random) {
  return kPointwiseTypes[random.Int(0, static_cast<int>(std::size(kPointwiseTypes)) - 1)];
}

Case Cast(Random& random) {
  const Shape shape = random.RandomShape();
  const DType half = random.Chance(50) ? DType::kF16 : DType::kBF16;
  if (random.Chance(15)) {
    return Make({random.Floats(shape, -7e4, 7e4)}, {Tensor(half, shape)},
                MakeAttrs(ten::CastAttrs{half}));
  }
  if (random.Chance(15)) {
    Tensor bits = random.Any(half, shape);
    return Make({std::move(bits)}, {Tensor(DType::kF32, shape)},
                MakeAttrs(ten::CastAttrs{DType::kF32}));
  }
  if (random.Chance(25)) {
    constexpr DType kTypes[] = {DType::kBool, DType::kI8,  DType::kU8,  DType::kI16,
                                DType::kU16,  DType::kI32, DType::kU32, DType::kI64,
                                DType::kU64,  DType::kF64, DType::kF16, DType::kBF16};
    const DType other = kTypes[random.Int(0, std::ssize(kTypes) - 1)];
    const bool to_half = random.Chance(50);
    const DType from = to_half ? other : half, to = to_half ? half : other;
    return Make({random.Any(from, shape)}, {Tensor(to, shape)}, MakeAttrs(ten::CastAttrs{to}));
  }
  const DType from = PointwiseType(random), to = PointwiseType(random);
  return Make({OfPointwise(random, from, shape)}, {Tensor(to, shape)},
              MakeAttrs(ten::CastAttrs{to}));
}

// A random body of ops that keep values small, over inputs that broadcast in all ways.
PointwiseBody RandomBody(Random& random, std::span<const DType> inputs) {
  PointwiseBody body;
  body.inputs.assign(inputs.begin(), inputs.end());
  body.constants = {{DType::kF32, 0.5, 0}, {DType::kF32, -1.25, 0}, {DType::kF32, 2, 0}};
  const bool floats_only = random.Chance(50);
  constexpr int kNumOps = static_cast<int>(PointwiseOp::kXor) + 1;
  const int64_t steps = random.Int(2, 12);
  while (static_cast<int64_t>(body.steps.size()) < steps) {
    PointwiseStep step;
    step.op = static_cast<PointwiseOp>(random.Int(0, kNumOps - 1));
    // Whose results grow, or jump where the argument is off by a rounding.
    constexpr PointwiseOp kWild[] = {
        PointwiseOp::kExp,   PointwiseOp::kDiv,        PointwiseOp::kPow,   PointwiseOp::kLog,
        PointwiseOp::kSqrt,  PointwiseOp::kReciprocal, PointwiseOp::kFloor, PointwiseOp::kCeil,
        PointwiseOp::kRound, PointwiseOp::kSign};
    if (std::find(std::begin(kWild), std::end(kWild), step.op) != std::end(kWild)) continue;
    const int count = InfoOf(step.op).num_operands;
    std::vector<DType> dtypes;
    for (int i = 0; i < count; ++i) {
      step.operands[i] = static_cast<int>(random.Int(0, body.num_values() - 1));
      dtypes.push_back(body.dtype(step.operands[i]));
    }
    // Comparing and truncating computed floats is a jump too; inputs are exact.
    const bool jumps =
        InfoOf(step.op).result == PointwiseOpInfo::Result::kBool || step.op == PointwiseOp::kCast;
    if (jumps && (step.operands[0] >= body.first_step() ||
                  (count > 1 && step.operands[1] >= body.first_step()))) {
      continue;
    }
    if (step.op == PointwiseOp::kCast) {
      step.params[0] = static_cast<double>(PointwiseType(random));
    }
    if (step.op == PointwiseOp::kClip) step.params = {1.5, -0.75};
    if (step.op == PointwiseOp::kGelu) step.params[0] = static_cast<double>(random.Int(0, 2));
    if (step.op == PointwiseOp::kElu) step.params = {1.5, 1.25, 0.5};
    if (step.op == PointwiseOp::kHardSigmoid) step.params = {0.25, 0.5};
    if (step.op == PointwiseOp::kLeakyRelu) step.params[0] = 0.125;
    step.dtype = PointwiseResult(step.op, dtypes, step.params);
    if (step.dtype == DType::kInvalid) continue;
    if (floats_only && step.dtype != DType::kF32) continue;
    body.steps.push_back(step);
  }
  // The last step, and sometimes others.
  for (int value = body.first_step(); value < body.num_values(); ++value) {
    if (value + 1 == body.num_values() || random.Chance(15)) body.results.push_back(value);
  }
  return body;
}

// From bytes to bytes, in numbers that f32 holds exactly: one result, or two.
Case ByteGroup(Random& random) {
  const Shape out = random.Chance(50) ? random.RandomShape() : Shape{random.Int(1, 3), 5003};
  const DType from = random.Chance(50) ? DType::kU8 : DType::kI8;
  const bool two = random.Chance(30);
  const std::string body = fmt::format(
      "%1 = ten.cast %0 {{to = f32}}; %2 = ten.add %1, -12.0; %3 = ten.mul %2, 0.1875; "
      "%4 = ten.round %3; %5 = ten.clip %4 {{max = 20, min = 0}}; %6 = ten.cast %5 {{to = ui8}}; "
      "%7 = ten.abs %3; %8 = ten.round %7; %9 = ten.clip %8 {{max = 127, min = -128}}; "
      "%10 = ten.cast %9 {{to = i8}}; yield {}",
      two ? "%6, %10" : "%10");
  std::vector<Tensor> outputs;
  if (two) outputs.emplace_back(DType::kU8, out);
  outputs.emplace_back(DType::kI8, out);
  std::vector<Tensor> inputs = {OfPointwise(random, from, out)};
  return Make(std::move(inputs), std::move(outputs), MakeAttrs(fused::GroupAttrs{body}));
}

// Row ops among elementwise ones, of values that stay small.
PointwiseBody RandomRowBody(Random& random, size_t num_inputs) {
  constexpr PointwiseOp kRowOps[] = {
      PointwiseOp::kLayerNorm,  PointwiseOp::kLogSoftmax, PointwiseOp::kRmsNorm,
      PointwiseOp::kSoftmax,    PointwiseOp::kReduceL2,   PointwiseOp::kReduceMax,
      PointwiseOp::kReduceMean, PointwiseOp::kReduceMin,  PointwiseOp::kReduceSum};
  constexpr PointwiseOp kOps[] = {PointwiseOp::kAdd, PointwiseOp::kSub,  PointwiseOp::kMul,
                                  PointwiseOp::kMax, PointwiseOp::kTanh, PointwiseOp::kSigmoid,
                                  PointwiseOp::kNeg};
  PointwiseBody body;
  body.inputs.assign(num_inputs, DType::kF32);
  body.constants = {{DType::kF32, 0.5, 0}, {DType::kF32, -1.25, 0}};
  const auto any = [&](int values) { return static_cast<int>(random.Int(0, values - 1)); };
  const int64_t steps = random.Int(1, 10);
  while (static_cast<int64_t>(body.steps.size()) < steps || !body.has_row_ops()) {
    PointwiseStep step = {.dtype = DType::kF32};
    if (random.Chance(35)) {
      step.op = kRowOps[any(static_cast<int>(std::size(kRowOps)))];
      step.params[0] = step.op == PointwiseOp::kLayerNorm || step.op == PointwiseOp::kRmsNorm;
      step.params[0] *= 0.25;
      const std::vector<bool> one_per_row = OnePerRow(body);
      step.operands[0] = any(body.num_values());
      const bool constant =
          step.operands[0] >= body.first_constant() && step.operands[0] < body.first_step();
      if (constant || one_per_row[static_cast<size_t>(step.operands[0])]) continue;
      body.steps.push_back(step);
      // Sums and logarithms are brought down again.
      body.steps.push_back({.op = PointwiseOp::kTanh,
                            .dtype = DType::kF32,
                            .operands = {body.num_values() - 1, -1, -1}});
      continue;
    }
    step.op = kOps[any(static_cast<int>(std::size(kOps)))];
    for (int i = 0; i < InfoOf(step.op).num_operands; ++i)
      step.operands[static_cast<size_t>(i)] = any(body.num_values());
    body.steps.push_back(step);
  }
  for (int value = body.first_step(); value < body.num_values(); ++value) {
    if (value + 1 == body.num_values() || random.Chance(15)) body.results.push_back(value);
  }
  return body;
}

Case RowGroup(Random& random) {
  Shape out = random.RandomShape(1);
  if (random.Chance(40)) out = {random.Int(1, 5), random.Int(1, 30), random.Int(1, 300)};
  if (random.Chance(5)) out = {random.Int(1, 2), random.Int(20000, 40000)};
  std::vector<Tensor> inputs = {random.Floats(out)};
  for (int64_t i = random.Int(0, 3); i > 0; --i)
    inputs.push_back(random.Floats(BroadcastInput(random, out)));
  const PointwiseBody body = RandomRowBody(random, inputs.size());
  const std::vector<bool> one_per_row = OnePerRow(body);
  std::vector<Tensor> outputs;
  for (const int result : body.results) {
    Shape shape = out;
    if (one_per_row[static_cast<size_t>(result)]) shape.back() = 1;
    outputs.push_back(F32(shape));
  }
  Case made = Make(std::move(inputs), std::move(outputs),
                   MakeAttrs(fused::GroupAttrs{PointwiseText(body)}));
  made.magnitude = 20;  // of sums and norms between, whose differences may be small
  return made;
}

Case Group(Random& random) {
  if (random.Chance(15)) return ByteGroup(random);
  if (random.Chance(50)) return RowGroup(random);
  Shape out = random.RandomShape();
  if (random.Chance(25)) out = {3, random.Int(1, 40), random.Int(60, 300)};
  std::vector<Tensor> inputs = {random.Floats(out)};
  std::vector<DType> dtypes = {DType::kF32};
  const bool floats_only = random.Chance(40);
  for (int64_t i = random.Int(0, 4); i > 0; --i) {
    const DType dtype = floats_only ? DType::kF32 : PointwiseType(random);
    inputs.push_back(OfPointwise(random, dtype, BroadcastInput(random, out)));
    dtypes.push_back(dtype);
  }
  const PointwiseBody body = RandomBody(random, dtypes);
  std::vector<Tensor> outputs;
  for (int result : body.results) outputs.emplace_back(body.dtype(result), out);
  Case made = Make(std::move(inputs), std::move(outputs),
                   MakeAttrs(fused::GroupAttrs{PointwiseText(body)}));
  made.magnitude = 1;  // of values between, whose differences may be small
  return made;
}

Case Gelu(Random& random) {
  nn::GeluAttrs attrs;
  attrs.approximate = static_cast<nn::GeluApproximate>(random.Int(0, 2));
  Case made = Unary(attrs)(random);
  made.magnitude = 1;  // of 1 + tanh, which fast kernels compute where it is small, too
  return made;
}

Case Gated(Random& random) {
  fused::GatedAttrs attrs;
  SetActivation(random, attrs);
  attrs.second = random.Chance(50);
  const Shape out = random.Chance(20) ? Shape{3, 5003} : random.RandomShape(1);
  if (random.Chance(50))
    return Make({random.Floats(out), random.Floats(out)}, {F32(out)}, MakeAttrs(attrs));
  Shape packed = out;
  packed.back() *= 2;
  return Make({random.Floats(packed), Tensor()}, {F32(out)}, MakeAttrs(attrs));
}

}  // namespace

GeneratorsByOp ElementwiseCases() {
  return {
      {"fused.gated", Gated},
      {"fused.group", Group},
      {"nn.gelu", Gelu},
      {"nn.mish", Unary(nn::MishAttrs(), -30, 30)},
      {"nn.silu", Unary(nn::SiluAttrs())},
      {"ten.abs", Unary(ten::AbsAttrs())},
      {"ten.add", Binary},
      {"ten.and", Logic},
      {"ten.cast", Cast},
      {"ten.ceil", Unary(ten::CeilAttrs())},
      {"ten.clip", Unary(ten::ClipAttrs{.min = -1, .max = 2.5})},
      {"ten.cos", Unary(ten::CosAttrs(), -40, 40)},
      {"ten.div", Binary},
      {"ten.elu", Unary(ten::EluAttrs{.alpha = 1.3f, .gamma = 1.1f, .width = 0.7f})},
      {"ten.equal", Compare},
      {"ten.erf", Unary(ten::ErfAttrs())},
      {"ten.exp", Unary(ten::ExpAttrs())},
      {"ten.floor", Unary(ten::FloorAttrs())},
      {"ten.fma", Fma},
      {"ten.greater", Compare},
      {"ten.greater_equal", Compare},
      {"ten.hard_sigmoid", Unary(ten::HardSigmoidAttrs())},
      {"ten.hard_swish", Unary(ten::HardSwishAttrs())},
      {"ten.is_nan", IsNan},
      {"ten.leaky_relu", Unary(ten::LeakyReluAttrs())},
      {"ten.less", Compare},
      {"ten.less_equal", Compare},
      {"ten.log", Unary(ten::LogAttrs(), 0.01f)},
      {"ten.max", Binary},
      {"ten.min", Binary},
      {"ten.mul", Binary},
      {"ten.neg", Unary(ten::NegAttrs())},
      {"ten.not", Not},
      {"ten.or", Logic},
      {"ten.pow", Pow},
      {"ten.reciprocal", Unary(ten::ReciprocalAttrs(), 0.1f)},
      {"ten.relu", Unary(ten::ReluAttrs())},
      {"ten.round", Unary(ten::RoundAttrs())},
      {"ten.sigmoid", Unary(ten::SigmoidAttrs())},
      {"ten.sign", Unary(ten::SignAttrs())},
      {"ten.sin", Unary(ten::SinAttrs(), -40, 40)},
      {"ten.softplus", Unary(ten::SoftplusAttrs(), -30, 30)},
      {"ten.sqrt", Unary(ten::SqrtAttrs(), 0)},
      {"ten.sub", Binary},
      {"ten.tanh", Unary(ten::TanhAttrs())},
      {"ten.where", Where},
      {"ten.xor", Logic},
  };
}

}  // namespace tenon::kernels::testing
