// Convolutions, pooling and what else works on images.
#include <algorithm>
#include <type_traits>

#include "kernels/op_attrs.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

// Shapes of a convolution with random strides, dilations and padding, over 1 to 3 axes. A third of
// them are windows of 3 x 3 over enough channels for Winograd's method; some have gaps so wide that
// much of every window is padding.
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
  const bool gaps = !deep && !pointwise && random.Chance(20);
  Shape begins, ends;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t kernel = pointwise ? 1 : deep ? 3 : random.Int(1, 4);
    const int64_t stride = pointwise || deep ? 1 : random.Int(1, 3);
    const int64_t dilation = deep ? 1 : gaps ? random.Int(3, 12) : random.Int(1, 2);
    const int64_t span = (kernel - 1) * dilation + 1;
    const int64_t most = axes < 3 ? 24 : 10, in = random.Int(std::min(span, most), most);
    const int64_t least = std::max<int64_t>(0, (span - in + 1) / 2);  // padding, for a result
    const int64_t begin = pointwise ? 0 : random.Int(least, span - 1);
    const int64_t end = pointwise ? 0 : random.Int(least, span - 1);
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

// The shapes and attributes of a convolution of floats, with bytes.
Case QConv(Random& random) {
  const DType x_type = random.Chance(70) ? DType::kU8 : DType::kI8;
  const DType w_type = random.Chance(70) ? DType::kI8 : DType::kU8;
  constexpr DType kResults[] = {DType::kI32, DType::kF32, DType::kI8, DType::kU8, DType::kU8};
  const DType to = kResults[random.Int(0, 4)];
  q::ConvAttrs attrs;
  attrs.to = to;
  const Case floats = ConvCase(random, attrs, false);
  const Shape x = floats.inputs[0].shape, w = floats.inputs[1].shape;
  const bool is_byte = to == DType::kI8 || to == DType::kU8;
  Tensor x_zero = random.Bytes(x_type, random.Chance(50) ? Shape{} : Shape{1});
  Tensor w_zero = random.Bytes(w_type, random.Chance(50) ? Shape{} : Shape{w[0]});
  if (random.Chance(40)) *x_zero.data<uint8_t>() = 0;
  if (random.Chance(60)) std::fill_n(w_zero.data<uint8_t>(), w_zero.numel(), uint8_t{0});
  // The zero point of unsigned numbers that are signed ones in disguise.
  if (w_type == DType::kU8 && random.Chance(50)) {
    std::fill_n(w_zero.data<uint8_t>(), w_zero.numel(), uint8_t{128});
  }
  Tensor bias, scale, out_zero;
  if (random.Chance(60)) {
    bias = Tensor(DType::kI32, {w[0]});
    for (int64_t i = 0; i < w[0]; ++i) {
      bias.data<int32_t>()[i] = static_cast<int32_t>(random.Int(-3000, 3000));
    }
  }
  if (is_byte) {
    scale = random.Floats(random.Chance(50) ? Shape{} : Shape{w[0]}, 0.0001f, 0.02f);
    // Sums that lie halfway between two integers.
    if (random.Chance(30)) std::fill_n(scale.data<float>(), scale.numel(), 0.03125f);
    if (random.Chance(70)) out_zero = random.Bytes(to, {});
  }
  std::vector<size_t> constant;
  if (random.Chance(90)) constant = {1, 3};
  return Make(
      {random.Bytes(x_type, x), random.Bytes(w_type, w), x_zero, w_zero, bias, scale, out_zero},
      {Tensor(to, floats.outputs[0].shape)}, floats.attrs, constant);
}

