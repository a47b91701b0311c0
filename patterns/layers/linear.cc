// Products with a constant matrix: bias, scale, activation, and the reshapes around them.
#include "patterns/layers/linear.h"

#include "patterns/activations/activations.h"
#include "patterns/facts/magnitude.h"
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// y is x with another last axis.
Condition DiffersInLastAxis(const Val& x, const Val& y) {
  return If("only the last axis changes",
            RankOf(x) > 1 && Take(ShapeOf(x), -1) == Take(ShapeOf(y), -1));
}

Condition SameLastAxis(const char* words, const Val& x, const Val& y) {
  return If(words, ExtentOf(x, -1) == ExtentOf(y, -1));
}

// One element for each column of `product`: [N], [1, N], …; or one for all.
Condition IsRowOrNumber(const char* words, const Val& b, const Val& product) {
  return If(words, Or(IsRow(b, product), IsNumber(b, product)));
}

Term Columns(const Val& product) { return ListOf({ExtentOf(product, -1)}); }

Term ColumnsByOne(const Val& product) { return ListOf({ExtentOf(product, -1), 1}); }

// A row or a number as [N].
Val AsRow(const Val& b, const Val& product) {
  return Reshape(Expand(b, {.shape = Columns(product)}), {.shape = Columns(product)});
}

