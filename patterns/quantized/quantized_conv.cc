// Convolutions of bytes that stand for numbers: of the bytes themselves, with the scales and the
// bias behind them.
#include <fmt/format.h>

#include "patterns/quantized/quantized_parts.h"

namespace tenon::pattern {
namespace {

struct ConvSpelling {
  DType x, w;
  bool with_bias, by_filter;  // by_filter: there is a scale for each filter, else one for all
  int rank = 0;               // by_filter: of the filters

  std::string Suffix() const {
    return fmt::format("{}-{}-{}{}", by_filter ? fmt::format("-filters-{}d", rank - 2) : "",
                       Name(x), Name(w), with_bias ? "-bias" : "");
  }
};

// [M, 1, …] with one axis for each spatial one.
Term ByChannel(const Val& w) { return ListOf({ExtentOf(w, 0), Spread(Ones(RankOf(w) - 2))}); }

// Numbers do not wrap around as the sums do.
Condition ConvSumsFit(const Val& w) {
  constexpr int64_t kMostTerms = INT32_MAX / (255 * 255);
  return If("sums of the products fit in 32 bits", ProductOf(Drop(ShapeOf(w), 1)) <= kMostTerms);
}

Rule QuantizedConv(const ConvSpelling& spelling, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const Bytes x("x", "x_offset", "x_scale", spelling.x, false);
  const Bytes w("w", "w_offset", "w_scale", spelling.w, true);
  ByteConvAttrs a;
  Val scales = Const("scales"), b = Const("b");
  const Val weights = spelling.by_filter ? Mul(w.centred, scales) : w.scaled;
  const Val sums = q::Conv(x.bytes, w.bytes, x.Zero(), w.Zero(), {}, {}, {}, a.To(DType::kF32));
  const Val factors = spelling.by_filter ? Mul(Reshape(scales, {.shape = ByChannel(w.bytes)}),
                                               Splat(FiniteScale(x.scale)))
                                         : Splat(ProductOfScales(x.scale, w.scale));
  const Val scaled = Mul(sums, factors);
  const Val biased =
      spelling.with_bias ? Add(scaled, Reshape(b, {.shape = ByChannel(w.bytes)})) : scaled;
  Condition has_scales;
  if (spelling.by_filter) {
    Dim M("M"), C("C"), H("H"), W("W");
    has_scales =
        (spelling.rank == 4 ? ShapeIs(w.bytes, {M, C, H, W}) && ShapeIs(scales, {M, 1, 1, 1})
                            : ShapeIs(w.bytes, {M, C, W}) && ShapeIs(scales, {M, 1, 1})) &&
        OnConstants(HasProducts(scales, x.scale));
  } else {
    has_scales = RankAtLeast(w.bytes, 3);
  }
  return Rule("quantized-conv" + spelling.Suffix(), file, line)
      .Summary("a convolution with constant bytes has sums of integers; scales go behind it")
      .Match(nn::Conv(x.scaled, weights, spelling.with_bias ? OptVal(b) : OptVal(), a.OfFloats()))
      .Where(x.Holds() && w.Holds() && ConvSumsFit(w.bytes) && has_scales)
      .Keep(x.numbers)
      .Keep(x.sum)
      .Keep(x.product)
      .Keep(w.numbers)
      .Keep(w.sum)
      .Keep(spelling.by_filter ? weights : w.product)
      .Replace(biased)
      .Lowers(OpsOf({"nn.conv"}))
      .RequireKernel();
}

}  // namespace

RuleSet QuantizedConvRules() {
  RuleSet rules;
  for (const DType x : {DType::kU8, DType::kI8}) {
    for (const DType w : {DType::kU8, DType::kI8}) {
      for (const bool with_bias : {false, true}) {
        rules.push_back(QuantizedConv({x, w, with_bias, false}));
        rules.push_back(QuantizedConv({x, w, with_bias, true, 3}));
        rules.push_back(QuantizedConv({x, w, with_bias, true, 4}));
      }
    }
  }
  return rules;
}

}  // namespace tenon::pattern