// Transposed convolutions over 1 to 3 axes: windows smaller, as large as and larger than the steps,
// with gaps, images of single pixels, and rows too short for a group of pixels.
template <typename Attrs>
Case ConvTransposeCase(Random& random, Attrs attrs) {
  const bool channels_last = random.Chance(90);
  const size_t axes = random.Chance(70) ? 2 : random.Chance(80) ? 1 : 3;
  attrs.group = random.Chance(8) ? 2 : 1;
  const bool wide = random.Chance(30);
  const int64_t channels = attrs.group * random.Int(1, wide ? 40 : 9);
  const int64_t filters = random.Int(1, wide ? 70 : 20);
  Shape x = {random.Chance(4) ? 0 : random.Int(1, 3), channels}, w = {channels, filters};
  Shape out = {x[0], attrs.group * filters}, ends;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t kernel = random.Int(1, axes < 3 ? 6 : 3), stride = random.Int(1, 4);
    const int64_t dilation = random.Chance(25) ? random.Int(2, 3) : 1;
    const int64_t span = (kernel - 1) * dilation + 1;
    const int64_t in = random.Chance(15) ? 1 : random.Int(1, axes < 3 ? 20 : 6);
    const int64_t more = random.Int(0, std::max(stride, dilation) - 1);
    const int64_t full = (in - 1) * stride + span + more;
    const int64_t begin = random.Int(0, std::min(span - 1, full - 1));
    const int64_t end = random.Int(0, std::min(span - 1, full - 1 - begin));
    attrs.strides.push_back(stride);
    attrs.dilations.push_back(dilation);
    attrs.output_padding.push_back(more);
    attrs.pads.push_back(begin);
    ends.push_back(end);
    x.push_back(in);
    w.push_back(kernel);
    out.push_back(full - begin - end);
  }
  attrs.pads.insert(attrs.pads.end(), ends.begin(), ends.end());
  if (channels_last) {
    attrs.layout = decltype(attrs.layout)::kNhwc;
    std::rotate(x.begin() + 1, x.begin() + 2, x.end());
    std::rotate(out.begin() + 1, out.begin() + 2, out.end());
  }
  Tensor bias;
  if (random.Chance(60)) bias = random.Floats({attrs.group * filters});
  std::vector<size_t> constant;
  if (random.Chance(70)) constant = {1};
  int64_t depth = channels / attrs.group;
  for (size_t i = 2; i < w.size(); ++i) depth *= w[i];
  Case result = Make({random.Floats(x, -1, 1), random.Floats(w, -1, 1), bias}, {F32(out)},
                     MakeAttrs(attrs), constant);
  result.magnitude = std::sqrt(static_cast<float>(depth));
  return result;
}

Case ConvTranspose(Random& random) { return ConvTransposeCase(random, nn::ConvTransposeAttrs()); }

Case FusedConvTranspose(Random& random) {
  fused::ConvTransposeAttrs attrs;
  SetActivation(random, attrs);
  return ConvTransposeCase(random, attrs);
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
    const bool has_bytes = std::is_same_v<Attrs, nn::MaxPoolAttrs> && random.Chance(34);
    if (random.Chance(has_bytes ? 95 : 50)) {
      attrs.layout = decltype(attrs.layout)::kNhwc;
      std::rotate(x.begin() + 1, x.begin() + 2, x.end());
      std::rotate(out.begin() + 1, out.begin() + 2, out.end());
    }
    if (has_bytes) {
      const DType dtype = random.Chance(50) ? DType::kU8 : DType::kI8;
      return Make({random.Bytes(dtype, x)}, {Tensor(dtype, out)}, MakeAttrs(attrs));
    }
    return Make({random.Floats(x)}, {F32(out)}, MakeAttrs(attrs));
  };
}

Case BatchNorm(Random& random) {
  const Shape shape = random.RandomShape(2);
  const Shape c = {shape[1]};
  return Make({random.Floats(shape), random.Floats(c), random.Floats(c), random.Floats(c),
               random.Floats(c, 0.1f, 2)},
              {F32(shape)}, MakeAttrs(nn::BatchNormAttrs()));
}

// Up to three axes change, by any mode, with channels behind them or not.
Case Resize(Random& random) {
  ten::ResizeAttrs attrs;
  attrs.mode = static_cast<ten::ResizeMode>(random.Int(0, 2));
  attrs.coordinate_mode = static_cast<ten::ResizeCoordinateMode>(random.Int(0, 4));
  attrs.nearest_mode = static_cast<ten::ResizeNearestMode>(random.Int(0, 3));
  attrs.antialias = attrs.mode != ten::ResizeMode::kNearest && random.Chance(25);
  attrs.exclude_outside = attrs.mode == ten::ResizeMode::kCubic && random.Chance(25);
  const size_t axes = random.Chance(70) ? 2 : random.Chance(50) ? 1 : 3;
  Shape x = {random.Int(1, 2), random.Int(1, 3)};
  Shape out = x;
  for (size_t i = 0; i < axes; ++i) {
    x.push_back(random.Int(1, 9));
    out.push_back(random.Chance(40) ? 2 * x.back() : random.Int(1, 19));
  }
  if (random.Chance(50)) {
    x.push_back(random.Int(1, 70));
    out.push_back(x.back());
  }
  if (random.Chance(30)) {
    for (size_t i = 0; i < x.size(); ++i) {
      attrs.scales.push_back(static_cast<float>(out[i]) / static_cast<float>(x[i]));
    }
  }
  return Make({random.Floats(x)}, {F32(out)}, MakeAttrs(attrs));
}

}  // namespace

GeneratorsByOp ConvCases() {
  return {
      {"fused.conv", FusedConv},
      {"fused.conv_transpose", FusedConvTranspose},
      {"nn.average_pool", Pool<nn::AveragePoolAttrs>()},
      {"nn.batch_norm", BatchNorm},
      {"nn.conv", Conv},
      {"nn.conv_transpose", ConvTranspose},
      {"nn.max_pool", Pool<nn::MaxPoolAttrs>()},
      {"q.conv", QConv},
      {"ten.resize", Resize},
  };
}

}  // namespace tenon::kernels::testing
