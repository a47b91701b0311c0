// Arguments of attention.
#ifndef TENON_KERNELS_GPU_PARAMS_ATTENTION_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ATTENTION_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"

namespace tenon::kernels::gpu {

struct AttentionOperand {
  const void* data;
  int64_t batch, head, row, element, offset;  // strides in elements
};

// See fused.attention. Strides of mask, bias and key mask are over [batch, head, query, key].
struct AttentionParams {
  DType dtype;
  AttentionOperand q, k, v, out;
  const void* mask;
  const void* bias;
  const uint8_t* key_mask;
  bool mask_is_bool, mask_replaces, mask_last, causal, repeats_first_key, nan_guard, zero_nan_rows;
  int64_t mask_strides[4], bias_strides[4], key_mask_strides[4];
  int64_t batch, heads, heads_per_kv, q_len, k_len;
  int dim, v_dim;
  int64_t window, causal_offset;
  float scale, softcap, mask_value;
  // Into how many parts the keys of a row are divided, each with a block of its own; then `parts`
  // takes what they find, PartFloats(v_dim) for each row and part, and JoinAttention the rest.
  int64_t splits;
  float* parts;
};
constexpr int PartFloats(int v_dim) { return v_dim + 3; }

// The parts of an AttentionParams, joined: its rows in the order [batch, head, query].
struct JoinAttentionParams {
  DType dtype;
  AttentionOperand out;
  const float* parts;
  int64_t batch, heads, q_len, splits;
  int v_dim;
  bool nan_guard, zero_nan_rows;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_ATTENTION_PARAMS_H_
