#include "tests/kernels/case_generators.h"

#include <algorithm>
#include <cmath>

#include "ir/core/pointwise.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels::testing {

Shape Random::RandomShape(int min_rank, int max_rank) {
  Shape shape(static_cast<size_t>(Int(min_rank, max_rank)));
  for (int64_t& d : shape) d = Extent();
  while (Product(shape) > 200000) shape[static_cast<size_t>(Int(0, shape.size() - 1))] = 3;
  return shape;
}

Tensor Random::Floats(Shape shape, float low, float high) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = Float(low, high);
  return t;
}

Tensor Random::Bools(Shape shape) {
  Tensor t(DType::kBool, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<uint8_t>()[i] = Chance(70);
  return t;
}

Tensor Random::Ints(Shape shape, int64_t low, int64_t high) {
  Tensor t(DType::kI64, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<int64_t>()[i] = Int(low, high);
  return t;
}

Tensor Random::Any(DType dtype, Shape shape) {
  if (dtype == DType::kF32) return Floats(std::move(shape));
  Tensor t(dtype, std::move(shape));
  for (size_t i = 0; i < t.bytes; ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(Int(0, 1));
  return t;
}

DType Random::AnyDtype() {
  constexpr DType kTypes[] = {DType::kF32,  DType::kF32, DType::kI64,
                              DType::kBool, DType::kF16, DType::kI32};
  return kTypes[Int(0, 5)];
}

namespace {

// A shape that broadcasts to `out`: some extents 1, leading axes sometimes missing.
Shape BroadcastInput(Random& random, const Shape& out) {
  const int style = static_cast<int>(random.Int(0, 4));
  if (style == 0) return out;
  if (style == 1) return {};
  Shape shape = out;
  for (int64_t& d : shape) {
    if (random.Chance(35)) d = 1;
  }
  if (random.Chance(40)) shape.erase(shape.begin(), shape.begin() + random.Int(0, shape.size()));
  return shape;
}

Case Make(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
          std::shared_ptr<const void> attrs = nullptr, std::vector<size_t> constant = {}) {
  return {std::move(inputs), std::move(outputs), std::move(attrs), std::move(constant), 0};
}

Tensor F32(Shape shape) { return Tensor(DType::kF32, std::move(shape)); }

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
    default: {
      Tensor t(dtype, shape);
      for (int64_t i = 0; i < t.numel(); ++i) {
        t.data<int32_t>()[i] = static_cast<int32_t>(random.Int(-5, 5));
      }
      return t;
    }
  }
}

constexpr DType kPointwiseTypes[] = {DType::kF32,  DType::kF32, DType::kF32,
                                     DType::kBool, DType::kI64, DType::kI32};

Case Cast(Random& random) {
  const Shape shape = random.RandomShape();
  const DType from = kPointwiseTypes[random.Int(0, 5)], to = kPointwiseTypes[random.Int(0, 5)];
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
      step.params[0] = static_cast<double>(kPointwiseTypes[random.Int(0, 5)]);
    }
    if (step.op == PointwiseOp::kClip) step.params = {1.5, -0.75};
    if (step.op == PointwiseOp::kGelu) step.params[0] = static_cast<double>(random.Int(0, 2));
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

Case Group(Random& random) {
  Shape out = random.RandomShape();
  if (random.Chance(25)) out = {3, random.Int(1, 40), random.Int(60, 300)};
  std::vector<Tensor> inputs = {random.Floats(out)};
  std::vector<DType> dtypes = {DType::kF32};
  const bool floats_only = random.Chance(40);
  for (int64_t i = random.Int(0, 4); i > 0; --i) {
    const DType dtype = floats_only ? DType::kF32 : kPointwiseTypes[random.Int(0, 5)];
    inputs.push_back(OfPointwise(random, dtype, BroadcastInput(random, out)));
    dtypes.push_back(dtype);
  }
  const PointwiseBody body = RandomBody(random, dtypes);
  std::vector<Tensor> outputs;
  for (int result : body.results) outputs.emplace_back(body.dtype(result), out);
  return Make(std::move(inputs), std::move(outputs),
              MakeAttrs(fused::GroupAttrs{PointwiseText(body)}));
}

Case Pad(Random& random) {
  const Shape x = random.RandomShape();
  ten::PadAttrs attrs;
  Shape out = x;
  for (int side = 0; side < 2; ++side) {
    for (int64_t& d : out) {
      attrs.pads.push_back(random.Chance(50) ? 0 : random.Int(std::max<int64_t>(-2, -d), 4));
      d += attrs.pads.back();
    }
  }
  const DType dtype = random.AnyDtype();
  Tensor value;
  if (random.Chance(60)) value = random.Any(dtype, {});
  return Make({random.Any(dtype, x), value}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

Case MatMul(Random& random) {
  ten::MatmulAttrs attrs;
  attrs.transpose_a = random.Chance(30);
  attrs.transpose_b = random.Chance(30);
  int64_t m = random.Extent(), n = random.Extent(), k = random.Extent();
  Shape batch = random.RandomShape(0, 2);
  for (int64_t& d : batch) d = std::min<int64_t>(d, 5);
  Shape a = BroadcastInput(random, batch), b = BroadcastInput(random, batch);
  const Dims both = BroadcastShape(a, b);
  Shape out(both.begin(), both.end());
  const bool a_vector = a.empty() && random.Chance(15), b_vector = b.empty() && random.Chance(15);
  if (a_vector) {
    a = {k};
  } else {
    a.insert(a.end(), {attrs.transpose_a ? k : m, attrs.transpose_a ? m : k});
    out.push_back(m);
  }
  if (b_vector) {
    b = {k};
  } else {
    b.insert(b.end(), {attrs.transpose_b ? n : k, attrs.transpose_b ? k : n});
    out.push_back(n);
  }
  std::vector<size_t> constant;
  if (random.Chance(50)) constant = {1};
  return Make({random.Floats(a), random.Floats(b)}, {F32(out)}, MakeAttrs(attrs), constant);
}

template <typename Attrs>
void SetActivation(Random& random, Attrs& attrs) {
  using Enum = decltype(attrs.activation);
  attrs.activation = static_cast<Enum>(random.Int(0, 12));
  attrs.alpha = attrs.activation == Enum::kClip ? -0.5f : 0.2f;
  attrs.beta = attrs.activation == Enum::kClip ? 0.7f : 0.4f;
}

Case Linear(Random& random) {
  fused::LinearAttrs attrs;
  SetActivation(random, attrs);
  attrs.transpose_w = random.Chance(40);
  Shape out = random.RandomShape(0, 2);
  Shape x = out;
  const int64_t k = random.Extent(), n = random.Extent();
  x.push_back(k);
  out.push_back(n);
  Tensor bias, residual;
  if (random.Chance(60)) bias = random.Floats({n});
  if (random.Chance(50)) residual = random.Floats(BroadcastInput(random, out));
  std::vector<size_t> constant;
  if (random.Chance(60)) constant = {1, 2};
  if (bias.dtype == DType::kInvalid && !constant.empty()) constant = {1};
  return Make({random.Floats(x, -1, 1),
               random.Floats(attrs.transpose_w ? Shape{n, k} : Shape{k, n}, -1, 1), bias, residual},
              {F32(out)}, MakeAttrs(attrs), constant);
}

Case CompressedLinear(Random& random) {
  fused::CompressedLinearAttrs attrs;
  SetActivation(random, attrs);
  attrs.transpose_w = random.Chance(40);
  Shape out = random.RandomShape(0, 2);
  Shape x = out;
  const int64_t k = random.Extent(), n = random.Extent();
  x.push_back(k);
  out.push_back(n);
  const Shape shape = attrs.transpose_w ? Shape{n, k} : Shape{k, n};
  Tensor w, bias, residual, scale;
  std::vector<size_t> constant = {1};
  const Tensor values = random.Floats(shape, -1, 1);
  if (random.Chance(50)) {
    w = Tensor(DType::kBF16, shape);
    for (int64_t i = 0; i < w.numel(); ++i)
      w.data<BFloat16>()[i] = BFloat16(values.data<float>()[i]);
  } else {
    attrs.group = random.Chance(40) ? 0 : random.Int(1, 20);
    w = Tensor(DType::kI8, shape);
    for (int64_t i = 0; i < w.numel(); ++i) {
      w.data<int8_t>()[i] = static_cast<int8_t>(127 * values.data<float>()[i]);
    }
    const int64_t groups = attrs.group == 0 ? 1 : (k + attrs.group - 1) / attrs.group;
    scale = random.Floats({groups, n}, 0.001f, 0.01f);
    constant.push_back(4);
  }
  if (random.Chance(60)) bias = random.Floats({n});
  if (random.Chance(50)) residual = random.Floats(BroadcastInput(random, out));
  return Make({random.Floats(x, -1, 1), w, bias, residual, scale}, {F32(out)}, MakeAttrs(attrs),
              constant);
}

// Shapes of a convolution with random strides, dilations and padding, over 1 to 3 axes. A third of
// them are windows of 3 x 3 over enough channels for Winograd's method.
template <typename Attrs>
Case ConvCase(Random& random, Attrs attrs, bool with_residual) {
  const bool deep = random.Chance(33);
  const bool channels_last = deep || random.Chance(85);
  const size_t axes = deep || random.Chance(70) ? 2 : random.Chance(50) ? 1 : 3;
  const bool depthwise = !deep && random.Chance(57), wide = random.Chance(30);
  attrs.group = depthwise ? random.Int(1, 40) : !deep && random.Chance(20) ? random.Int(2, 4) : 1;
  const int64_t per_group = deep                             ? random.Int(32, 70)
                            : depthwise || random.Chance(30) ? 1
                                                             : random.Int(2, wide ? 40 : 9);
  const int64_t filters = attrs.group * (deep        ? random.Int(32, 90)
                                         : depthwise ? 1
                                                     : random.Int(1, wide ? 90 : 9));
  Shape x = {random.Chance(4) ? 0 : random.Int(1, 3), attrs.group * per_group};
  Shape w = {filters, per_group}, out = {x[0], filters};
  const bool pointwise = !deep && random.Chance(25);
  const bool automatic = random.Chance(25);
  Shape begins, ends;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t kernel = pointwise ? 1 : deep ? 3 : random.Int(1, 4);
    const int64_t stride = pointwise || deep ? 1 : random.Int(1, 3);
    const int64_t dilation = deep ? 1 : random.Int(1, 2), span = (kernel - 1) * dilation + 1;
    const int64_t in = random.Int(span, axes < 3 ? 24 : 10);
    const int64_t begin = pointwise ? 0 : random.Int(0, span - 1);
    const int64_t end = pointwise ? 0 : random.Int(0, span - 1);
    attrs.strides.push_back(stride);
    attrs.dilations.push_back(dilation);
    begins.push_back(begin);
    ends.push_back(end);
    x.push_back(in);
    w.push_back(kernel);
    out.push_back(automatic ? (in + stride - 1) / stride : (in + begin + end - span) / stride + 1);
  }
  attrs.pads = begins;
  attrs.pads.insert(attrs.pads.end(), ends.begin(), ends.end());
  using AutoPad = decltype(attrs.auto_pad);
  if (automatic) attrs.auto_pad = random.Chance(50) ? AutoPad::kSameUpper : AutoPad::kSameLower;
  if (channels_last) {
    attrs.layout = decltype(attrs.layout)::kNhwc;
    std::rotate(x.begin() + 1, x.begin() + 2, x.end());
    std::rotate(out.begin() + 1, out.begin() + 2, out.end());
  }
  Tensor bias, residual;
  if (random.Chance(60)) bias = random.Floats({filters});
  if (with_residual && random.Chance(50)) residual = random.Floats(out);
  std::vector<Tensor> inputs = {random.Floats(x, -1, 1), random.Floats(w, -1, 1), bias};
  if (with_residual) inputs.push_back(residual);
  std::vector<size_t> constant;
  if (deep || random.Chance(70)) constant = {1};
  int64_t depth = 1;  // of the sums
  for (size_t i = 1; i < w.size(); ++i) depth *= w[i];
  Case result = Make(std::move(inputs), {F32(out)}, MakeAttrs(attrs), constant);
  result.magnitude = std::sqrt(static_cast<float>(depth));
  return result;
}

Case Conv(Random& random) { return ConvCase(random, nn::ConvAttrs(), false); }

Case FusedConv(Random& random) {
  fused::ConvAttrs attrs;
  SetActivation(random, attrs);
  return ConvCase(random, attrs, true);
}

template <typename Attrs>
Generator Pool() {
  return [](Random& random) {
    Attrs attrs;
    Shape x = {random.Int(1, 2), random.Int(1, 5)}, out = x;
    attrs.ceil_mode = random.Chance(40);
    if constexpr (std::is_same_v<Attrs, nn::AveragePoolAttrs>) {
      attrs.count_include_pad = random.Chance(50);
    }
    Shape ends;
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t kernel = random.Int(1, 4), stride = random.Int(1, 3),
                    dilation = random.Int(1, 2);
      const int64_t span = (kernel - 1) * dilation + 1, in = random.Int(span, 20);
      // Less padding than a window's reach, so that each window sees an element.
      const int64_t begin = random.Int(0, (kernel - 1) / 2), end = random.Int(0, (kernel - 1) / 2);
      const int64_t room = in + begin + end - span;
      int64_t count = (attrs.ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
      if ((count - 1) * stride >= in + begin) --count;
      attrs.kernel.push_back(kernel);
      attrs.strides.push_back(stride);
      attrs.dilations.push_back(dilation);
      attrs.pads.push_back(begin);
      ends.push_back(end);
      x.push_back(in);
      out.push_back(count);
    }
    attrs.pads.insert(attrs.pads.end(), ends.begin(), ends.end());
    if (random.Chance(50)) {
      attrs.layout = decltype(attrs.layout)::kNhwc;
      std::rotate(x.begin() + 1, x.begin() + 2, x.end());
      std::rotate(out.begin() + 1, out.begin() + 2, out.end());
    }
    return Make({random.Floats(x)}, {F32(out)}, MakeAttrs(attrs));
  };
}

template <typename Attrs>
Generator Softmax() {
  return [](Random& random) {
    const Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.axis = random.Chance(70) ? static_cast<int64_t>(shape.size()) - 1
                                   : random.Int(0, shape.size() - 1);
    return Make({random.Floats(shape, -20, 20)}, {F32(shape)}, MakeAttrs(attrs));
  };
}

template <typename Attrs, bool kSkip, bool kBias>
Generator Norm() {
  return [](Random& random) {
    Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.axis = random.Int(0, shape.size() - 1);
    const Shape row(shape.begin() + attrs.axis, shape.end());
    std::vector<Tensor> inputs = {random.Floats(shape)};
    if (kSkip) {
      Shape skip = shape;
      for (int64_t i = 0; i < attrs.axis; ++i) {
        if (random.Chance(30)) skip[static_cast<size_t>(i)] = 1;
      }
      inputs.push_back(random.Floats(skip));
    }
    inputs.push_back(random.Chance(75) ? random.Floats(row) : Tensor());
    if (kBias) inputs.push_back(random.Chance(75) ? random.Floats(row) : Tensor());
    std::vector<Tensor> outputs = {F32(shape)};
    if (kSkip) outputs.push_back(F32(shape));
    return Make(std::move(inputs), std::move(outputs), MakeAttrs(attrs));
  };
}

Case GroupNorm(Random& random) {
  Shape shape = random.RandomShape(2);
  nn::GroupNormAttrs attrs;
  attrs.groups = random.Int(1, 3);
  shape[1] = attrs.groups * random.Int(1, 4);
  const Shape c = {shape[1]};
  return Make({random.Floats(shape), random.Chance(70) ? random.Floats(c) : Tensor(),
               random.Chance(70) ? random.Floats(c) : Tensor()},
              {F32(shape)}, MakeAttrs(attrs));
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

Case Embedding(Random& random) {
  fused::EmbeddingAttrs attrs;
  attrs.norm = static_cast<fused::EmbeddingNorm>(random.Int(0, 2));
  const Shape outer = random.RandomShape(0, 2);
  const int64_t size = random.Extent();
  Shape out = outer;
  out.push_back(size);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    const int64_t rows = random.Int(1, 9);
    const bool there = i == 0 || random.Chance(50);
    const Shape ids = i == 0 ? outer : BroadcastInput(random, outer);
    inputs.push_back(there ? random.Ints(ids, -rows, rows - 1) : Tensor());
    inputs.push_back(there ? random.Floats({rows, size}) : Tensor());
  }
  Shape added = BroadcastInput(random, outer);
  added.push_back(size);
  inputs.push_back(random.Chance(50) ? random.Floats(added) : Tensor());
  for (int i = 0; i < 2; ++i)
    inputs.push_back(random.Chance(60) ? random.Floats({size}) : Tensor());
  return Make(std::move(inputs), {F32(out), F32(out)}, MakeAttrs(attrs));
}

Case BatchNorm(Random& random) {
  const Shape shape = random.RandomShape(2);
  const Shape c = {shape[1]};
  return Make({random.Floats(shape), random.Floats(c), random.Floats(c), random.Floats(c),
               random.Floats(c, 0.1f, 2)},
              {F32(shape)}, MakeAttrs(nn::BatchNormAttrs()));
}

template <typename Attrs>
Generator Reduce() {
  return [](Random& random) {
    const Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.keepdims = random.Chance(50);
    Shape out;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const bool reduced = random.Chance(50);
      if (reduced) attrs.axes.push_back(static_cast<int64_t>(axis));
      if (!reduced) out.push_back(shape[axis]);
      if (reduced && attrs.keepdims) out.push_back(1);
    }
    return Make({random.Floats(shape)}, {F32(out)}, MakeAttrs(attrs));
  };
}

Case Transpose(Random& random) {
  Shape shape = random.RandomShape(1), out;
  if (random.Chance(20)) shape = {3, 130, 67};
  ten::TransposeAttrs attrs;
  for (size_t i = 0; i < shape.size(); ++i) attrs.perm.push_back(static_cast<int64_t>(i));
  for (size_t i = shape.size(); i-- > 1;) std::swap(attrs.perm[i], attrs.perm[random.Int(0, i)]);
  for (int64_t axis : attrs.perm) out.push_back(shape[static_cast<size_t>(axis)]);
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, shape)}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

Case Expand(Random& random) {
  const Shape out = random.RandomShape();
  const Shape x = BroadcastInput(random, out);
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, x), Tensor::Of<int64_t>({static_cast<int64_t>(out.size())}, out)},
              {Tensor(dtype, out)}, MakeAttrs(ten::ExpandAttrs{}));
}

