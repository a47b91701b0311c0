// Projections that one product makes: attention reads q, k and v from the columns of one tensor.
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// An attention whose operands are whole tensors of layout bsh, and the attributes that stay.
struct WholeAttention : AttentionAttrs {
  AttentionVals x;
  Dim P{"P"}, Q{"Q"}, R{"R"};  // columns of the heads of q, k and v

  // `q_is_bsh`: else any layout, which stays.
  fused::AttentionArgs whole(bool q_is_bsh = true) const {
    fused::AttentionArgs made = args();
    made.k_layout = made.v_layout = "bsh";
    if (q_is_bsh) made.q_layout = "bsh";
    return made;
  }
  // The same, of one tensor that holds the columns of q, k and v, or of k and v.
  fused::AttentionArgs packed(bool with_q) const {
    fused::AttentionArgs made = whole(with_q);
    made.head_dim = Q / kv_num_heads;
    made.v_head_dim = R / kv_num_heads;
    if (with_q) made.k_offset = P;
    made.v_offset = with_q ? P + Q : Q;
    return made;
  }
};

// linear(x, wq), linear(x, wk), linear(x, wv) with the heads of q, k and v
Rule PackProjections(const char* name, bool biased, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  WholeAttention a;
  Val x("x"), wq = Const("wq"), wk = Const("wk"), wv = Const("wv");
  Val bq = Const("bq"), bk = Const("bk"), bv = Const("bv");
  Dim B("B"), S("S"), K("K");
  auto project = [&](const Val& w, const Val& b) {
    return biased ? fused::Linear(x, w, b, {}) : fused::Linear(x, w, {}, {});
  };
  Val q = project(wq, bq), k = project(wk, bk), v = project(wv, bv);
  Val w = Concat({wq, wk, wv}, {.axis = 1});
  Val packed = biased ? fused::Linear(x, w, Concat({bq, bk, bv}, {.axis = 0}), {})
                      : fused::Linear(x, w, {}, {});
  return Replacing(Rule(name, file, line)
                       .Summary(biased ? "q, k and v from one product, with biases"
                                       : "q, k and v from one product")
                       .Where(ShapeIs(x, {B, S, K}) && ShapeIs(wq, {K, a.P}) &&
                              ShapeIs(wk, {K, a.Q}) && ShapeIs(wv, {K, a.R}))
                       .Lowers(OpsOf({"fused.linear"}))
                       .RequireKernel(),
                   a.x.Matched(q, k, v, a.whole()),
                   a.x.Made(packed, packed, packed, a.packed(true)));
}

// The same for k and v alone: in cross attention q comes from elsewhere.
Rule PackKeysAndValues(const char* name, bool biased, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  WholeAttention a;
  Val x("x"), q("q"), wk = Const("wk"), wv = Const("wv"), bk = Const("bk"), bv = Const("bv");
  Dim B("B"), S("S"), K("K");
  auto project = [&](const Val& w, const Val& b) {
    return biased ? fused::Linear(x, w, b, {}) : fused::Linear(x, w, {}, {});
  };
  Val k = project(wk, bk), v = project(wv, bv);
  Val w = Concat({wk, wv}, {.axis = 1});
  Val packed =
      biased ? fused::Linear(x, w, Concat({bk, bv}, {.axis = 0}), {}) : fused::Linear(x, w, {}, {});
  return Replacing(
      Rule(name, file, line)
          .Summary(biased ? "k and v from one product, with biases" : "k and v from one product")
          .Where(ShapeIs(x, {B, S, K}) && ShapeIs(wk, {K, a.Q}) && ShapeIs(wv, {K, a.R}))
          .Lowers(OpsOf({"fused.linear"}))
          .RequireKernel(),
      a.x.Matched(q, k, v, a.whole(false)), a.x.Made(q, packed, packed, a.packed(false)));
}

// q, k and v split from one tensor: attention reads its columns.
Rule ReadPackedHeads() {
  WholeAttention a;
  Val packed("packed");
  Dim B("B"), S("S");
  Val parts = Split(packed, {.axis = -1, .sizes = {a.P, a.Q, a.R}});
  return Replacing(Rule("read-packed-heads")
                       .Summary("q, k and v are columns of one tensor")
                       .Where(ShapeIs(packed, {B, S, AnyDim()}))
                       .Keep(parts)
                       .Lowers(OpsBefore({"ten.split"}, {"fused.attention"}))
                       .RequireKernel(),
                   a.x.Matched(parts, parts.result(1), parts.result(2), a.whole()),
                   a.x.Made(packed, packed, packed, a.packed(true)));
}

}  // namespace

RuleSet PackingRules() {
  return {PackProjections("pack-qkv", true), PackProjections("pack-qkv-without-bias", false),
          PackKeysAndValues("pack-kv", true), PackKeysAndValues("pack-kv-without-bias", false),
          ReadPackedHeads()};
}

}  // namespace tenon::pattern
