// Wider heads: scores that are sums of two products, and probabilities that weigh two kinds of
// values, as one product each of what stands beside each other. Attention is as any other then.
#include "ir/core/operation.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// A product and the number that it is multiplied or divided by, if there is one.
Val Scaled(const Val& product, const Attr<float>& multiplier, const Attr<float>& divisor,
           const Attr<float>& factor) {
  return AnyOf(Mul(product, Splat(multiplier)).Let(factor, Real(multiplier)),
               Div(product, Splat(divisor)).Let(factor, 1.0 / divisor), product.Let(factor, 1));
}

// Keys as [B, H, T, D].
Val UprightKeys(const Val& k, const Attr<bool>& transposed) {
  return Transpose(k, {.perm = Choose(transposed, ListOf({0, 1, 2, 3}), ListOf({0, 1, 3, 2}))});
}

// Queries that are multiplied by a larger number might overflow where the scores do not.
Condition IsModerateShrink(const char* words, const Term& scale) {
  return If(words, And(IsModerateNumber(scale), Compare(AbsOf(scale), "<=", 1)));
}

// Scores of two kinds of queries and keys, of text and of its layout, are those of both beside each
// other. Only before a softmax: elsewhere the products may be wanted as they are.
Rule TwoKeys(const char* name, bool with_mask, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  Val a("a"), b("b"), c("c"), d("d"), mask("mask");
  Attr<bool> tb("transposed_b"), td("transposed_d");
  Attr<float> first("first"), second("second");
  Attr<float> p("multiplier"), q("divisor"), r("second_multiplier"), s("second_divisor");
  Dim B("B"), H("H"), S("S"), T("T"), D("D"), E("E");
  Val one = Matmul(a, b, {.transpose_b = tb}), two = Matmul(c, d, {.transpose_b = td});
  Val sum = Add(Scaled(one, p, q, first), Scaled(two, r, s, second));
  Val made =
      Matmul(Concat({Mul(a, Splat(first)), Mul(c, Splat(second))}, {.axis = 3}),
             Concat({UprightKeys(b, tb), UprightKeys(d, td)}, {.axis = 3}), {.transpose_b = true});
  return Rule(name, file, line)
      .Summary(with_mask ? "… also under a mask"
                         : "softmax(q1 k1^T + q2 k2^T) = softmax([q1, q2] [k1, k2]^T)")
      .Match(Softmax(with_mask ? Add(sum, mask) : sum, {.axis = 3}))
      .Where(ShapeIs(a, {B, H, S, D}) && ShapeIs(c, {B, H, S, E}) && ShapeIs(one, {B, H, S, T}) &&
             ShapeIs(two, {B, H, S, T}) && ShapeIs(b, {B, H, AnyDim(), AnyDim()}) &&
             ShapeIs(d, {B, H, AnyDim(), AnyDim()}))
      .Where(IsFloat(a) && !IsConstant(b) && !IsConstant(d))
      .Where(IsModerateShrink("the scale is a moderate number of at most 1", first) &&
             IsModerateShrink("the second scale is a moderate number of at most 1", second))
      .Replace(Softmax(with_mask ? Add(made, mask) : made, {.axis = 3}))
      .Lowers(OpsOf({"ten.matmul"}));
}

// Of values that are two already: a third beside them would copy the first two again.
Condition IsOne(const char* words, const Val& v) {
  return If(words, !(OpOf(v) == "ten.concat" && AttributeOf(v, "axis") == 3));
}

// Two kinds of values, of text and of its layout, with the same probabilities: one attention to
// both beside each other.
Rule TwoValues() {
  Val scores("_scores"), v("v"), u("u");
  Dim B("B"), H("H"), T("T"), D("D"), E("E");
  Val weights = Softmax(scores, {.axis = 3});
  Val shared = AnyOf(ten::Where(IsNan(weights), Splat(0), weights), weights).As("probabilities");
  Val first = Matmul(shared, v), second = Matmul(shared, u);
  Val both = Split(Matmul(shared, Concat({v, u}, {.axis = 3})), {.axis = 3, .sizes = {D, E}});
  return Rule("wide-values")
      .Summary("products of the same probabilities with two values are one with both")
      .Match({first, second})
      .Where(ShapeIs(v, {B, H, T, D}) && ShapeIs(u, {B, H, T, E}) && Rank(weights, 4))
      .Where(If("the two values differ", Compare(v, "!=", u)))
      .Where(IsOne("the first values are of one kind", v) &&
             IsOne("the second values are of one kind", u))
      .Replace({both, both.result(1)})
      .Lowers(OpsOf({"ten.matmul"}));
}

}  // namespace

RuleSet WideHeadsRules() {
  return {TwoKeys("wide-keys", false), TwoKeys("wide-keys-masked", true), TwoValues()};
}

}  // namespace tenon::pattern