// Bounds of a random slice; bounds may be negative or beyond the ends.
struct SliceArgs {
  Shape x, out;
  std::vector<int64_t> axes, starts, ends, steps;
};

SliceArgs RandomSlice(Random& random) {
  SliceArgs s;
  s.x = random.RandomShape(1);
  s.out = s.x;
  for (size_t axis = 0; axis < s.x.size(); ++axis) {
    if (random.Chance(40)) continue;
    const int64_t extent = s.x[axis], step = random.Chance(50) ? 1 : random.Chance(50) ? 2 : -1;
    const int64_t start = random.Int(-extent - 2, extent + 2),
                  end = random.Int(-extent - 2, extent + 2);
    s.axes.push_back(static_cast<int64_t>(axis));
    s.starts.push_back(start);
    s.ends.push_back(end);
    s.steps.push_back(step);
    auto clamp = [&](int64_t v) {
      if (v < 0) v += extent;
      return step > 0 ? std::clamp<int64_t>(v, 0, extent) : std::clamp<int64_t>(v, -1, extent - 1);
    };
    const int64_t room = step > 0 ? clamp(end) - clamp(start) : clamp(start) - clamp(end);
    const int64_t stride = std::abs(step);
    s.out[axis] = std::max<int64_t>(0, (room + stride - 1) / stride);
  }
  return s;
}

