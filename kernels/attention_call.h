// Both attention ops, reduced to one description in which every layout is strides.
#ifndef TENON_KERNELS_ATTENTION_CALL_H_
#define TENON_KERNELS_ATTENTION_CALL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "kernels/kernel.h"

namespace tenon::kernels {

struct AttentionCall {
  // Strides in elements of a q, k, v or out tensor.
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
  // Keys and values that stand before those of k and v, and where all of them are to be written;
  // past_len is 0 and the layouts are empty for a call without.
  bool has_past = false;
  int64_t past_len = 0;  // k_len counts them
  Layout past_k, past_v, present_k, present_v;
  TensorView mask, bias, key_mask;  // may be absent; a bool mask keeps where true
  ScoreStrides mask_strides = {}, bias_strides = {};
  ScoreStrides key_mask_strides = {};  // 0 for heads and queries
  float scale = 1, softcap = 0;
  bool causal = false;
  bool nan_guard = false;          // are rows without any key zeros?
  bool zero_nan_rows = false;      // are the weights zeros where the softmax is NaN?
  bool repeats_first_key = false;  // what causal and window say of key 0 holds for all keys
  int64_t window = 0;              // 0: none
  int64_t causal_offset = 0;       // key j is visible to query i when j <= i + causal_offset
  float mask_value = -std::numeric_limits<float>::infinity();  // added to a hidden key's score
  bool mask_replaces = false;  // … or its score, before bias and float mask are added …
  bool mask_last = false;      // … or after that

  int64_t new_len() const { return k_len - past_len; }
  int64_t kv_head(int64_t h) const { return h / (heads / kv_heads); }

  // Keys [first, end) that causality and the window show to query i; may be empty.
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
  // Is key j hidden from query i by a boolean mask, causality or the window?
  bool Hides(int64_t b, int64_t h, int64_t i, int64_t j) const;

  // Operands 0-2 are q, k, v, the operands kPast and kPast + 1 past keys and values; results 1 and
  // 2 are the present ones. Shapes must be final.
  static constexpr size_t kPast = 6;
  static AttentionCall OfFused(std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs, const void* attrs);
  static AttentionCall OfNn(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            const void* attrs);
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_ATTENTION_CALL_H_
