// Parts of the rules that find halves of the layers of transformers, and layers. Private to
// patterns.
#ifndef TENON_PATTERNS_BLOCKS_TRANSFORMER_PARTS_H_
#define TENON_PATTERNS_BLOCKS_TRANSFORMER_PARTS_H_

#include "patterns/blocks/transformer_attrs.h"
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {

// Matrices of a half, all stored in one way.
struct Matrices {
  Attr<bool> transpose{"transpose"};
  Val Of(const Val& x, const Val& w, const Val& bias) const {
    return fused::Linear(x, w, Maybe(bias), {}, {.transpose_w = transpose});
  }
  Val OfWithResidual(const Val& x, const Val& w, const Val& bias, const Val& residual) const {
    return fused::Linear(x, w, Maybe(bias), residual, {.transpose_w = transpose});
  }
};

// Operands of both ops that concern the attention.
struct BlockVals : AttentionVals {
  Val x{"x"}, wq{"wq"}, wk{"wk"}, wv{"wv"}, wo{"wo"}, bq{"bq"}, bk{"bk"}, bv{"bv"}, bo{"bo"};
  Val cos{"cos"}, sin{"sin"};
};

// The attention of rows over themselves, with queries, keys and values from three matrices, two or
// one.
struct AttentionHalf {
  AttentionHalf(const BlockAttrs& a, const BlockVals& v, const Matrices& m, int matrices)
      : count(matrices),
        vals(v),
        q(m.Of(v.x, v.wq, v.bq)),
        k(matrices > 1 ? m.Of(v.x, v.wk, v.bk) : q),
        values(matrices > 2 ? m.Of(v.x, v.wv, v.bv) : k),
        attention(
            v.Matched(Heads(a, q, q_heads), Heads(a, k, k_heads), values, a.Attention(layout))) {}

  bool separate() const { return count > 2; }
  // Operands of the result, absent where the matrix is that of another operand.
  OptVal wk() const { return count > 1 ? OptVal(vals.wk) : OptVal(); }
  OptVal bk() const { return count > 1 ? OptVal(vals.bk) : OptVal(); }
  OptVal wv() const { return separate() ? OptVal(vals.wv) : OptVal(); }
  OptVal bv() const { return separate() ? OptVal(vals.bv) : OptVal(); }
  OptVal cos() const { return separate() ? OptVal(vals.cos) : OptVal(); }
  OptVal sin() const { return separate() ? OptVal(vals.sin) : OptVal(); }
  // `made` for heads that nothing rotates, where these matrices are not separate.
  template <typename Args>
  Args Rotated(Args made) const {
    if (separate()) return made;
    made.interleaved = false;
    made.rotary_dim = int64_t{0};
    return made;
  }
  // The rows of queries or keys in a match. Rotated heads are split, in the order of the rows.
  Val Heads(const BlockAttrs& a, const Val& rows, const Dim& number) const {
    if (!separate()) return rows;
    Val split = Reshape(rows, {.shape = {batch, length, number, size}});
    Val rotated = fused::Rotary(split, vals.cos, vals.sin,
                                {.interleaved = a.interleaved, .rotary_dim = a.rotary_dim});
    return AnyOf(rotated.Let(layout, "bshd")
                     .Let(a.head_dim, int64_t{-1})
                     .Let(a.q_offset, int64_t{0})
                     .Let(a.k_offset, int64_t{0}),
                 rows.Let(layout, "bsh").Let(a.interleaved, false).Let(a.rotary_dim, int64_t{0}));
  }
  Condition Fits() const { return ShapeIs(vals.x, {batch, length, AnyDim()}); }

  int count;
  BlockVals vals;
  Attr<std::string> layout{"layout"};
  Dim batch{"B"}, length{"S"}, size{"D"}, q_heads{"H"}, k_heads{"G"};
  Val q, k, values, attention;
};

// Layers whose halves read the same sum, and are added to it together.
RuleSet ParallelLayerRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_BLOCKS_TRANSFORMER_PARTS_H_