Case Slice(Random& random) {
  const SliceArgs s = RandomSlice(random);
  const DType dtype = random.AnyDtype();
  ten::SliceAttrs attrs;
  attrs.axes = s.axes, attrs.starts = s.starts, attrs.ends = s.ends, attrs.steps = s.steps;
  return Make({random.Any(dtype, s.x)}, {Tensor(dtype, s.out)}, MakeAttrs(attrs));
}

Case DynamicSlice(Random& random) {
  const SliceArgs s = RandomSlice(random);
  const DType dtype = random.AnyDtype();
  const Shape n = {static_cast<int64_t>(s.axes.size())};
  return Make({random.Any(dtype, s.x), Tensor::Of(n, s.starts), Tensor::Of(n, s.ends),
               Tensor::Of(n, s.axes), Tensor::Of(n, s.steps)},
              {Tensor(dtype, s.out)}, MakeAttrs(ten::DynamicSliceAttrs()));
}

Case Tile(Random& random) {
  const Shape x = random.RandomShape(0, 3);
  Shape out = x;
  ten::TileAttrs attrs;
  for (int64_t& d : out) attrs.repeats.push_back(random.Int(0, 3)), d *= attrs.repeats.back();
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, x),
               Tensor::Of({static_cast<int64_t>(x.size())}, std::vector<int64_t>(attrs.repeats))},
              {Tensor(dtype, out)}, MakeAttrs(attrs));
}

