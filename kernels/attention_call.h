// Both attention ops, reduced to one description in which every layout is strides.
#ifndef TENON_KERNELS_ATTENTION_CALL_H_
#define TENON_KERNELS_ATTENTION_CALL_H_

#include <array>
#include <cstdint>

#include "kernels/kernel.h"

namespace tenon::kernels {

struct AttentionCall {
  // Strides in elements of a q, k, v or out tensor.
  struct Layout {
    int64_t batch = 0, head = 0, row = 0, element = 1;
    int64_t At(int64_t b, int64_t h, int64_t s) const { return b * batch + h * head + s * row; }
  };
  // Strides of mask and bias over [batch, head, query, key]; 0 where they repeat.
  using ScoreStrides = std::array<int64_t, 4>;

  int64_t batch = 0, heads = 0, kv_heads = 0, q_len = 0, k_len = 0, dim = 0, v_dim = 0;
  Layout q, k, v, out;
  TensorView mask, bias;  // may be absent; a bool mask keeps where true
  ScoreStrides mask_strides = {}, bias_strides = {};
  float scale = 1, softcap = 0;
  bool causal = false, nan_guard = false;
  int64_t causal_offset = 0;  // key j is visible to query i when j <= i + causal_offset

  int64_t kv_head(int64_t h) const { return h / (heads / kv_heads); }

  // Operands 0-2 are q, k, v; shapes must be final.
  static AttentionCall OfFused(std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs, const void* attrs);
  static AttentionCall OfNn(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                            const void* attrs);
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_ATTENTION_CALL_H_
