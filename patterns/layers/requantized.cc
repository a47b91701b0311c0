// Convolutions of bytes whose results become bytes again: the scales, the bias and the rounding are
// parts of the convolution.
#include <fmt/format.h>

#include "ir/dialect/core_ops.h"
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

// Does each element of the bias stand for a whole number of steps of the sums, as a bias of
// integers does after it has been scaled? Such integers have so few bits that the quotient of
// rounded numbers is close to them.
bool IsWholeSteps(Value bias, Value scale) {
  constexpr double kMostSteps = 1 << 22, kTolerance = 1.0 / 4;
  const tenon::core::ConstantOp b = DefinedBy<tenon::core::ConstantOp>(bias);
  const tenon::core::ConstantOp s = DefinedBy<tenon::core::ConstantOp>(scale);
  if (!b || !s) return false;
  const Attribute biases = b.value(), scales = s.value();
  const int64_t nb = bias.type().num_elements(), ns = scale.type().num_elements();
  if (nb == 0 || ns == 0 || (nb != ns && nb != 1 && ns != 1)) return false;
  for (int64_t i = 0; i < std::max(nb, ns); ++i) {
    const double steps =
        biases.ElementAsDouble(nb == 1 ? 0 : i) / scales.ElementAsDouble(ns == 1 ? 0 : i);
    const double whole = std::nearbyint(steps);
    // Written so that NaN is none.
    if (!(std::abs(whole) <= kMostSteps)) return false;
    if (!(std::abs(steps - whole) <= kTolerance * std::max(1.0, std::abs(whole)) / kMostSteps)) {
      return false;
    }
  }
  return true;
}

Rule Requantized(DType to, bool with_bias, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  const double least = to == DType::kU8 ? 0 : -128, most = to == DType::kU8 ? 255 : 127;
  Val x("x"), w("w"), x_zero("x_zero"), w_zero("w_zero"), s = Const("s"), b = Const("b");
  ByteConvAttrs a;
  Attr<float> step("step"), zero("zero");
  Attr<double> low("low"), high("high");
  const Val sums = q::Conv(x, w, x_zero, w_zero, {}, {}, {}, a.To(DType::kF32));
  const Val scaled = Mul(sums, s);
  const Val biased = with_bias ? Add(scaled, b) : scaled;
  const Val activated =
      AnyOf(Relu(biased).Let(low, 0.0).Let(high, kLargest), Clip(biased, {.min = low, .max = high}),
            biased.Let(low, kLowest).Let(high, kLargest));
  const Val rounded = Round(Div(activated, Splat(step)));
  const Val bytes = Cast(
      Clip(AnyOf(Add(rounded, Splat(zero)), rounded.Let(zero, 0.0f)), {.min = least, .max = most}),
      {.to = to});
  const Val steps = Cast(Round(Div(AsFilters(b, sums), AsFilters(s, sums))), {.to = DType::kI32});
  Condition whole;
  if (with_bias) {
    whole = IsForFilters("the bias has a number for each channel", b, sums) &&
            If("the bias is a whole number of steps of the sums", IsWholeSteps, b, s);
  }
  return Rule(fmt::format("requantized-conv-{}{}", Name(to), with_bias ? "-bias" : ""), file, line)
      .Summary("a convolution of bytes has a result of bytes: round(sum * scale) + zero point")
      .Match(bytes)
      .Where(
          DTypeIs(s, DType::kF32) && RankAtLeast(sums, 3) &&
          If("the zero point is a byte", zero == FloorOf(zero) && zero <= most && zero >= least) &&
          IsForFilters("there is a scale for each channel", s, sums) && whole)
      .Where(If("the activation leaves all bytes",
                step > 0 && low <= (least - Term(zero)) * Term(step) &&
                    high >= (most - Term(zero) - 0.499) * Term(step)))
      .Replace(q::Conv(x, w, x_zero, w_zero, with_bias ? OptVal(steps) : OptVal(),
                       Div(AsFilters(s, sums), Splat(step)), Cast(Splat(zero), {.to = to}),
                       a.To(to)))
      .Lowers(OpsOf({"ten.round"}))
      .Opaque("a bias is compared with the scales element by element")
      .RequireKernel();
}

}  // namespace

RuleSet RequantizedRules() {
  return {Requantized(DType::kU8, false), Requantized(DType::kU8, true),
          Requantized(DType::kI8, false), Requantized(DType::kI8, true)};
}

}  // namespace tenon::pattern