// A shape cut into parts along one axis.
void RandomParts(Random& random, DType dtype, Shape& whole, int64_t& axis,
                 std::vector<Tensor>& parts) {
  whole = random.RandomShape(1);
  axis = random.Int(0, whole.size() - 1);
  whole[static_cast<size_t>(axis)] = 0;
  for (int64_t i = random.Int(1, 4); i > 0; --i) {
    Shape part = whole;
    part[static_cast<size_t>(axis)] = random.Int(0, 9);
    parts.push_back(random.Any(dtype, part));
  }
  for (const Tensor& t : parts)
    whole[static_cast<size_t>(axis)] += t.shape[static_cast<size_t>(axis)];
}

Case Concat(Random& random) {
  const DType dtype = random.AnyDtype();
  Shape whole;
  ten::ConcatAttrs attrs;
  std::vector<Tensor> parts;
  RandomParts(random, dtype, whole, attrs.axis, parts);
  return Make(std::move(parts), {Tensor(dtype, whole)}, MakeAttrs(attrs));
}

Case Split(Random& random) {
  const DType dtype = random.AnyDtype();
  Shape whole;
  ten::SplitAttrs attrs;
  std::vector<Tensor> parts;
  RandomParts(random, dtype, whole, attrs.axis, parts);
  for (const Tensor& t : parts) attrs.sizes.push_back(t.shape[static_cast<size_t>(attrs.axis)]);
  return Make({random.Any(dtype, whole)}, std::move(parts), MakeAttrs(attrs));
}

