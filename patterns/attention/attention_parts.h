// Parts of rules on fused.attention: its operands, attributes and the scores before the softmax.
// Private to patterns.
#ifndef TENON_PATTERNS_ATTENTION_ATTENTION_PARTS_H_
#define TENON_PATTERNS_ATTENTION_ATTENTION_PARTS_H_

#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {

namespace fused {
// Attention without past keys and values.
inline Val Attention(const Val& q, const Val& k, const Val& v, const OptVal& mask,
                     const OptVal& bias, const OptVal& key_mask, const AttentionArgs& args) {
  return Attention(q, k, v, mask, bias, key_mask, {}, {}, args);
}
}  // namespace fused

// Attributes of a fused.attention that a rule copies to its result.
struct AttentionAttrs {
  Attr<float> scale{"scale"}, softcap{"softcap"}, mask_value{"mask_value"};
  Attr<int64_t> window{"window"};
  Attr<bool> causal{"causal"}, mask_replaces{"mask_replaces"}, mask_last{"mask_last"};
  Attr<bool> nan_guard{"nan_guard"};
  Attr<bool> repeat_first_key{"repeat_first_key"}, zero_nan_rows{"zero_nan_rows"};
  Attr<int64_t> num_heads{"num_heads"}, kv_num_heads{"kv_num_heads"};
  Attr<std::string> q_layout{"q_layout"}, k_layout{"k_layout"}, v_layout{"v_layout"},
      out_layout{"out_layout"};
  fused::AttentionArgs args() const {
    return Of(fused::AttentionArgs{.q_layout = q_layout,
                                   .k_layout = k_layout,
                                   .v_layout = v_layout,
                                   .out_layout = out_layout});
  }
  // `made`, of an operation with an attention inside, with all of these attributes but the layouts.
  template <typename Args>
  Args Of(Args made) const {
    made.num_heads = num_heads;
    made.kv_num_heads = kv_num_heads;
    made.scale = scale;
    made.causal = causal;
    made.window = window;
    made.mask_value = mask_value;
    made.mask_replaces = mask_replaces;
    made.mask_last = mask_last;
    made.repeat_first_key = repeat_first_key;
    made.nan_guard = nan_guard;
    made.zero_nan_rows = zero_nan_rows;
    made.softcap = softcap;
    return made;
  }
};

// One of the first three operands.
enum class Side { kQ, kK, kV };

// Operands of a fused.attention that a rule copies to its result.
struct AttentionVals {
  Val q{"q"}, k{"k"}, v{"v"}, mask{"mask"}, bias{"bias"}, key_mask{"key_mask"};
  Val past_key{"past_key"}, past_value{"past_value"};

  // In a match: an attention with these queries, keys and values, with or without masks and a past.
  Val Matched(const Val& of_q, const Val& of_k, const Val& of_v,
              const fused::AttentionArgs& args) const {
    return fused::Attention(of_q, of_k, of_v, Maybe(mask), Maybe(bias), Maybe(key_mask),
                            Maybe(past_key), Maybe(past_value), args);
  }
  // In a result: the same operands and attributes.
  Val Made(const Val& of_q, const Val& of_k, const Val& of_v,
           const fused::AttentionArgs& args) const {
    return fused::Attention(of_q, of_k, of_v, mask, bias, key_mask, past_key, past_value, args);
  }
};

// The number if f32 holds it, because attributes of attention are f32.
inline Term HeldByAttribute(const Term& x) { return Held(DType::kF32, x); }
inline Term ProductHeldByAttribute(const Term& x, const Term& y) {
  return HeldProduct(DType::kF32, x, y);
}

// Matches x * factor or x / divisor for numbers, and binds the factor.
inline Val TimesNumber(const Val& x, const Attr<float>& factor) {
  Attr<float> multiplier("multiplier"), divisor("divisor");
  return AnyOf(Mul(x, Splat(multiplier)).Let(factor, HeldByAttribute(multiplier)),
               Div(x, Splat(divisor)).Let(factor, HeldByAttribute(1.0 / divisor)));
}

