// Attention of rows that are those of a sequence and then of the batch, [S, B, H * D]: it reads and
// writes them with these two axes exchanged, which moves whole rows.
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// The operand of `side` of an attention, and the layout of it.
struct OperandOfSide {
  explicit OperandOfSide(Side of) : side(of) {}
  Side side;
  AttentionVals x;
  AttentionAttrs a;
  fused::AttentionArgs Args(const char* layout) const {
    fused::AttentionArgs args = a.args();
    (side == Side::kQ ? args.q_layout : side == Side::kK ? args.k_layout : args.v_layout) = layout;
    return args;
  }
  Rule Rewrite(Rule rule, const Val& from, const fused::AttentionArgs& match, const Val& to,
               const fused::AttentionArgs& made) const {
    const auto q = [&](const Val& v) { return side == Side::kQ ? v : x.q; };
    const auto k = [&](const Val& v) { return side == Side::kK ? v : x.k; };
    const auto v = [&](const Val& v) { return side == Side::kV ? v : x.v; };
    return Replacing(std::move(rule), x.Matched(q(from), k(from), v(from), match),
                     x.Made(q(to), k(to), v(to), made));
  }
};

Rule AbsorbSequence(const char* name, Side side, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  const OperandOfSide operand(side);
  Val y("y");
  Dim S("S"), B("B"), H("H"), D("D");
  Val split = Reshape(y, {.shape = {S, B, H, D}});
  Val heads = Transpose(split, {.perm = {1, 2, 0, 3}});
  fused::AttentionArgs match = operand.Args("bhsd"), made = operand.Args("bsh");
  (side == Side::kQ ? match.num_heads : match.kv_num_heads) = H;
  (side == Side::kQ ? made.num_heads : made.kv_num_heads) = H;
  return operand.Rewrite(Rule(name, file, line)
                             .Summary("heads of rows that are sequence first are a layout of "
                                      "attention behind an exchange of rows")
                             .Where(ShapeIs(y, {S, B, H * D}))
                             .Keep(split)
                             .Keep(heads)
                             .Lowers(OpsBefore({"ten.reshape"}, {"fused.attention"})),
                         heads, match, Transpose(y, {.perm = {1, 0, 2}}), made);
}

// One exchange of rows before the projections that read the same rows, in place of one behind each.
Rule SequenceOfProjections(const char* name, bool with_q, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Val rows("rows");
  Val w[] = {Val("wq"), Val("wk"), Val("wv")}, b[] = {Val("bq"), Val("bk"), Val("bv")};
  Attr<bool> transpose[] = {Attr<bool>("transpose_q"), Attr<bool>("transpose_k"),
                            Attr<bool>("transpose_v")};
  Val exchanged = Transpose(rows, {.perm = {1, 0, 2}});
  const auto behind = [&](int i) {
    Val linear = fused::Linear(rows, w[i], Maybe(b[i]), {}, {.transpose_w = transpose[i]});
    return Transpose(linear, {.perm = {1, 0, 2}});
  };
  const auto before = [&](int i) {
    return fused::Linear(exchanged, w[i], b[i], {}, {.transpose_w = transpose[i]});
  };
  fused::AttentionArgs args = a.args();
  args.k_layout = args.v_layout = "bsh";
  if (with_q) args.q_layout = "bsh";
  return Replacing(Rule(name, file, line)
                       .Summary(with_q ? "rows of attention are exchanged before the projections "
                                         "of q, k and v, not behind them"
                                       : "… of k and v")
                       .Where(Rank(rows, 3))
                       .Lowers(OpsBefore({"fused.linear"}, {"ten.transpose"})),
                   x.Matched(with_q ? behind(0) : x.q, behind(1), behind(2), args),
                   x.Made(with_q ? before(0) : x.q, before(1), before(2), args));
}

// The result, back in the order of the rows; with `rows` as a matrix, as exporters write a product.
Rule MergeSequence(const char* name, bool rows, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), S("S"), H("H"), D("D"), R("R");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.out_layout = "bhsd";
  made.out_layout = "bsh";
  Val out = x.Matched(x.q, x.k, x.v, match), merged = x.Made(x.q, x.k, x.v, made);
  Val back = Transpose(merged, {.perm = {1, 0, 2}});
  Val heads = Transpose(out, {.perm = {2, 0, 1, 3}});
  return Replacing(
      Rule(name, file, line)
          .Summary(rows ? "… as the rows of a matrix"
                        : "the merge of heads into rows that are sequence first is a layout of "
                          "attention and an exchange of rows")
          .Where(ShapeIs(out, {B, H, S, D}))
          .Lowers(OpsOf({MeasuredOp("fused.attention").With("out_layout", "bhsd")})),
      rows ? Reshape(heads, {.shape = {R, H * D}}) : Reshape(heads, {.shape = {S, B, H * D}}), out,
      rows ? Reshape(back, {.shape = {R, H * D}}) : back, merged);
}

}  // namespace

RuleSet AttentionSequenceRules() {
  return {AbsorbSequence("attention-sequence-q", Side::kQ),
          AbsorbSequence("attention-sequence-k", Side::kK),
          AbsorbSequence("attention-sequence-v", Side::kV),
          SequenceOfProjections("attention-rows-of-projections", true),
          SequenceOfProjections("attention-rows-of-keys", false),
          MergeSequence("attention-merge-sequence", false),
          MergeSequence("attention-merge-sequence-rows", true)};
}

}  // namespace tenon::pattern
