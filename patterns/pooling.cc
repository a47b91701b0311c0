// Sums of values weighed by the softmax of numbers that are no products: attention of one query of
// one element, 1, whose keys are these numbers. Pooling with learnt scores. After `attention`,
// whose rules know products. Weights that are multiplied as a matrix (convolutions whose taps
// depend on the position) and sums along the last axis (linear attention to one context) stay as
// they are: a product is faster, and values that do not lie in rows would have to be transposed
// first.
#include "patterns/attention_parts.h"

namespace tenon::pattern {
namespace {

// The sum over T of weights [..., T, 1] times values [..., T, D], element by element.
Rule Pooling(const char* name, int rank, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  Val x("x"), v("v");
  Dim B("B"), H("H"), T("T"), D("D");
  const int along = rank - 2;
  Val sum = ReduceSum(Mul(Softmax(x, {.axis = along}), v), {.axes = {along}, .keepdims = true});
  auto shape = [&](const Dim& columns) {
    return rank == 4 ? std::vector<Dim>{B, H, T, columns} : std::vector<Dim>{B, T, columns};
  };
  const Dim one(1), M = rank == 4 ? B * H : B;
  Val made = fused::Attention(Expand(Splat(1), {.shape = {M, 1, 1, 1}}),
                              Reshape(x, {.shape = {M, 1, T, 1}}),
                              Reshape(v, {.shape = {M, 1, T, D}}), {}, {}, {},
                              {.num_heads = 1,
                               .kv_num_heads = 1,
                               .scale = 1,
                               .q_layout = "bhsd",
                               .k_layout = "bhsd",
                               .v_layout = "bhsd",
                               .out_layout = "bhsd"});
  return Rule(name, file, line)
      .Summary("the sum of values weighed by a softmax is attention of one query")
      .Match(sum)
      .Where(IsFloat(x) && ShapeIs(x, shape(one)) && ShapeIs(v, shape(D)))
      .Replace(Reshape(made, {.shape = ShapeOf(sum)}))
      .Lowers("sums of products with probabilities")
      .RequireKernel();
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
  return {Pooling("pooling-sum", 3), Pooling("pooling-sum-of-heads", 4), SoftmaxOfOne()};
}

}  // namespace tenon::pattern