Case Gather(Random& random) {
  Shape x = random.RandomShape(1, 3);
  ten::GatherAttrs attrs;
  attrs.axis = random.Int(0, x.size() - 1);
  int64_t& extent = x[static_cast<size_t>(attrs.axis)];
  extent = std::max<int64_t>(extent, 1);
  const Shape indices = random.RandomShape(0, 2);
  Shape out(x.begin(), x.begin() + attrs.axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), x.begin() + attrs.axis + 1, x.end());
  if (Product(out) > 1000000) return Gather(random);
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, x), random.Ints(indices, -extent, extent - 1)},
              {Tensor(dtype, out)}, MakeAttrs(attrs));
}

// A tensor of heads in one of the layouts bsh, bshd, bhsd, bhds.
Shape HeadShape(int layout, int64_t batch, int64_t heads, int64_t length, int64_t dim) {
  switch (layout) {
    case 0:
      return {batch, length, heads * dim};
    case 1:
      return {batch, length, heads, dim};
    case 2:
      return {batch, heads, length, dim};
    default:
      return {batch, heads, dim, length};
  }
}

struct AttentionSizes {
  int64_t batch, kv_heads, heads, q_len, k_len, dim, v_dim;
  explicit AttentionSizes(Random& random)
      : batch(random.Int(1, 3)),
        kv_heads(random.Int(1, 3)),
        heads(kv_heads * random.Int(1, random.Chance(20) ? 9 : 2)),
        q_len(random.Chance(20)   ? 1
              : random.Chance(15) ? random.Int(100, 150)
                                  : random.Int(2, 60)),
        k_len(random.Chance(20) ? random.Int(100, 300) : random.Int(1, 60)),
        dim(random.Int(1, 40)),
        v_dim(random.Chance(50) ? dim : random.Int(1, 40)) {
    if (!random.Chance(15)) return;
    // Decoding with a long past: few heads share many keys.
    batch = 1;
    heads = kv_heads = random.Int(1, 2);
    q_len = random.Int(1, 4);
    k_len = random.Int(500, 1100);
    dim = v_dim = random.Int(1, 150);
  }
  Tensor Mask(Random& random) const {
    Shape shape = {batch, heads, q_len, k_len};
    if (random.Chance(30)) return Tensor();
    shape = BroadcastInput(random, shape);
    if (shape.empty()) shape = {1, 1};
    if (random.Chance(50)) return random.Bools(shape);
    return random.Floats(shape);
  }
};

