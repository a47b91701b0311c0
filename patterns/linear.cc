// Products with a constant matrix: bias, activation, and the reshapes around them.
#include "patterns/activations.h"

namespace tenon::pattern {
namespace {

// y is x with another last axis.
bool DiffersInLastAxis(Value x, Value y) {
  Type a = x.type(), b = y.type();
  if (!a.is_tensor() || !b.is_tensor() || a.rank() != b.rank() || a.rank() < 2) return false;
  for (int64_t i = 0; i + 1 < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

bool SameLastAxis(Value x, Value y) {
  Type a = x.type(), b = y.type();
  return a.is_tensor() && b.is_tensor() && a.rank() >= 1 && b.rank() >= 1 &&
         DimExpr::ProvablyEqual(a.dim(-1), b.dim(-1));
}

Rule LinearFromMatmul() {
  Val x("x"), w = Const("w");
  Attr<bool> transpose("transpose");
  return Rule("linear")
      .Summary("matmul(x, w) with a constant matrix w")
      .Match(Matmul(x, w, {.transpose_b = transpose}))
      .Where(IsFloat(x) && Rank(w, 2) && RankAtLeast(x, 2))
      .Replace(fused::Linear(x, w, {}, {}, {.transpose_w = transpose}))
      .Lowers("products with a constant matrix")
      .RequireKernel();
}

Rule LinearBias() {
  Val x("x"), w("w"), b("b");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  return Rule("linear-bias")
      .Summary("linear(x, w) + b")
      .Match(Add(product, b))
      .Where(Rank(b, 1) && If("b has an element for each column", SameLastAxis, b, product))
      .Replace(fused::Linear(x, w, b, {}, {.transpose_w = transpose}))
      .RequireKernel();
}

Rule LinearActivation() {
  Val x("x"), w("w"), b("b");
  Attr<bool> transpose("transpose");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  return Rule("linear-activation")
      .Summary("activation(linear(x, w, b))")
      .Match(AnyActivation(fused::Linear(x, w, Maybe(b), {}, {.transpose_w = transpose}),
                           activation, alpha, beta))
      .Replace(fused::Linear(
          x, w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

// reshape(linear(reshape(x, [M, K])), […, N]) = linear(x)
Rule LinearOfRows() {
  Val x("x"), w("w"), b("b");
  Attr<bool> transpose("transpose");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Val rows = Reshape(x, {.shape = kAny});
  Val root = Reshape(
      fused::Linear(
          rows, w, Maybe(b), {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}),
      {.shape = kAny});
  return Rule("linear-of-rows")
      .Summary("reshapes to a matrix and back around a linear")
      .Match(root)
      .Where(If("only the last axis changes", DiffersInLastAxis, x, root) &&
             If("the rows stay whole", SameLastAxis, x, rows))
      .Keep(rows)
      .Replace(fused::Linear(
          x, w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

}  // namespace

RuleSet LinearRules() {
  return {LinearFromMatmul(), LinearBias(), LinearActivation(), LinearOfRows()};
}

}  // namespace tenon::pattern
