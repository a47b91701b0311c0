// Matrix products and linear layers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

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

// Sometimes one element of the rows is infinite or NaN, which an activation must not hide.
void MaySpoil(Random& random, Tensor& x) {
  if (x.numel() == 0 || !random.Chance(25)) return;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float values[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()};
  x.data<float>()[random.Int(0, x.numel() - 1)] = values[random.Int(0, 2)];
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
  Tensor rows = random.Floats(x, -1, 1);
  MaySpoil(random, rows);
  return Make(
      {rows, random.Floats(attrs.transpose_w ? Shape{n, k} : Shape{k, n}, -1, 1), bias, residual},
      {F32(out)}, MakeAttrs(attrs), constant);
}

// A linear layer with a norm behind or before it. Few rows, or so many that they make several
// blocks.
template <typename Attrs, bool kNormBehind>
Case LinearWithNorm(Random& random) {
  Attrs attrs;
  SetActivation(random, attrs);
  attrs.transpose_w = random.Chance(40);
  attrs.norm = static_cast<decltype(attrs.norm)>(random.Int(0, 1));
  Shape x = random.Chance(15) ? Shape{random.Int(100, 2500)} : random.RandomShape(0, 2), out = x;
  const bool small = out.size() == 1 && out[0] > 100;
  const int64_t k = small ? random.Int(1, 40) : random.Extent();
  const int64_t n = small ? random.Int(1, 40) : random.Extent();
  x.push_back(k), out.push_back(n);
  const Shape row = {kNormBehind ? n : k};
  Tensor bias, residual, scale, norm_bias;
  if (random.Chance(60)) bias = random.Floats({n});
  if (random.Chance(50))
    residual = random.Floats(random.Chance(80) ? out : BroadcastInput(random, out));
  if (random.Chance(70)) scale = random.Floats(row);
  if (static_cast<int>(attrs.norm) == 0 && random.Chance(70)) norm_bias = random.Floats(row);
  std::vector<size_t> constant;
  if (random.Chance(60)) constant = {1};
  std::vector<Tensor> outputs = {F32(out)};
  if (kNormBehind) outputs.push_back(F32(out));
  return Make(
      {random.Floats(x, -1, 1), random.Floats(attrs.transpose_w ? Shape{n, k} : Shape{k, n}, -1, 1),
       bias, residual, scale, norm_bias},
      std::move(outputs), MakeAttrs(attrs), constant);
}

Case LinearChain(Random& random) {
  fused::LinearChainAttrs attrs;
  SetActivation(random, attrs);
  attrs.transpose_w = random.Chance(40);
  attrs.biased = random.Chance(70);
  attrs.activate_last = random.Chance(50);
  Shape x = random.Chance(20) ? Shape{random.Int(100, 2500)} : random.RandomShape(0, 2), out = x;
  const auto extent = [&] {
    return !out.empty() && out[0] > 100 ? random.Int(1, 30) : random.Extent();
  };
  int64_t columns = extent();
  x.push_back(columns);
  std::vector<Tensor> inputs = {random.Floats(x, -1, 1), Tensor()};
  std::vector<size_t> constant;
  const bool is_constant = random.Chance(60);
  for (int64_t i = 0, layers = random.Int(1, 4); i < layers; ++i) {
    const int64_t rows = columns;
    columns = extent();
    const auto bound =
        static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, rows))));
    if (is_constant) constant.push_back(inputs.size());
    inputs.push_back(random.Floats(attrs.transpose_w ? Shape{columns, rows} : Shape{rows, columns},
                                   -bound, bound));
    if (!attrs.biased) continue;
    if (is_constant) constant.push_back(inputs.size());
    inputs.push_back(random.Floats({columns}, -1, 1));
  }
  out.push_back(columns);
  if (random.Chance(50))
    inputs[1] = random.Floats(random.Chance(80) ? out : BroadcastInput(random, out));
  return Make(std::move(inputs), {F32(out)}, MakeAttrs(attrs), constant);
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

