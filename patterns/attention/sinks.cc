// Attention with sinks: a score of each head without a key or value takes its share of the softmax.
// A key and a value of zeros stand for it, and a bias for its score, so that the rest is attention
// as any other.
#include <limits>

#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// The key of zeros makes NaN of an infinite query.
Condition Bounded(const char* text, const Val& val) { return IsBounded(text, val); }

// Queries, keys and values of split heads, and their scores.
struct SinkParts {
  AttentionVals x;
  Attr<bool> tk{"transposed_k"};
  Attr<float> scale{"scale"};
  Dim B{"B"}, H{"H"}, S{"S"}, T{"T"}, D{"D"}, E{"E"}, M{"M"}, N{"N"}, Q{"Q"};
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));

  Val Masked(bool with_mask) const { return with_mask ? Add(scores, x.mask) : scores; }

  Condition Fits(bool with_mask) const {
    Condition heads = ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, S, D}) &&
                      ShapeIs(x.v, {B, H, T, E}) && ShapeIs(x.k, {B, H, AnyDim(), AnyDim()});
    return with_mask ? heads && IsFloat(x.mask) && ShapeIs(x.mask, {M, N, Q, T}) : heads;
  }

  // Attention with one key more, to which every query of a head gives the score `sink` [1, H, 1,
  // 1].
  Val Made(bool with_mask, const Val& sink) const {
    auto zeros = [](const Dim& b, const Dim& h, const Dim& s, const Dim& d) {
      return Expand(Splat(0), {.shape = {b, h, s, d}});
    };
    const Dim one(1);
    Val keys = Transpose(x.k, {.perm = Choose(tk, ListOf({0, 1, 2, 3}), ListOf({0, 1, 3, 2}))});
    Val k = Concat({keys, zeros(B, H, one, D)}, {.axis = 2});
    Val v = Concat({x.v, zeros(B, H, one, E)}, {.axis = 2});
    Val bias = Concat({zeros(one, H, one, T), sink}, {.axis = 3});
    Val mask = Concat({x.mask, zeros(M, N, Q, one)}, {.axis = 3});
    fused::AttentionArgs args = {.num_heads = H,
                                 .kv_num_heads = H,
                                 .scale = scale,
                                 .q_layout = "bhsd",
                                 .k_layout = "bhsd",
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd"};
    return with_mask ? fused::Attention(x.q, k, v, mask, bias, {}, args)
                     : fused::Attention(x.q, k, v, bias, {}, {}, args);
  }
};