// The shape of q, k or v, of layout bsh (0) with columns before and after those of the heads.
Shape WithColumns(Random& random, int layout, Shape shape, bool packed, int64_t& offset) {
  if (layout != 0 || !packed) return shape;
  offset = random.Int(0, 20);
  shape[2] += offset + random.Int(0, 20);
  return shape;
}

// Which keys are no padding: any, all but some at one of the ends, or all.
Tensor KeyMask(Random& random, int64_t batch, int64_t keys) {
  Tensor mask = random.Bools({batch, keys});
  if (random.Chance(40)) return mask;
  for (int64_t b = 0; b < batch; ++b) {
    uint8_t* const row = mask.data<uint8_t>() + b * keys;
    const int64_t padding = random.Chance(50) ? 0 : random.Int(0, keys);
    const bool left = random.Chance(50);
    for (int64_t j = 0; j < keys; ++j) row[j] = left ? j >= padding : j < keys - padding;
  }
  return mask;
}

Case FusedAttention(Random& random) {
  const AttentionSizes s(random);
  fused::AttentionAttrs attrs;
  attrs.num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  attrs.scale = 0.3f;
  attrs.softcap = random.Chance(20) ? 2.0f : 0.0f;
  attrs.causal = random.Chance(30);
  if (random.Chance(30)) attrs.window = random.Int(1, s.k_len);
  if (random.Chance(30)) attrs.mask_value = random.Chance(50) ? -3.0f : -3.4028235e38f;
  attrs.mask_replaces = random.Chance(20);
  attrs.nan_guard = random.Chance(50);
  const int q = random.Int(0, 2), k = random.Int(0, 3), v = random.Int(0, 2),
            out = random.Int(0, 2);
  attrs.q_layout = static_cast<fused::AttentionQLayout>(q);
  attrs.k_layout = static_cast<fused::AttentionKLayout>(k);
  attrs.v_layout = static_cast<fused::AttentionVLayout>(v);
  attrs.out_layout = static_cast<fused::AttentionOutLayout>(out);
  const bool packed = random.Chance(30);
  if (packed) {
    attrs.head_dim = s.dim;
    attrs.v_head_dim = s.v_dim;
  }
  const Shape q_shape = WithColumns(random, q, HeadShape(q, s.batch, s.heads, s.q_len, s.dim),
                                    packed, attrs.q_offset);
  const bool has_past = random.Chance(40);
  const int64_t past = has_past ? random.Int(0, s.k_len) : 0, added = s.k_len - past;
  const Shape k_shape = WithColumns(random, k, HeadShape(k, s.batch, s.kv_heads, added, s.dim),
                                    packed, attrs.k_offset);
  const Shape v_shape = WithColumns(random, v, HeadShape(v, s.batch, s.kv_heads, added, s.v_dim),
                                    packed, attrs.v_offset);
  Tensor bias;
  if (random.Chance(40))
    bias = random.Floats(BroadcastInput(random, {s.batch, s.heads, s.q_len, s.k_len}));
  Tensor key_mask;
  if (random.Chance(40)) key_mask = KeyMask(random, random.Chance(70) ? s.batch : 1, s.k_len);
  std::vector<Tensor> inputs = {random.Floats(q_shape, -1, 1),
                                random.Floats(k_shape, -1, 1),
                                random.Floats(v_shape),
                                s.Mask(random),
                                bias,
                                key_mask};
  std::vector<Tensor> results = {F32(HeadShape(out, s.batch, s.heads, s.q_len, s.v_dim))};
  if (has_past) {
    for (int64_t dim : {s.dim, s.v_dim}) {
      inputs.push_back(random.Floats({s.batch, s.kv_heads, past, dim}, -1, 1));
      results.push_back(F32({s.batch, s.kv_heads, s.k_len, dim}));
    }
  }
  return Make(std::move(inputs), std::move(results), MakeAttrs(attrs));
}

