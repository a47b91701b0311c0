// Convolutions of bytes whose results become bytes again: the scales and the rounding are
// parts of the convolution.
#include <fmt/format.h>

#include "patterns/quantized/quantized_parts.h"

namespace tenon::pattern {
namespace {

// A number for each channel, or for all, as [M].
Val AsFilters(const Val& v, const Val& conv) {
  return Reshape(Expand(v, {.shape = ListOf({ExtentOf(conv, 1), Spread(Ones(RankOf(conv) - 2))})}),
                 {.shape = ListOf({ExtentOf(conv, 1)})});
}

Condition IsForFilters(const char* words, const Val& v, const Val& conv) {
  return If(words, Or(IsPerChannel(v, conv), IsNumber(v, conv)));
}

// A summand of whole steps of the scales becomes the start of the sums. by_filter: there is a scale
// for each filter, else one for all.
Rule BiasOfSteps(int axes, bool by_filter, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  Val x("x"), w("w"), x_zero("x_zero"), w_zero("w_zero"), s = Const("s"), b = Const("b");
  ByteConvAttrs a;
  Dim M("M");
  const Val sums = q::Conv(x, w, x_zero, w_zero, {}, {}, {}, a.To(DType::kF32));
  const auto as_row = [&](const Val& v) {
    return Reshape(v, {.shape = ListOf({ExtentOf(sums, 1)})});
  };
  const auto is_by_channel = [&](const Val& v) {
    return axes == 1 ? ShapeIs(v, {M, 1}) : ShapeIs(v, {M, 1, 1});
  };
  const Val steps = Cast(Round(Div(as_row(b), by_filter ? as_row(s) : s)), {.to = DType::kI32});
  constexpr double kLargestProduct = 255 * 255;
  const Term largest = ProductOf(Drop(ShapeOf(w), 1)) * kLargestProduct + LargestMultiple(b, s);
  return Rule(fmt::format("bias-of-steps-conv{}-{}d", by_filter ? "-filters" : "", axes), file,
              line)
      .Summary("a bias of whole steps is one of the integers that a convolution of bytes adds")
      .Match(Add(Mul(sums, s), b))
      .Where(RankAtLeast(sums, axes + 2) && DTypeIs(s, DType::kF32) && DTypeIs(b, DType::kF32) &&
             If("there are no more axes", RankOf(sums) == axes + 2) && is_by_channel(b) &&
             (by_filter ? is_by_channel(s) : ShapeIs(s, {})))
      .Where(OnConstants(If("the sums fit in 32 bits", largest <= static_cast<double>(INT32_MAX))))
      .Replace(Mul(q::Conv(x, w, x_zero, w_zero, steps, {}, {}, a.To(DType::kF32)), s))
      .Lowers(OpsOf({"ten.add"}))
      .RequireKernel();
}

Rule Requantized(DType to, bool with_bias, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  const double least = to == DType::kU8 ? 0 : -128, most = to == DType::kU8 ? 255 : 127;
  Val x("x"), w("w"), x_zero("x_zero"), w_zero("w_zero"), s = Const("s"), b("b");
  ByteConvAttrs a;
  const OptVal bias = with_bias ? OptVal(b) : OptVal();
  Attr<float> step("step"), zero("zero");
  const Val sums = q::Conv(x, w, x_zero, w_zero, bias, {}, {}, a.To(DType::kF32));
  const Val scaled = Mul(sums, s);
  const auto rounded = [&](const Val& y) { return Round(Div(y, Splat(step))); };
  const Val plain = rounded(scaled), positive = rounded(Relu(scaled));
  // What a relu leaves are the bytes from the zero point on: all of them.
  const Val all =
      (least == 0 ? positive : Add(positive, Splat(least))).Let(zero, static_cast<float>(least));
  const Val bytes = Cast(
      Clip(AnyOf(Add(plain, Splat(zero)), plain.Let(zero, 0.0f), all), {.min = least, .max = most}),
      {.to = to});
  return Rule(fmt::format("requantized-conv-{}{}", Name(to), with_bias ? "-bias" : ""), file, line)
      .Summary("a convolution of bytes has a result of bytes: round(sum * scale) + zero point")
      .Match(bytes)
      .Where(
          DTypeIs(s, DType::kF32) && RankAtLeast(sums, 3) &&
          If("the zero point is a byte", zero == FloorOf(zero) && zero <= most && zero >= least) &&
          IsForFilters("there is a scale for each channel", s, sums))
      .Where(If("the step is positive", step > 0))
      .Where(with_bias ? DTypeIs(b, DType::kI32) : Condition())
      .Replace(q::Conv(x, w, x_zero, w_zero, bias, Div(AsFilters(s, sums), Splat(step)),
                       Cast(Splat(zero), {.to = to}), a.To(to)))
      .Lowers(OpsOf({"ten.clip"}))
      .RequireKernel();
}

}  // namespace

RuleSet RequantizedRules() {
  RuleSet rules;
  for (const int axes : {1, 2}) {
    for (const bool by_filter : {false, true}) rules.push_back(BiasOfSteps(axes, by_filter));
  }
  for (const DType to : {DType::kU8, DType::kI8}) {
    for (const bool with_bias : {false, true}) rules.push_back(Requantized(to, with_bias));
  }
  return rules;
}

}  // namespace tenon::pattern
