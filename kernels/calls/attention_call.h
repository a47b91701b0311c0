// Both attention ops, reduced to one description in which strides express every layout.
#ifndef TENON_KERNELS_CALLS_ATTENTION_CALL_H_
#define TENON_KERNELS_CALLS_ATTENTION_CALL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "kernels/kernel.h"

namespace tenon::kernels {

// One call of fused.attention or nn.attention. Lengths are sequence lengths; dim and v_dim are the
// sizes of a head.
struct AttentionCall {
  // Strides, in elements, of a tensor of queries, keys, values or results.
  struct Layout {
    int64_t batch = 0, head = 0, row = 0, element = 1, offset = 0;
    int64_t At(int64_t b, int64_t h, int64_t s) const {
      return offset + b * batch + h * head + s * row;
    }
  };
  // Strides of mask and bias over [batch, head, query, key]; 0 where they repeat.
  using ScoreStrides = std::array<int64_t, 4>;

  int64_t batch = 0, heads = 0, kv_heads = 0, q_len = 0, k_len = 0, dim = 0, v_dim = 0;
  Layout q, k, v, out;
  // The KV cache: past keys and values come before those of k and v, and the concatenation is
  // written to the present ones. Without a past, past_len is 0 and these layouts are empty.
  bool has_past = false;
  int64_t past_len = 0;  // included in k_len
  Layout past_k, past_v, present_k, present_v;
  TensorView mask, bias, key_mask;  // may be absent; a bool mask keeps keys where it is true
  ScoreStrides mask_strides = {}, bias_strides = {};
  ScoreStrides key_mask_strides = {};  // 0 for heads and queries
  float scale = 1, softcap = 0;
  bool causal = false;
  bool nan_guard = false;      // rows without a visible key become zeros
  bool zero_nan_rows = false;  // the weights become zeros where the softmax is NaN
  // Causality and window are evaluated for key 0 and hold for all keys.
  bool repeats_first_key = false;
  int64_t window = 0;         // 0: none
  int64_t causal_offset = 0;  // key j is visible to query i if j <= i + causal_offset
  float mask_value = -std::numeric_limits<float>::infinity();  // added to the score of a hidden key
  bool mask_replaces = false;  // replaces the score instead, before bias and float mask are added
  bool mask_last = false;      // replaces the score instead, after bias and float mask are added

  int64_t new_len() const { return k_len - past_len; }
  int64_t kv_head(int64_t h) const { return h / (heads / kv_heads); }

  // Keys [first, end) that causality and the window allow for query i; may be empty.
  struct Range {
    int64_t first = 0, end = 0;
  };
  Range VisibleTo(int64_t i) const {
    Range keys = {0, k_len};
    if (repeats_first_key) {
      const bool hidden =
          (causal && i + causal_offset < 0) || (window > 0 && i + causal_offset - window >= 0);
      return hidden ? Range{} : keys;
    }
    if (causal) keys.end = std::clamp<int64_t>(i + causal_offset + 1, 0, k_len);
    if (window > 0) keys.first = std::clamp<int64_t>(i + causal_offset - window + 1, 0, keys.end);
    return keys;
  }
  // True if a bool mask, causality or the window hides key j from query i.
  bool Hides(int64_t b, int64_t h, int64_t i, int64_t j) const;

  // Make a description from the operands and attributes of the two ops. Operands 0 to 2 are q, k
  // and v; operands kPast and kPast + 1 are past keys and values; results 1 and 2 are the present
  // ones. All shapes must be final.
  static constexpr size_t kPast = 6;
  static AttentionCall OfFused(std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs, const void* attrs);
  static AttentionCall OfNn(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            const void* attrs);
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_ATTENTION_CALL_H_