// The scores before the softmax: q * k^T, times a number, soft-capped, plus bias and mask.
struct MaskedScores {
  Attr<float> scale{"scale"}, softcap{"softcap"};
  Val scores{"_scores"}, masked{"_masked"};

  MaskedScores(const Val& product, const AttentionVals& x) {
    Attr<float> inner("inner"), cap("cap");
    // The scale of the op is inner * cap, so the cap must leave headroom.
    Val capped = Mul(Tanh(TimesNumber(product, inner)), Splat(cap));
    scores =
        AnyOf(capped.Let(softcap, Choose(IsModerateNumber(cap), AbsOf(cap)))
                  .Let(scale, ProductHeldByAttribute(inner, cap)),
              TimesNumber(product, scale).Let(softcap, 0), product.Let(scale, 1).Let(softcap, 0));
    masked =
        AnyOf(Add(Add(scores, x.bias), x.mask), Add(scores, x.mask), scores).As("masked scores");
  }
};

// True if the masked scores have the shape of q * k^T: a mask must not add batches, rows or keys by
// broadcasting. It also suffices that the values have as many rows as there are keys, because the
// program fails otherwise.
inline Condition MaskFits(const Val& masked, const Val& product, const Val& v,
                          const Term& keys_of_v) {
  return If("the mask does not widen q k^T",
            RankOf(product) > 1 && Take(ShapeOf(masked), -1) == Take(ShapeOf(product), -1) &&
                Or(Compare(ExtentOf(masked, -1), "==", ExtentOf(product, -1)),
                   Compare(ExtentOf(v, keys_of_v), "==", ExtentOf(product, -1))));
}
inline Condition MaskFits(const Val& masked, const Val& product, const Val& v,
                          const Attr<bool>& transposed_v) {
  return MaskFits(masked, product, v, Choose(transposed_v, -1, -2));
}
inline Condition MaskFits(const Val& masked, const Val& product, const Val& v) {
  return MaskFits(masked, product, v, Term(-2));
}

// The softmax, with or without a guard that turns NaN rows into zeros; binds which.
inline Val Probabilities(const Val& masked, const Attr<bool>& guard) {
  Val weights = Softmax(masked, {.axis = -1});
  return AnyOf(ten::Where(IsNan(weights), Splat(0), weights).Let(guard, true),
               weights.Let(guard, false));
}

// Keys and values have as many heads as the queries, or one head for all.
inline Condition HeadsBroadcast(const Dim& heads, const Dim& kv_heads) {
  return If("keys and values have a head for each of the queries or for all",
            Or(Compare(kv_heads, "==", 1), Compare(heads, "==", kv_heads)));
}

// The layout of keys in a product that transposes them, or does not.
inline Term KeyLayout(const Attr<bool>& transposed) { return Choose(transposed, "bhsd", "bhds"); }

// The rules of attention_cores.cc and attention_sequences.cc, in order.
RuleSet AttentionCoreRules();
RuleSet AttentionSequenceRules();

// Rules of attention_batches.cc.
Rule AttentionOfBlocks(const char* name, bool with_mask, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());
Rule AttentionOfBroadcastBatches();
Rule WidenedScaleOfK();
Rule WidenedRepeatedHeads();

// The rule that replaces `from`, which is computed from attention `a`, by `to`, which is computed
// from `made`. The concatenated keys and values of `a`, if it has them, become those of `made`.
inline Rule Replacing(Rule rule, const Val& from, const Val& a, const Val& to, const Val& made) {
  return std::move(rule)
      .Match({from, a.result(1), a.result(2)})
      .Replace({to, made.result(1), made.result(2)});
}
inline Rule Replacing(Rule rule, const Val& a, const Val& made) {
  return Replacing(std::move(rule), a, a, made, made);
}

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_ATTENTION_ATTENTION_PARTS_H_
