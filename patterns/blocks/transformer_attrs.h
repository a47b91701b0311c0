// The attributes of halves of the layers of transformers, of layers and of stacks, each written
// down once for the rules that copy them. Private to patterns.
#ifndef TENON_PATTERNS_BLOCKS_TRANSFORMER_ATTRS_H_
#define TENON_PATTERNS_BLOCKS_TRANSFORMER_ATTRS_H_

#include <utility>

#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {

// Attributes of fused.attention that fused.attention_block, fused.transformer_layer and
// fused.transformer_stack have, too.
struct BlockAttrs : AttentionAttrs {
  Attr<int64_t> head_dim{"head_dim"}, v_head_dim{"v_head_dim"}, q_offset{"q_offset"},
      k_offset{"k_offset"}, v_offset{"v_offset"}, rotary_dim{"rotary_dim"};
  Attr<bool> interleaved{"interleaved"};

  fused::AttentionArgs Attention(const Attr<std::string>& layout) const {
    return Placed(AttentionAttrs::Of(fused::AttentionArgs{
        .q_layout = layout, .k_layout = layout, .v_layout = "bsh", .out_layout = "bsh"}));
  }
  // `made` with these attributes.
  template <typename Args>
  Args Of(Args made) const {
    made = Placed(AttentionAttrs::Of(std::move(made)));
    made.interleaved = interleaved;
    made.rotary_dim = rotary_dim;
    return made;
  }

 private:
  // `made` with the places of the heads in their rows.
  template <typename Args>
  Args Placed(Args made) const {
    made.head_dim = head_dim;
    made.v_head_dim = v_head_dim;
    made.q_offset = q_offset;
    made.k_offset = k_offset;
    made.v_offset = v_offset;
    return made;
  }
};

// Those of a whole layer, which all layers of a stack share.
struct LayerAttrs : BlockAttrs {
  Attr<std::string> activation{"activation"}, norm{"norm"};
  Attr<float> alpha{"alpha"}, beta{"beta"}, epsilon{"epsilon"};
  Attr<bool> transpose{"transpose"}, post_norm{"post_norm"};
  Attr<std::string> parallel{"parallel"};

  // `made`, of fused.transformer_layer or fused.transformer_stack, with these attributes.
  template <typename Args>
  Args Of(Args made) const {
    made = BlockAttrs::Of(made);
    made.activation = activation;
    made.alpha = alpha;
    made.beta = beta;
    made.norm = norm;
    made.epsilon = epsilon;
    made.transpose_w = transpose;
    made.post_norm = post_norm;
    made.parallel = parallel;
    return made;
  }
};

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_BLOCKS_TRANSFORMER_ATTRS_H_
