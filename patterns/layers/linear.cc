// Products with a constant matrix: bias, scale, activation, and the reshapes around them.
#include "patterns/layers/linear.h"

#include "patterns/facts/magnitude.h"
#include "patterns/layers/activations.h"

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

// One element for each column of `product`: [N], [1, N], …
bool IsRow(Value b, Value product) {
  Type row = b.type(), y = product.type();
  if (!row.is_tensor() || !y.is_tensor() || row.rank() < 1 || row.rank() > y.rank() ||
      !DimExpr::ProvablyEqual(row.dim(-1), y.dim(-1)))
    return false;
  for (int64_t i = 0; i + 1 < row.rank(); ++i) {
    if (!row.dim(i).is_constant(1)) return false;
  }
  return true;
}

bool IsNumber(Value b, Value product) {
  Type number = b.type();
  return number.is_static() && number.num_elements() == 1 && product.type().is_tensor() &&
         number.rank() <= product.type().rank();
}

bool IsRowOrNumber(Value b, Value product) { return IsRow(b, product) || IsNumber(b, product); }

std::optional<Dims> Columns(Value product) {
  Type type = product.type();
  if (!type.is_tensor() || type.rank() < 1) return std::nullopt;
  return Dims{type.dim(-1)};
}

std::optional<Dims> ColumnsByOne(Value product) {
  std::optional<Dims> dims = Columns(product);
  if (dims) dims->push_back(DimExpr::Constant(product.type().context(), 1));
  return dims;
}

// A row or a number as [N].
Val AsRow(const Val& b, const Val& product) {
  return Reshape(Expand(b, {.shape = Compute(Columns, product)}),
                 {.shape = Compute(Columns, product)});
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
      .Lowers("copies of gathered matrices")
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
      .Where(If("b has an element for each column", IsRowOrNumber, b, product))
      .Replace(fused::Linear(x, w, AsRow(b, product), {}, {.transpose_w = transpose}))
      .Lowers("additions")
      .RequireKernel();
}

// Is `view` x with its last axis cut in two, and b a number for each element of these?
bool IsRowOfSplit(Value b, Value x, Value view) {
  const Type row = b.type(), from = x.type(), to = view.type();
  if (!row.is_tensor() || !from.is_tensor() || !to.is_tensor() || to.rank() != from.rank() + 1 ||
      row.rank() < 2 || row.rank() > to.rank()) {
    return false;
  }
  for (int64_t i = 0; i + 1 < from.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(from.dim(i), to.dim(i))) return false;
  }
  for (int64_t i = 1; i <= row.rank(); ++i) {
    if (i <= 2 ? !DimExpr::ProvablyEqual(row.dim(-i), to.dim(-i)) : !row.dim(-i).is_constant(1)) {
      return false;
    }
  }
  return true;
}

Rule LinearBiasOfHeads() {
  Val x("_x"), w("_w"), b = Const("b");
  Attr<Dims> shape("shape");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = kAny});
  Val heads = Reshape(product, {.shape = shape});
  return Rule("linear-bias-of-heads")
      .Summary("a bias behind the split of heads is one before it")
      .Match(Add(heads, b))
      .Where(If("b has an element for each column", IsRowOfSplit, b, product, heads))
      .Replace(
          Reshape(Add(product, Reshape(b, {.shape = Compute(Columns, product)})), {.shape = shape}))
      .Lowers("views before biases");
}

Rule LinearSecondBias() {
  Val x("x"), w("w"), b("b"), c = Const("c");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, b, {}, {.transpose_w = transpose});
  return Rule("linear-second-bias")
      .Summary("linear(x, w, b) + c = linear(x, w, b + c)")
      .Match(Add(product, c))
      .Where(If("c has an element for each column", IsRowOrNumber, c, product))
      .Replace(fused::Linear(x, w, Add(b, AsRow(c, product)), {}, {.transpose_w = transpose}))
      .Lowers("additions")
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
      .Where(If("b has an element for each column", IsRow, b, product) && !IsConstant(residual) &&
             SameShape(product, residual))
      .Replace(
          Add(fused::Linear(x, w, AsRow(b, product), {}, {.transpose_w = transpose}), residual))
      .Lowers("additions")
      .RequireKernel();
}