Case Rotary(Random& random) {
  Shape x = random.RandomShape(1, 4);
  fused::RotaryAttrs attrs;
  attrs.interleaved = random.Chance(50);
  const int64_t rotated = 2 * random.Int(1, 20), rest = random.Chance(50) ? random.Int(0, 5) : 0;
  x.back() = rotated + rest;
  if (rest > 0 || random.Chance(30)) attrs.rotary_dim = rotated;
  auto table = [&] {
    Shape shape = x;
    shape.back() = rotated;
    if (random.Chance(70)) {
      for (size_t i = 0; i + 1 < shape.size(); ++i) {
        if (random.Chance(40)) shape[i] = 1;
      }
    } else {
      shape = {rotated};
    }
    return random.Floats(shape, -1, 1);
  };
  Tensor cos = table(), sin = table();
  return Make({random.Floats(x), std::move(cos), std::move(sin)}, {F32(x)}, MakeAttrs(attrs));
}

Case RotaryEmbedding(Random& random) {
  const int64_t batch = random.Int(1, 3), heads = random.Int(1, 4), length = random.Int(1, 9);
  const int64_t half = random.Int(1, 20), rest = random.Chance(50) ? 0 : random.Int(1, 5);
  const int64_t dim = 2 * half + rest;
  nn::RotaryEmbeddingAttrs attrs;
  attrs.interleaved = random.Chance(50);
  if (rest > 0 || random.Chance(30)) attrs.rotary_dim = 2 * half;
  const bool split = random.Chance(50);
  if (!split) attrs.num_heads = heads;
  const Shape x = split ? Shape{batch, heads, length, dim} : Shape{batch, length, heads * dim};
  Tensor positions;
  Shape angles = {random.Chance(50) ? batch : 1, length, half};
  if (random.Chance(50)) {
    angles = {length + 3, half};
    positions = random.Ints({batch, length}, 0, length + 2);
  }
  return Make({random.Floats(x), random.Floats(angles, -1, 1), random.Floats(angles, -1, 1),
               std::move(positions)},
              {F32(x)}, MakeAttrs(attrs));
}

Case Attention(Random& random) {
  const AttentionSizes s(random);
  nn::AttentionAttrs attrs;
  attrs.is_causal = random.Chance(30);
  attrs.q_num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  const int layout = random.Chance(50) ? 0 : 2;
  return Make(
      {random.Floats(HeadShape(layout, s.batch, s.heads, s.q_len, s.dim), -1, 1),
       random.Floats(HeadShape(layout, s.batch, s.kv_heads, s.k_len, s.dim), -1, 1),
       random.Floats(HeadShape(layout, s.batch, s.kv_heads, s.k_len, s.v_dim)), s.Mask(random)},
      {F32(HeadShape(layout, s.batch, s.heads, s.q_len, s.v_dim))}, MakeAttrs(attrs));
}

Case Gelu(Random& random) {
  nn::GeluAttrs attrs;
  attrs.approximate = static_cast<nn::GeluApproximate>(random.Int(0, 2));
  return Unary(attrs)(random);
}

}  // namespace