Rule LinearFromMatmul() {
  Val x("x"), w = Const("w");
  Attr<bool> transpose("transpose");
  return Rule("linear")
      .Summary("matmul(x, w) with a constant matrix w")
      .Match(Matmul(x, w, {.transpose_b = transpose}))
      .Where(IsFloat(x) && Rank(w, 2) && RankAtLeast(x, 2))
      .Replace(fused::Linear(x, w, {}, {}, {.transpose_w = transpose}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// A matrix for each row, named by its index.
Rule ExpertLinear(const char* name, bool row_first, bool transpose_b,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w = Const("w"), index("index");
  Dim R("R"), E("E"), K("K"), N("N");
  Val matrices = Gather(w, index, {.axis = 0});
  // Multiplied from the left, w has a row for each column of the result.
  const bool transposed = !row_first || transpose_b;
  Val root = row_first ? Matmul(x, matrices, {.transpose_b = transpose_b}) : Matmul(matrices, x);
  Val rows = Reshape(x, {.shape = {R, K}});
  Val made = fused::ExpertLinear(rows, w, index, {.transpose_w = transposed});
  return Rule(name, file, line)
      .Summary("a product with gathered matrices, one for each row, without copies of them")
      .Match(root)
      .Where(IsFloat(x) && ShapeIs(index, {R}) &&
             (row_first ? ShapeIs(x, {R, 1, K}) : ShapeIs(x, {R, K, 1})) &&
             (transposed ? ShapeIs(w, {E, N, K}) : ShapeIs(w, {E, K, N})))
      .Replace(row_first ? Reshape(made, {.shape = {R, 1, N}})
                         : Reshape(made, {.shape = {R, N, 1}}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

Rule LinearOfTransposed() {
  Val x("x"), w = Const("w");
  Attr<bool> transpose("transpose");
  return Rule("linear-of-transposed")
      .Summary("matmul(x^T, w) with a constant matrix w")
      .Match(Matmul(x, w, {.transpose_a = true, .transpose_b = transpose}))
      .Where(IsFloat(x) && Rank(w, 2) && Rank(x, 2))
      .Replace(fused::Linear(Transpose(x, {.perm = {1, 0}}), w, {}, {}, {.transpose_w = transpose}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// The product as the transpose of one whose first factor is the matrix: (w x^T)^T, with a bias for
// each row of it or none.
Rule LinearOfColumns(const char* name, bool transposed, bool with_bias,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w = Const("w"), b = Const("b");
  Attr<bool> transpose("transpose");
  Attr<I64s> perm("perm");
  Val product = Matmul(w, x, {.transpose_a = transpose, .transpose_b = transposed});
  Val rows = transposed ? x : Transpose(x, {.perm = perm});
  Val bias = Reshape(b, {.shape = ListOf({ExtentOf(product, -2)})});
  return Rule(name, file, line)
      .Summary(with_bias    ? "… with a bias for each column"
               : transposed ? "(w x^T)^T with a constant matrix w = linear(x, w^T)"
                            : "(w x)^T with a constant matrix w = linear(x^T, w^T)")
      .Match(Transpose(with_bias ? Add(product, b) : product, {.perm = perm}))
      .Where(
          IsFloat(x) && Rank(w, 2) && RankAtLeast(x, 2) &&
          If("the two last axes change places", SwapLast(perm) == IntegersFrom(0, LengthOf(perm))))
      .Where(with_bias ? If("b has an element for each row of the product",
                            RankOf(b) > 1 && RankOf(b) <= RankOf(product) && ExtentOf(b, -1) == 1 &&
                                ExtentOf(b, -2) == ExtentOf(product, -2) &&
                                ProductOf(ShapeOf(b)) == ExtentOf(product, -2))
                       : Condition())
      .Replace(fused::Linear(rows, w, with_bias ? OptVal(bias) : OptVal(), {},
                             {.transpose_w = !Term(transpose)}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

Rule LinearBias() {
  Val x("x"), w("w"), b("b");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  return Rule("linear-bias")
      .Summary("linear(x, w) + b")
      .Match(Add(product, b))
      .Where(IsRowOrNumber("b has an element for each column", b, product))
      .Replace(fused::Linear(x, w, AsRow(b, product), {}, {.transpose_w = transpose}))
      .Lowers(OpsOf({"ten.add"}))
      .RequireKernel();
}

// `view` is x with its last axis cut in two, and b has a number for each element of these.
Condition IsRowOfSplit(const Val& b, const Val& x, const Val& view) {
  return If("b has an element for each column",
            Take(ShapeOf(x), -1) == Take(ShapeOf(view), -2) && RankOf(b) > 1 &&
                RankOf(b) <= RankOf(view) &&
                ShapeOf(b) == ListOf({OnesBefore(), ExtentOf(view, -2), ExtentOf(view, -1)}));
}

Rule LinearBiasOfHeads() {
  Val x("_x"), w("_w"), b = Const("b");
  Attr<Dims> shape("shape");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = kAny});
  Val heads = Reshape(product, {.shape = shape});
  return Rule("linear-bias-of-heads")
      .Summary("a bias behind the split of heads is one before it")
      .Match(Add(heads, b))
      .Where(IsRowOfSplit(b, product, heads))
      .Replace(Reshape(Add(product, Reshape(b, {.shape = Columns(product)})), {.shape = shape}))
      .Lowers(OpsBefore({"ten.reshape"}, {"ten.add"}));
}

// The same behind the transpose that brings heads to the front, or keys to the back.
Rule LinearBiasOfMovedHeads() {
  Val x("_x"), w("_w"), b = Const("b");
  Attr<I64s> perm("perm");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = kAny});
  Val heads = Reshape(product, {.shape = kAny});
  const Term head = ExtentOf(heads, -2), size = ExtentOf(heads, -1);
  return Rule("linear-bias-of-moved-heads")
      .Summary("a bias behind the split and the transpose of heads is one before it")
      .Match(Add(Transpose(heads, {.perm = perm}), b))
      .Where(Rank(heads, 4) && If("the axis of heads comes before that of their elements",
                                  Or(Compare(perm, "==", ListOf({0, 2, 1, 3})),
                                     Compare(perm, "==", ListOf({0, 2, 3, 1})))))
      .Where(If("b has an element for each column",
                Take(ShapeOf(product), -1) == Take(ShapeOf(heads), -2) && RankOf(b) <= 4 &&
                    Padded(ShapeOf(b), 4) == ListOf({1, 1, head, size})[perm]))
      .Replace(Transpose(Add(heads, Reshape(b, {.shape = ListOf({head, size})})), {.perm = perm}))
      .Lowers(OpsBefore({"ten.transpose"}, {"ten.add"}));
}

Rule LinearSecondBias() {
  Val x("x"), w("w"), b("b"), c = Const("c");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, b, {}, {.transpose_w = transpose});
  return Rule("linear-second-bias")
      .Summary("linear(x, w, b) + c = linear(x, w, b + c)")
      .Match(Add(product, c))
      .Where(IsRowOrNumber("c has an element for each column", c, product))
      .Replace(fused::Linear(x, w, Add(b, AsRow(c, product)), {}, {.transpose_w = transpose}))
      .Lowers(OpsBefore({"fused.linear"}, {"ten.add"}))
      .RequireKernel();
}

// A bias that was added to the other summand, or after it.
Rule LinearBiasOfSum() {
  Val x("x"), w("w"), b = Const("b"), residual("residual");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  return Rule("linear-bias-of-sum")
      .Summary("linear(x, w) + r + b: the bias belongs to the product")
      .Match(AnyOf(Add(Add(product, residual), b), Add(product, Add(residual, b))))
      .Where(If("b has an element for each column", IsRow(b, product)) && !IsConstant(residual) &&
             SameShape(product, residual))
      .Replace(
          Add(fused::Linear(x, w, AsRow(b, product), {}, {.transpose_w = transpose}), residual))
      .Lowers(OpsOf({"ten.add"}))
      .RequireKernel();
}

// Gemm's alpha: a number before the bias is none of attention's.
Rule LinearAlpha() {
  Val x("x"), w = Const("w"), b("b");
  Attr<bool> transpose("transpose");
  Attr<float> alpha("alpha");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  return Rule("linear-alpha")
      .Summary("linear(x, w) * a + b = linear(x, w * a, b) for a number a")
      .Match(Add(Mul(product, Splat(alpha)), b))
      .Where(IsRowOrNumber("b has an element for each column", b, product) &&
             If("the number is finite", Compare(AbsOf(alpha), "<=", LargestFiniteOf(DTypeOf(w)))) &&
             If("the number leaves the terms of the sum finite",
                IsFactorOfTerms(AbsOf(alpha), product)) &&
             If("nothing else uses the weights", HasOneUse(w)))
      .Replace(fused::Linear(x, Mul(w, Splat(Real(alpha))), AsRow(b, product), {},
                             {.transpose_w = transpose}))
      .Lowers(OpsBefore({"ten.matmul", "fused.linear"}, {"ten.mul"}))
      .RequireKernel();
}

// batch_norm(linear(x, w, b)): with k = scale / sqrt(var + eps), linear(x, w * k, (b - mean) * k +
// bias).
Rule LinearBatchNorm(const char* name, bool transposed, bool with_bias,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  Val product =
      fused::Linear(x, w, with_bias ? OptVal(b) : OptVal(), {}, {.transpose_w = transposed});
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  Val factor = transposed ? Reshape(k, {.shape = ColumnsByOne(product)}) : k;
  Val offset = with_bias ? Add(Mul(Sub(b, mean), k), bias) : Sub(bias, Mul(mean, k));
  return Rule(name, file, line)
      .Summary("batch_norm(linear(x, w)) = linear(x, w * k)")
      .Match(BatchNorm(product, scale, bias, mean, var, {.epsilon = epsilon}))
      .Where(Rank(x, 2) && FollowsFromConstants(w) &&
             If("nothing else uses the weights", HasOneUse(w)))
      .Where(with_bias ? FollowsFromConstants(b) : Condition())
      .Where(AreFiniteStatistics(scale, mean, var) &&
             StatisticsLeaveTerms(scale, var, epsilon, product))
      .Replace(fused::Linear(x, Mul(w, factor), offset, {}, {.transpose_w = transposed}))
      .Lowers(OpsOf({"nn.batch_norm"}))
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
  Val product = fused::Linear(
      rows, w, Maybe(b), {},
      {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  Val root = Reshape(product, {.shape = kAny});
  return Rule("linear-of-rows")
      .Summary("reshapes to a matrix and back around a linear")
      .Match(root)
      .Where(DiffersInLastAxis(x, root) && SameLastAxis("the rows stay whole", x, rows) &&
             SameLastAxis("the columns stay whole", product, root))
      .Keep(rows)
      .Replace(fused::Linear(
          x, w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

// The rows of `rows` under the leading axes of `root`.
Term RowsUnder(const Val& root, const Val& rows) {
  return Known(ListOf({Spread(Take(ShapeOf(root), -1)), ExtentOf(rows, -1)}));
}

// reshape(linear(reshape(x, [M, K])), […, N]) = linear(reshape(x, […, K]))
Rule LinearOfJoinedRows() {
  Val x("x"), w("w"), b("b");
  Attr<bool> transpose("transpose");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Val rows = Reshape(x, {.shape = kAny});
  Val product = fused::Linear(
      rows, w, Maybe(b), {},
      {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  Val root = Reshape(product, {.shape = kAny});
  return Rule("linear-of-joined-rows")
      .Summary("a linear on a matrix whose rows are split again takes them split")
      .Match(root)
      .Where(Rank(rows, 2) && RankAtLeast(root, 3) &&
             SameLastAxis("the columns stay whole", product, root) &&
             If("there are columns", IsNotNumber(ExtentOf(product, -1), 0)))
      .Keep(rows)
      .Replace(fused::Linear(
          Reshape(x, {.shape = RowsUnder(root, rows)}), w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

// Where b * k is infinite but linear(x, w, b) * k is not, it may meet an infinite product of the
// other sign.
Condition LeavesBiasFinite(const Val& b, const Val& k) {
  return If("the factor leaves the bias finite",
            Or(Compare(Magnitude(b) * LargestSize(k), "<=", LargestFiniteOf(DTypeOf(b))),
               Compare(LargestSize(k), "<=", 1)));
}

}  // namespace

// linear(x, w, b) * k = linear(x, w * k, b * k). Numbers are left to attention first, where a scale
// of queries costs nothing.
Rule LinearScale(const char* name, bool number, bool transposed, bool with_bias, const char* file,
                 int line) {
  Val x("x"), w = Const("w"), b("b"), k = Const("k");
  Val product =
      fused::Linear(x, w, with_bias ? OptVal(b) : OptVal(), {}, {.transpose_w = transposed});
  Val row = AsRow(k, product);
  Val factor = transposed ? Reshape(row, {.shape = ColumnsByOne(product)}) : row;
  return Rule(name, file, line)
      .Summary(number ? "linear(x, w) times a number scales the weights"
                      : "linear(x, w) times a number for each column scales the weights")
      .Match(Mul(product, k))
      .Where((number ? If("k is a number", IsNumber(k, product))
                     : If("k has an element for each column", IsRow(k, product))) &&
             AreFactorsOfTerms(k, product) && If("nothing else uses the weights", HasOneUse(w)))
      .Where(with_bias ? Proof(Assumption::kNoOverflow, OnConstants(LeavesBiasFinite(b, k)))
                       : Condition())
      .Replace(fused::Linear(x, Mul(w, factor), with_bias ? OptVal(Mul(b, row)) : OptVal(), {},
                             {.transpose_w = transposed}))
      .Lowers(OpsBefore({"ten.matmul", "fused.linear"}, {"ten.mul"}))
      .RequireKernel();
}

RuleSet LinearRules() {
  return {LinearFromMatmul(),
          LinearOfTransposed(),
          LinearOfColumns("linear-of-columns", true, false),
          LinearOfColumns("linear-of-columns-bias", true, true),
          LinearOfColumns("linear-of-transposed-columns", false, false),
          LinearOfColumns("linear-of-transposed-columns-bias", false, true),
          ExpertLinear("expert-linear", true, false),
          ExpertLinear("expert-linear-transposed", true, true),
          ExpertLinear("expert-linear-column", false, false),
          LinearBias(),
          LinearBiasOfHeads(),
          LinearBiasOfMovedHeads(),
          LinearSecondBias(),
          LinearBiasOfSum(),
          LinearAlpha(),
          LinearBatchNorm("linear-batch-norm", false, false),
          LinearBatchNorm("linear-batch-norm-bias", false, true),
          LinearBatchNorm("linear-batch-norm-transposed", true, false),
          LinearBatchNorm("linear-batch-norm-transposed-bias", true, true),
          LinearScale("linear-scale", false, false, false),
          LinearScale("linear-scale-bias", false, false, true),
          LinearScale("linear-scale-transposed", false, true, false),
          LinearScale("linear-scale-transposed-bias", false, true, true),
          LinearActivation(),
          LinearOfRows(),
          LinearOfJoinedRows()};
}

}  // namespace tenon::pattern