bool HasOneUse(Value w) { return w.has_one_use(); }

// Gemm's alpha: a number before the bias is none of attention's.
Rule LinearAlpha() {
  Val x("x"), w = Const("w"), b("b");
  Attr<bool> transpose("transpose");
  Attr<float> alpha("alpha");
  Val product = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  return Rule("linear-alpha")
      .Summary("linear(x, w) * a + b = linear(x, w * a, b) for a number a")
      .Match(Add(Mul(product, Splat(alpha)), b))
      .Where(If("b has an element for each column", IsRowOrNumber, b, product) &&
             If("nothing else uses the weights", HasOneUse, w))
      .Replace(fused::Linear(x, Mul(w, Splat(Compute([](double a) { return a; }, alpha))),
                             AsRow(b, product), {}, {.transpose_w = transpose}))
      .Lowers("products")
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
  Val factor = transposed ? Reshape(k, {.shape = Compute(ColumnsByOne, product)}) : k;
  Val offset = with_bias ? Add(Mul(Sub(b, mean), k), bias) : Sub(bias, Mul(mean, k));
  return Rule(name, file, line)
      .Summary("batch_norm(linear(x, w)) = linear(x, w * k)")
      .Match(BatchNorm(product, scale, bias, mean, var, {.epsilon = epsilon}))
      .Where(Rank(x, 2) && FollowsFromConstants(w) &&
             If("nothing else uses the weights", HasOneUse, w))
      .Where(with_bias ? FollowsFromConstants(b) : Condition())
      .Replace(fused::Linear(x, Mul(w, factor), offset, {}, {.transpose_w = transposed}))
      .Lowers("batch norms")
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
      .Where(If("only the last axis changes", DiffersInLastAxis, x, root) &&
             If("the rows stay whole", SameLastAxis, x, rows) &&
             If("the columns stay whole", SameLastAxis, product, root))
      .Keep(rows)
      .Replace(fused::Linear(
          x, w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

// The rows of `rows` under the leading axes of `root`.
std::optional<Dims> RowsUnder(Value root, Value rows) {
  const Type a = root.type(), b = rows.type();
  Dims dims(a.dims().begin(), a.dims().end());
  dims.back() = b.dim(-1);
  if (std::any_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); })) return {};
  return dims;
}

// Without columns any number of rows has as many elements.
bool HasColumns(Value product) { return !product.type().dim(-1).is_constant(0); }

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
             If("the columns stay whole", SameLastAxis, product, root) &&
             If("there are columns", HasColumns, product))
      .Keep(rows)
      .Replace(fused::Linear(
          Reshape(x, {.shape = Compute(RowsUnder, root, rows)}), w, b, {},
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
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
  Val factor = transposed ? Reshape(row, {.shape = Compute(ColumnsByOne, product)}) : row;
  return Rule(name, file, line)
      .Summary(number ? "linear(x, w) times a number scales the weights"
                      : "linear(x, w) times a number for each column scales the weights")
      .Match(Mul(product, k))
      .Where((number ? If("k is a number", IsNumber, k, product)
                     : If("k has an element for each column", IsRow, k, product)) &&
             OnConstants(If("k is finite", AreFinite, k)) &&
             If("nothing else uses the weights", HasOneUse, w))
      .Replace(fused::Linear(x, Mul(w, factor), with_bias ? OptVal(Mul(b, row)) : OptVal(), {},
                             {.transpose_w = transposed}))
      .Lowers("products")
      .RequireKernel();
}

RuleSet LinearRules() {
  return {LinearFromMatmul(),
          LinearOfTransposed(),
          ExpertLinear("expert-linear", true, false),
          ExpertLinear("expert-linear-transposed", true, true),
          ExpertLinear("expert-linear-column", false, false),
          LinearBias(),
          LinearBiasOfHeads(),
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