const std::map<std::string, Generator>& Generators() {
  static const auto* const generators = new std::map<std::string, Generator>{
      {"fused.attention", FusedAttention},
      {"fused.conv", FusedConv},
      {"fused.group", Group},
      {"fused.compressed_linear", CompressedLinear},
      {"fused.linear", Linear},
      {"fused.rotary", Rotary},
      {"fused.skip_layer_norm", Norm<fused::SkipLayerNormAttrs, true, true>()},
      {"fused.skip_rms_norm", Norm<fused::SkipRmsNormAttrs, true, false>()},
      {"nn.attention", Attention},
      {"nn.rotary_embedding", RotaryEmbedding},
      {"nn.average_pool", Pool<nn::AveragePoolAttrs>()},
      {"nn.batch_norm", BatchNorm},
      {"nn.conv", Conv},
      {"nn.gelu", Gelu},
      {"nn.layer_norm", Norm<nn::LayerNormAttrs, false, true>()},
      {"nn.log_softmax", Softmax<nn::LogSoftmaxAttrs>()},
      {"nn.max_pool", Pool<nn::MaxPoolAttrs>()},
      {"nn.rms_norm", Norm<nn::RmsNormAttrs, false, false>()},
      {"nn.silu", Unary(nn::SiluAttrs())},
      {"nn.softmax", Softmax<nn::SoftmaxAttrs>()},
      {"ten.abs", Unary(ten::AbsAttrs())},
      {"ten.add", Binary},
      {"ten.and", Logic},
      {"ten.cast", Cast},
      {"ten.ceil", Unary(ten::CeilAttrs())},
      {"ten.clip", Unary(ten::ClipAttrs{.min = -1, .max = 2.5})},
      {"ten.concat", Concat},
      {"ten.cos", Unary(ten::CosAttrs(), -40, 40)},
      {"ten.div", Binary},
      {"ten.dynamic_expand", Expand},
      {"ten.dynamic_slice", DynamicSlice},
      {"ten.dynamic_tile", Tile},
      {"ten.equal", Compare},
      {"ten.elu", Unary(ten::EluAttrs{.alpha = 1.3f, .gamma = 1.1f, .width = 0.7f})},
      {"ten.erf", Unary(ten::ErfAttrs())},
      {"ten.exp", Unary(ten::ExpAttrs())},
      {"ten.expand", Expand},
      {"ten.floor", Unary(ten::FloorAttrs())},
      {"ten.gather", Gather},
      {"ten.greater", Compare},
      {"ten.greater_equal", Compare},
      {"ten.hard_sigmoid", Unary(ten::HardSigmoidAttrs())},
      {"ten.hard_swish", Unary(ten::HardSwishAttrs())},
      {"nn.mish", Unary(nn::MishAttrs(), -30, 30)},
      {"nn.group_norm", GroupNorm},
      {"fused.gated", Gated},
      {"fused.embedding", Embedding},
      {"ten.is_nan", IsNan},
      {"ten.leaky_relu", Unary(ten::LeakyReluAttrs())},
      {"ten.less", Compare},
      {"ten.less_equal", Compare},
      {"ten.log", Unary(ten::LogAttrs(), 0.01f)},
      {"ten.matmul", MatMul},
      {"ten.max", Binary},
      {"ten.min", Binary},
      {"ten.mul", Binary},
      {"ten.neg", Unary(ten::NegAttrs())},
      {"ten.not", Not},
      {"ten.or", Logic},
      {"ten.pad", Pad},
      {"ten.pow", Pow},
      {"ten.reciprocal", Unary(ten::ReciprocalAttrs(), 0.1f)},
      {"ten.reduce_l2", Reduce<ten::ReduceL2Attrs>()},
      {"ten.reduce_max", Reduce<ten::ReduceMaxAttrs>()},
      {"ten.reduce_mean", Reduce<ten::ReduceMeanAttrs>()},
      {"ten.reduce_min", Reduce<ten::ReduceMinAttrs>()},
      {"ten.reduce_prod", Reduce<ten::ReduceProdAttrs>()},
      {"ten.reduce_sum", Reduce<ten::ReduceSumAttrs>()},
      {"ten.relu", Unary(ten::ReluAttrs())},
      {"ten.round", Unary(ten::RoundAttrs())},
      {"ten.sigmoid", Unary(ten::SigmoidAttrs())},
      {"ten.sign", Unary(ten::SignAttrs())},
      {"ten.sin", Unary(ten::SinAttrs(), -40, 40)},
      {"ten.slice", Slice},
      {"ten.softplus", Unary(ten::SoftplusAttrs(), -30, 30)},
      {"ten.split", Split},
      {"ten.sqrt", Unary(ten::SqrtAttrs(), 0)},
      {"ten.sub", Binary},
      {"ten.tanh", Unary(ten::TanhAttrs())},
      {"ten.tile", Tile},
      {"ten.transpose", Transpose},
      {"ten.where", Where},
      {"ten.xor", Logic},
  };
  return *generators;
}

}  // namespace tenon::kernels::testing
