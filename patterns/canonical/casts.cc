// Round trips through wider types: what f16 numbers give that are computed in f32 and rounded again
// is what the operation gives for f16 itself. Kernels of 16 bits compute in f32, and one sum,
// difference, product or quotient that is rounded to 24 bits and then to 11 is as if it were
// rounded once (Figueroa, 1995).
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

struct RoundTrip {
  DType narrow, wide;
  Val Widened(const Val& x) const { return Cast(x, {.to = wide}); }
  Val Narrowed(const Val& x) const { return Cast(x, {.to = narrow}); }
  std::string Name(std::string_view of) const {
    const auto text = [](DType type) {
      return type == DType::kF16    ? "f16"
             : type == DType::kBF16 ? "bf16"
             : type == DType::kF32  ? "f32"
                                    : "f64";
    };
    return std::string(text(narrow)) + "-in-" + text(wide) + std::string(of);
  }
  Rule Named(std::string_view of, const Val& x, const char* file, int line) const {
    return Rule(Name(of), file, line)
        .Summary("numbers that are widened and rounded again without need")
        .Where(DTypeIs(x, narrow));
  }
};

Rule RoundTripOfNothing(const RoundTrip& t, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x");
  return t.Named("", x, file, line).Match(t.Narrowed(t.Widened(x))).Replace(x);
}

Rule RoundTripOfReshape(const RoundTrip& t, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x");
  Attr<Dims> shape("shape");
  return t.Named("-reshaped", x, file, line)
      .Match(t.Narrowed(Reshape(t.Widened(x), {.shape = shape})))
      .Replace(Reshape(x, {.shape = shape}));
}

Rule RoundTripOfTranspose(const RoundTrip& t, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  Val x("x");
  Attr<I64s> perm("perm");
  return t.Named("-transposed", x, file, line)
      .Match(t.Narrowed(Transpose(t.Widened(x), {.perm = perm})))
      .Replace(Transpose(x, {.perm = perm}));
}

template <typename Op>
Rule RoundTripOfPair(const RoundTrip& t, const char* of, const Op& op,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), y("y");
  return t.Named(of, x, file, line)
      .Where(DTypeIs(y, t.narrow))
      .Match(t.Narrowed(op(t.Widened(x), t.Widened(y))))
      .MayCoincide()
      .Replace(op(x, y));
}

}  // namespace

RuleSet CastsRules() {
  RuleSet rules;
  for (const RoundTrip& t :
       {RoundTrip{DType::kF16, DType::kF32}, RoundTrip{DType::kBF16, DType::kF32},
        RoundTrip{DType::kF32, DType::kF64}}) {
    rules.push_back(RoundTripOfNothing(t));
    rules.push_back(RoundTripOfReshape(t));
    rules.push_back(RoundTripOfTranspose(t));
    if (t.narrow == DType::kF32) continue;  // sums of f32 in f64 are more exact, not the same
    rules.push_back(
        RoundTripOfPair(t, "-added", [](const Val& a, const Val& b) { return Add(a, b); }));
    rules.push_back(
        RoundTripOfPair(t, "-subtracted", [](const Val& a, const Val& b) { return Sub(a, b); }));
    rules.push_back(
        RoundTripOfPair(t, "-multiplied", [](const Val& a, const Val& b) { return Mul(a, b); }));
    rules.push_back(
        RoundTripOfPair(t, "-divided", [](const Val& a, const Val& b) { return Div(a, b); }));
  }
  return rules;
}

}  // namespace tenon::pattern
