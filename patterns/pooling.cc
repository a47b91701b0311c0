// Sums of values weighed by the softmax of numbers that are no products: attention of one query of
// one element, 1, whose keys are these numbers. Pooling with learnt scores, convolutions whose taps
// depend on the position, linear attention to one context. After `attention`, whose rules know
// products.
#include "patterns/attention_parts.h"

namespace tenon::pattern {
namespace {

// How a weighed sum is written.
enum class Form {
  kRow,     // weights [..., 1, T] times values [..., T, D]
  kColumn,  // values [..., D, T] times weights [..., T, 1]
  kSum,     // the sum over T of weights [..., T, 1] times values [..., T, D], element by element
  kImage,   // the sum over T of weights [B, 1, P, T] times values [B, D, P, T]
};

// The last two of `rank` axes swapped, or not.
I64s SwapLast(int rank, bool swaps) {
  I64s perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  if (swaps) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

Rule Pooling(const char* name, Form form, int rank, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  Val x("x"), v("v");
  Attr<bool> transposed("transposed_v");
  Dim B("B"), H("H"), T("T"), D("D");
  const bool image = form == Form::kImage;
  const int along = form == Form::kRow || image ? rank - 1 : rank - 2;
  Val weights = Softmax(x, {.axis = along});
  Val sum = form == Form::kColumn ? Matmul(v, weights, {.transpose_a = transposed})
            : form == Form::kRow  ? Matmul(weights, v, {.transpose_b = transposed})
                                  : ReduceSum(Mul(weights, v), {.axes = {along}, .keepdims = true});
  auto shape = [&](const Dim& rows, const Dim& columns) {
    std::vector<Dim> dims = {B};
    if (rank == 4) dims.push_back(H);
    dims.push_back(rows);
    dims.push_back(columns);
    return dims;
  };
  const Dim one(1), any = AnyDim(), M = rank == 4 ? B * H : B;
  Condition fits =
      form == Form::kRow
          ? ShapeIs(x, shape(one, T)) && ShapeIs(v, shape(any, any)) && ShapeIs(sum, shape(one, D))
      : form == Form::kColumn
          ? ShapeIs(x, shape(T, one)) && ShapeIs(v, shape(any, any)) && ShapeIs(sum, shape(D, one))
      : image ? ShapeIs(x, {B, 1, H, T}) && ShapeIs(v, {B, D, H, T})
              : ShapeIs(x, shape(T, one)) && ShapeIs(v, shape(T, D));
  // A column stands behind values [..., D, T].
  const auto perm = [=](bool t) { return SwapLast(rank, form == Form::kColumn ? !t : t); };
  Val rows = image                ? Transpose(v, {.perm = {0, 2, 3, 1}})
             : form == Form::kSum ? v
                                  : Transpose(v, {.perm = Compute(perm, transposed)});
  Val made = fused::Attention(Expand(Splat(1), {.shape = {M, 1, 1, 1}}),
                              Reshape(x, {.shape = {M, 1, T, 1}}),
                              Reshape(rows, {.shape = {M, 1, T, D}}), {}, {}, {},
                              {.num_heads = 1,
                               .kv_num_heads = 1,
                               .scale = 1,
                               .q_layout = "bhsd",
                               .k_layout = "bhsd",
                               .v_layout = "bhsd",
                               .out_layout = "bhsd"});
  return Rule(name, file, line)
      .Summary(form == Form::kRow      ? "softmax(x) v of one row is attention of one query"
               : form == Form::kColumn ? "… where the weights are a column"
               : form == Form::kSum    ? "… where the sum is one over elements"
                                       : "… of images with their channels first")
      .Match(sum)
      .Where(IsFloat(x) && fits)
      .Replace(image ? Transpose(Reshape(made, {.shape = {B, H, 1, D}}), {.perm = {0, 3, 1, 2}})
                     : Reshape(made, {.shape = ShapeOf(sum)}))
      .Lowers("products with probabilities")
      .RequireKernel();
}

// A row of weights viewed as a column, as exporters do before opset 13, whose softmax is along the
// last axis: the softmax of a column.
Rule ColumnOfRow(const char* name, int rank, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  Val x("x");
  Dim B("B"), H("H"), T("T");
  const bool heads = rank == 4;
  auto column = [&](const Val& v) {
    return heads ? Reshape(v, {.shape = {B, H, T, 1}}) : Reshape(v, {.shape = {B, T, 1}});
  };
  return Rule(name, file, line)
      .Summary("the softmax of a row viewed as a column is that of the column")
      .Match(column(Softmax(x, {.axis = rank - 1})))
      .Where(heads ? ShapeIs(x, {B, H, 1, T}) : ShapeIs(x, {B, 1, T}))
      .Replace(Softmax(column(x), {.axis = rank - 2}))
      .Lowers("views of probabilities");
}

// What is left: every finite number is the only one of its row. Others are NaN, as x - x is.
Rule SoftmaxOfOne() {
  Val x("x");
  Attr<int64_t> axis("axis");
  return Rule("softmax-of-one")
      .Summary("the softmax along an axis of extent 1 is x - x + 1")
      .Match(Softmax(x, {.axis = axis}))
      .Where(IsFloat(x) &&
             If(
                 "the axis has the extent 1",
                 [](Value v, int64_t along) { return v.type().dim(along).is_constant(1); }, x,
                 axis))
      .Replace(Add(Sub(x, x), Splat(1)))
      .Lowers("softmaxes");
}

}  // namespace

RuleSet PoolingRules() {
  return {Pooling("pooling-row", Form::kRow, 3),
          Pooling("pooling-row-of-heads", Form::kRow, 4),
          Pooling("pooling-column", Form::kColumn, 3),
          Pooling("pooling-column-of-heads", Form::kColumn, 4),
          Pooling("pooling-sum", Form::kSum, 3),
          Pooling("pooling-sum-of-heads", Form::kSum, 4),
          Pooling("pooling-image", Form::kImage, 4),
          ColumnOfRow("pooling-column-of-row", 3),
          ColumnOfRow("pooling-column-of-row-of-heads", 4),
          SoftmaxOfOne()};
}

}  // namespace tenon::pattern