Case QLinear(Random& random) {
  const DType x_type = random.Chance(70) ? DType::kU8 : DType::kI8;
  const DType w_type = random.Chance(50) ? DType::kU8 : DType::kI8;
  Shape out = random.RandomShape(0, 2);
  Shape x = out;
  // Depths of more than a block of the product, and rows that lie badly, are rare.
  const int64_t k = random.Chance(5)    ? random.Int(9000, 20000)
                    : random.Chance(10) ? 4096 * random.Int(1, 2)
                                        : random.Extent();
  const int64_t n = random.Extent();
  x.push_back(k);
  out.push_back(n);
  Tensor x_zero = random.Bytes(x_type, random.Chance(50) ? Shape{} : Shape{1});
  Tensor w_zero = random.Bytes(w_type, random.Chance(50) ? Shape{} : Shape{n});
  if (random.Chance(40)) *x_zero.data<uint8_t>() = 0;
  if (random.Chance(40)) std::fill_n(w_zero.data<uint8_t>(), w_zero.numel(), uint8_t{0});
  // The zero point of unsigned numbers that are signed ones in disguise.
  if (w_type == DType::kU8 && random.Chance(30)) {
    std::fill_n(w_zero.data<uint8_t>(), w_zero.numel(), uint8_t{128});
  }
  std::vector<size_t> constant;
  if (random.Chance(90)) constant = {1, 3};
  const DType to = random.Chance(50) ? DType::kI32 : DType::kF32;
  return Make({random.Bytes(x_type, x), random.Bytes(w_type, {k, n}), x_zero, w_zero},
              {Tensor(to, out)}, MakeAttrs(q::LinearAttrs{to}), constant);
}

Case ExpertLinear(Random& random) {
  fused::ExpertLinearAttrs attrs;
  attrs.transpose_w = random.Chance(50);
  const int64_t rows = random.Chance(30) ? 1 : random.Extent(), experts = random.Int(1, 9);
  const int64_t k = random.Extent(), n = random.Extent();
  const Shape w = attrs.transpose_w ? Shape{experts, n, k} : Shape{experts, k, n};
  std::vector<size_t> constant;
  if (random.Chance(60)) constant = {1};
  return Make(
      {random.Floats({rows, k}), random.Floats(w), random.Ints({rows}, -experts, experts - 1)},
      {F32({rows, n})}, MakeAttrs(attrs), std::move(constant));
}

Case SquaredMatSub(Random& random) {
  fused::SquaredMatSubAttrs attrs;
  attrs.transpose_w = random.Chance(50);
  attrs.scale = random.Chance(50) ? 0.5f : 1.0f;
  Shape out = random.RandomShape(0, 2), x = out;
  const int64_t k = random.Extent(), n = random.Extent();
  x.push_back(k);
  out.push_back(n);
  const Shape w = attrs.transpose_w ? Shape{n, k} : Shape{k, n};
  std::vector<size_t> constant;
  if (random.Chance(80)) constant = {1, 2};
  return Make({random.Floats(x, -1, 1), random.Floats(w, -1, 1), random.Floats(w, 0, 1)},
              {F32(out)}, MakeAttrs(attrs), std::move(constant));
}

}  // namespace

GeneratorsByOp LinearCases() {
  return {
      {"fused.expert_linear", ExpertLinear},
      {"fused.compressed_linear", CompressedLinear},
      {"fused.linear", Linear},
      {"fused.linear_chain", LinearChain},
      {"fused.linear_norm", LinearWithNorm<fused::LinearNormAttrs, true>},
      {"fused.norm_linear", LinearWithNorm<fused::NormLinearAttrs, false>},
      {"fused.squared_mat_sub", SquaredMatSub},
      {"q.linear", QLinear},
      {"ten.matmul", MatMul},
  };
}

}  // namespace tenon::kernels::testing
