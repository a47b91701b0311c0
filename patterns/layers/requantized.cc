// Convolutions of bytes whose results become bytes again: the scales and the rounding are
// parts of the convolution.
#include <fmt/format.h>

#include "patterns/layers/quantized_parts.h"

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

Rule Requantized(DType to, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const double least = to == DType::kU8 ? 0 : -128, most = to == DType::kU8 ? 255 : 127;
  Val x("x"), w("w"), x_zero("x_zero"), w_zero("w_zero"), s = Const("s");
  ByteConvAttrs a;
  Attr<float> step("step"), zero("zero");
  const Val sums = q::Conv(x, w, x_zero, w_zero, {}, {}, {}, a.To(DType::kF32));
  const Val scaled = Mul(sums, s);
  const auto rounded = [&](const Val& y) { return Round(Div(y, Splat(step))); };
  const Val plain = rounded(scaled), positive = rounded(Relu(scaled));
  // What a relu leaves are the bytes from the zero point on: all of them.
  const Val all =
      (least == 0 ? positive : Add(positive, Splat(least))).Let(zero, static_cast<float>(least));
  const Val bytes = Cast(
      Clip(AnyOf(Add(plain, Splat(zero)), plain.Let(zero, 0.0f), all), {.min = least, .max = most}),
      {.to = to});
  return Rule(fmt::format("requantized-conv-{}", Name(to)), file, line)
      .Summary("a convolution of bytes has a result of bytes: round(sum * scale) + zero point")
      .Match(bytes)
      .Where(
          DTypeIs(s, DType::kF32) && RankAtLeast(sums, 3) &&
          If("the zero point is a byte", zero == FloorOf(zero) && zero <= most && zero >= least) &&
          IsForFilters("there is a scale for each channel", s, sums))
      .Where(If("the step is positive", step > 0))
      .Replace(q::Conv(x, w, x_zero, w_zero, {}, Div(AsFilters(s, sums), Splat(step)),
                       Cast(Splat(zero), {.to = to}), a.To(to)))
      .Lowers(OpsOf({"ten.clip"}))
      .RequireKernel();
}

}  // namespace

RuleSet RequantizedRules() { return {Requantized(DType::kU8), Requantized(DType::kI8)}; }

}  // namespace tenon::pattern
