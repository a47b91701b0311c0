// Sums of values weighed by the softmax of numbers that are no products: attention of one query of
// one element, 1, whose keys are these numbers. Pooling with learnt scores, convolutions whose taps
// depend on the position, linear attention to one context for each pixel of a patch. After
// `attention`, whose rules know products. Values that do not lie in rows are transposed first,
// which pays for convolutions of few taps; for few pixels it costs microseconds, for many of either
// more than the one form is worth.
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// How a weighed sum is written.
enum class Form {
  kSum,     // the sum over T of weights [..., T, 1] times values [..., T, D], element by element
  kColumn,  // values [B, D, T] times weights [B, T, 1]
  kImage,   // the sum over T of weights [B, 1, P, T] times values [B, D, P, T]
};

constexpr int64_t kMostTaps = 16, kMostPixels = 16;

Condition AtMost(const char* what, const Val& v, int64_t axis, int64_t most) {
  return If(what, ExtentOf(v, axis) <= most);
}

// The last two axes of [B, D, T] swapped, or not.
Term ToRows(const Attr<bool>& has_rows) {
  return Choose(has_rows, ListOf({0, 1, 2}), ListOf({0, 2, 1}));
}

Rule Pooling(const char* name, Form form, int rank, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  Val x("x"), v("v");
  Attr<bool> transposed("transposed_v");
  Dim B("B"), H("H"), T("T"), D("D"), P("P");
  const bool image = form == Form::kImage, column = form == Form::kColumn;
  const int along = image ? 3 : rank - 2;
  const Dim one(1), any = AnyDim(), M = image ? B * P : rank == 4 ? B * H : B;
  auto shape = [&](const Dim& columns) {
    return rank == 4 ? std::vector<Dim>{B, H, T, columns} : std::vector<Dim>{B, T, columns};
  };
  Val weights = Softmax(x, {.axis = along});
  Val sum = column ? Matmul(v, weights, {.transpose_a = transposed})
                   : ReduceSum(Mul(weights, v), {.axes = {along}, .keepdims = true});
  Condition fits = image ? ShapeIs(x, {B, 1, P, T}) && ShapeIs(v, {B, D, P, T}) &&
                               AtMost("there are at most 16 pixels", x, 2, kMostPixels)
                   : column ? ShapeIs(x, shape(one)) && ShapeIs(v, {B, any, any}) &&
                                  ShapeIs(sum, {B, D, 1}) &&
                                  AtMost("there are at most 16 taps", x, 1, kMostTaps)
                            : ShapeIs(x, shape(one)) && ShapeIs(v, shape(D));
  Val rows = image    ? Transpose(v, {.perm = {0, 2, 3, 1}})
             : column ? Transpose(v, {.perm = ToRows(transposed)})
                      : v;
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
      .Summary(column  ? "values times a column of few weights is attention of one query"
               : image ? "… of images with their channels first, for few pixels"
                       : "the sum of values weighed by a softmax is attention of one query")
      .Match(sum)
      .Where(IsFloat(x) && fits)
      .Replace(image ? Transpose(Reshape(made, {.shape = {B, P, 1, D}}), {.perm = {0, 3, 1, 2}})
                     : Reshape(made, {.shape = ShapeOf(sum)}))
      .Lowers(OpsOf({"nn.softmax"}))
      .RequireKernel();
}

// A row of weights viewed as a column, as exporters do before opset 13, whose softmax is along the
// last axis: the softmax of a column.
Rule ColumnOfRow() {
  Val x("x");
  Dim B("B"), T("T");
  auto column = [&](const Val& v) { return Reshape(v, {.shape = {B, T, 1}}); };
  return Rule("softmax-of-column-of-row")
      .Summary("the softmax of a row viewed as a column is that of the column")
      .Match(column(Softmax(x, {.axis = 2})))
      .Where(ShapeIs(x, {B, 1, T}))
      .Replace(Softmax(column(x), {.axis = 1}))
      .Lowers(OpsBefore({"nn.softmax"}, {"ten.reshape"}));
}

// What is left: every finite number is the only one of its row. Others are NaN, as x - x is.
Rule SoftmaxOfOne() {
  Val x("x");
  Attr<int64_t> axis("axis");
  return Rule("softmax-of-one")
      .Summary("the softmax along an axis of extent 1 is x - x + 1")
      .Match(Softmax(x, {.axis = axis}))
      .Where(IsFloat(x) && If("the axis has the extent 1", ExtentOf(x, axis) == 1))
      .Replace(Add(Sub(x, x), Splat(1)))
      .Lowers(OpsOf({"nn.softmax"}));
}

}  // namespace

RuleSet PoolingRules() {
  return {Pooling("pooling-sum", Form::kSum, 3),
          Pooling("pooling-sum-of-heads", Form::kSum, 4),
          ColumnOfRow(),
          Pooling("pooling-column", Form::kColumn, 3),
          Pooling("pooling-image", Form::kImage, 4),
          SoftmaxOfOne()};
}

}  // namespace tenon::pattern