// A column of scores beside those of the keys, whose probabilities are dropped.
Rule SinkColumn(const char* name, bool with_mask, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  SinkParts p;
  Val sink("sink");
  Val column = Expand(sink, {.shape = kAny});
  Val weights = Softmax(Concat({p.Masked(with_mask), column}, {.axis = 3}), {.axis = 3});
  Val kept = Slice(weights, {.axes = {3}, .starts = {0}, .ends = kAny, .steps = {1}});
  // Without keys the softmax over a sink of -infinity is NaN, which the source drops.
  const auto has_keys = [](Value v) { return v.type().dim(2).constant() > 0; };
  return Rule(name, file, line)
      .Summary(with_mask ? "attention with a sink beside masked scores"
                         : "attention with a sink beside the scores")
      .Match(Matmul(kept, p.x.v))
      .Where(p.Fits(with_mask) && ShapeIs(sink, {1, p.H, 1, 1}) &&
             ShapeIs(column, {p.B, p.H, p.S, 1}) && ShapeIs(kept, {p.B, p.H, p.S, p.T}))
      .IgnoresInfinity(Bounded("the queries are bounded, whatever the inputs hold", p.x.q) &&
                       (If("there are keys", has_keys, p.x.v) ||
                        Bounded("the sinks are bounded, whatever the inputs hold", sink)))
      .Replace(p.Made(with_mask, sink))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// What the gate adds to log(sum(e^s)): nothing, or a number of each head.
enum class Gate { kZero, kSum, kDifference };

// softmax(s) * sigmoid(log(sum(e^s)) - c) = e^s / (e^c + sum(e^s)): a sink of score c. A mask of
// -infinity may hide all keys of a row: its softmax is NaN, attention with a sink is 0.
Rule SinkGate(const char* name, bool with_mask, Gate gate_of, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  SinkParts p;
  Val masked = p.Masked(with_mask);
  Val c = Const("c");
  Val sum = ReduceLogSumExp(masked, {.axes = {3}, .keepdims = false});
  Val shifted = gate_of == Gate::kZero  ? sum
                : gate_of == Gate::kSum ? Val(Add(sum, c))
                                        : Val(Sub(sum, c));
  Val gate = Reshape(Sigmoid(shifted), {.shape = kAny});
  Val out = Matmul(Softmax(masked, {.axis = 3}), p.x.v);
  Condition finite =
      DTypeIs(p.product, DType::kF32) &&
      OnConstants(If("the mask hides with finite numbers", Magnitude(p.x.mask) <= kLargest));
  Condition sinks = ShapeIs(c, {1, p.H, 1}) && DTypeIs(p.product, DType::kF32) &&
                    OnConstants(HasModerateSize("the sinks are moderate numbers", c));
  Val sink = Reshape(gate_of == Gate::kSum ? Val(Neg(c)) : c, {.shape = {1, p.H, 1, 1}});
  if (gate_of == Gate::kZero) sink = Expand(Splat(0), {.shape = {1, p.H, 1, 1}});
  return Rule(name, file, line)
      .Summary(with_mask
                   ? "… where the share of the sink is a gate and a mask of finite numbers is added"
                   : "… where the share of the sink is a gate")
      .Match(Mul(out, gate))
      .Where(p.Fits(with_mask) && ShapeIs(sum, {p.B, p.H, p.S}) &&
             ShapeIs(gate, {p.B, p.H, p.S, 1}) && (with_mask ? finite : Condition()) &&
             (gate_of == Gate::kZero ? Condition() : sinks))
      .IgnoresInfinity(Bounded("the scores are bounded, whatever the inputs hold", p.scores))
      .Replace(p.Made(with_mask, sink))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// Heads repeated before the key of the sink is put behind them.
Rule SinkOfRepeatedHeads() {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), G("G"), R("R"), T("T"), D("D"), E("E");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.k_layout = match.v_layout = made.k_layout = made.v_layout = "bhsd";
  match.kv_num_heads = kAny;
  made.kv_num_heads = G;
  Val wide_k = Expand(x.k, {.shape = kAny}), wide_v = Expand(x.v, {.shape = kAny});
  Val no_k = Expand(Splat(0), {.shape = kAny}), no_v = Expand(Splat(0), {.shape = kAny});
  Val k = Reshape(wide_k, {.shape = {B, G * R, T, D}});
  Val v = Reshape(wide_v, {.shape = {B, G * R, T, E}});
  auto joined = [&](const Val& heads, const Dim& size) {
    return Concat(
        {Reshape(heads, {.shape = {B, G, T, size}}), Expand(Splat(0), {.shape = {B, G, 1, size}})},
        {.axis = 2});
  };
  return Rule("sink-of-repeated-heads")
      .Summary("the key and value of a sink are put behind heads before these are repeated")
      .Match(fused::Attention(x.q, Concat({k, no_k}, {.axis = 2}), Concat({v, no_v}, {.axis = 2}),
                              Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), match))
      .Keep(k)
      .Keep(v)
      .Keep(wide_k)
      .Keep(wide_v)
      .MayCoincide()  // the zeros behind keys and values, and keys that are the values
      .Where(ShapeIs(x.k, {B, G, 1, T, D}) && ShapeIs(x.v, {B, G, 1, T, E}) &&
             ShapeIs(wide_k, {B, G, R, T, D}) && ShapeIs(wide_v, {B, G, R, T, E}) &&
             ShapeIs(no_k, {B, G * R, 1, D}) && ShapeIs(no_v, {B, G * R, 1, E}))
      .Replace(
          fused::Attention(x.q, joined(x.k, D), joined(x.v, E), x.mask, x.bias, x.key_mask, made))
      .Lowers(OpsBefore({"ten.expand"}, {"fused.attention"}));
}

}  // namespace

RuleSet SinksRules() {
  return {SinkColumn("sink", false),
          SinkColumn("sink-masked", true),
          SinkGate("sink-gate", false, Gate::kZero),
          SinkGate("sink-gate-masked", true, Gate::kZero),
          SinkGate("sink-gate-sum", false, Gate::kSum),
          SinkGate("sink-gate-sum-masked", true, Gate::kSum),
          SinkGate("sink-gate-difference", false, Gate::kDifference),
          SinkGate("sink-gate-difference-masked", true, Gate::kDifference),
          SinkOfRepeatedHeads()};
}

}  // namespace tenon::pattern
