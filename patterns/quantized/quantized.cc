// Products of bytes that stand for numbers: of the bytes themselves, with the scales behind them.
#include <fmt/format.h>

#include "ir/core/attribute.h"
#include "ir/core/operation.h"
#include "patterns/quantized/quantized_parts.h"

namespace tenon::pattern {
namespace {

// For the names of rules.
std::string Types(DType x, DType w) { return fmt::format("-{}-{}", Name(x), Name(w)); }

struct Spelling {
  DType x, w;
  bool transposed;

  std::string Suffix() const { return Types(x, w) + (transposed ? "-transposed" : ""); }
  Val Weights(const Val& w_bytes) const {
    return transposed ? Transpose(w_bytes, {.perm = {1, 0}}) : w_bytes;
  }
  // Numbers do not wrap around as the sums do.
  Condition SumsFit(const Val& w_bytes) const {
    constexpr int64_t kMostTerms = INT32_MAX / (255 * 255);
    return If("sums of the products fit in 32 bits",
              RankOf(w_bytes) == 2 && ExtentOf(w_bytes, transposed ? 1 : 0) <= kMostTerms);
  }
};

Rule QuantizedLinear(const Spelling& spelling, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  const Bytes x("x", "x_offset", "x_scale", spelling.x, false);
  const Bytes w("w", "w_offset", "w_scale", spelling.w, true);
  return Rule("quantized-linear" + spelling.Suffix(), file, line)
      .Summary("a product with constant bytes has sums of integers; scales go behind it")
      .Match(Matmul(x.scaled, w.scaled, {.transpose_b = spelling.transposed}))
      .Where(x.Holds() && w.Holds() && RankAtLeast(x.bytes, 2) && Rank(w.bytes, 2) &&
             spelling.SumsFit(w.bytes))
      .Keep(x.numbers)
      .Keep(x.sum)
      .Keep(x.product)
      .Keep(w.numbers)
      .Keep(w.sum)
      .Keep(w.product)
      .Replace(Mul(
          q::Linear(x.bytes, spelling.Weights(w.bytes), x.Zero(), w.Zero(), {.to = DType::kF32}),
          Splat(ProductOfScales(x.scale, w.scale))))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// A scale for each column of the product.
Rule QuantizedLinearColumns(const Spelling& spelling, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  const Bytes x("x", "x_offset", "x_scale", spelling.x, false);
  const Bytes w("w", "w_offset", "w_scale", spelling.w, true);
  Dim K("K"), N("N");
  Val scales = Const("scales");
  Val weights = Mul(w.centred, scales);
  return Rule("quantized-linear-columns" + spelling.Suffix(), file, line)
      .Summary("a product with constant bytes has sums of integers; scales go behind it")
      .Match(Matmul(x.scaled, weights, {.transpose_b = spelling.transposed}))
      .Where(x.Holds() && w.Holds() && RankAtLeast(x.bytes, 2) && spelling.SumsFit(w.bytes) &&
             (spelling.transposed ? ShapeIs(w.bytes, {N, K}) && ShapeIs(scales, {N, 1})
                                  : ShapeIs(w.bytes, {K, N}) && ShapeIs(scales, {1, N})))
      .Where(OnConstants(HasProducts(scales, x.scale)))
      .Keep(x.numbers)
      .Keep(x.sum)
      .Keep(x.product)
      .Keep(w.numbers)
      .Keep(w.sum)
      .Keep(weights)
      .Replace(Mul(
          q::Linear(x.bytes, spelling.Weights(w.bytes), x.Zero(), w.Zero(), {.to = DType::kF32}),
          Mul(Reshape(scales, {.shape = {N}}), Splat(FiniteScale(x.scale)))))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// The sums of what was written with integers, as MatMulInteger.
Rule QuantizedLinearToFloat(DType x_type, DType w_type, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  Val x("x"), w("w"), x_zero("x_zero"), w_zero("w_zero");
  return Rule("quantized-linear-to-float" + Types(x_type, w_type), file, line)
      .Summary("sums of integers that are read as floats")
      .Match(Cast(q::Linear(x, w, x_zero, w_zero, {.to = DType::kI32}), {.to = DType::kF32}))
      .Where(DTypeIs(x, x_type) && DTypeIs(w, w_type) && DTypeIs(x_zero, x_type) &&
             DTypeIs(w_zero, w_type))
      .Replace(q::Linear(x, w, x_zero, w_zero, {.to = DType::kF32}));
}

// Of a table of bytes only the rows that are looked up become floats.
Rule QuantizedGather(DType type, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Bytes table("table", "offset", "scale", type, true);
  Val index("index");
  Attr<int64_t> axis("axis");
  return Rule(fmt::format("quantized-gather-{}", Name(type)), file, line)
      .Summary("rows of constant bytes become numbers after they have been looked up")
      .Match(Gather(table.scaled, index, {.axis = axis}))
      .Where(table.Holds())
      .Keep(table.numbers)
      .Keep(table.sum)
      .Keep(table.product)
      .Replace(Mul(Add(Cast(Gather(table.bytes, index, {.axis = axis}), {.to = DType::kF32}),
                       Splat(table.offset)),
                   Splat(table.scale)))
      .Lowers(OpsBefore({"ten.cast"}, {"ten.gather"}));
}

}  // namespace

RuleSet QuantizedRules() {
  RuleSet rules;
  for (const DType x : {DType::kU8, DType::kI8}) {
    rules.push_back(QuantizedGather(x));
    for (const DType w : {DType::kU8, DType::kI8}) {
      for (const bool transposed : {false, true}) {
        rules.push_back(QuantizedLinear({x, w, transposed}));
        rules.push_back(QuantizedLinearColumns({x, w, transposed}));
      }
      rules.push_back(QuantizedLinearToFloat(x, w));
    }
  }
  return rules;
}

}  // namespace tenon::pattern
