// Arguments of attention.
#ifndef TENON_KERNELS_GPU_PARAMS_ATTENTION_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ATTENTION_PARAMS_H_

#include <cstdint>

#include "ir/base/dtype.h"

namespace tenon::kernels::gpu {

// A tensor [batch, head, row, element] by its strides.
struct AttentionOperand {
  const void* data;
  int64_t batch, head, row, element, offset;  // strides and the first element, in elements
};

// fused.attention; see AttentionCall (kernels/calls/attention_call.h) for the fields. Strides of
// mask, bias and key mask are over [batch, head, query, key].
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
  // The number of parts of the keys of a row, each with a block of its own. If there are several,
  // `parts` takes their results: PartFloats(v_dim) floats for each row and part. JoinAttention
  // makes `out` of them.
  int64_t splits;
  float* parts;
};
// Returns the floats of a part: largest score, sum of weights, whether a key is visible, and sums.
constexpr int PartFloats(int v_dim) { return v_dim + 3; }

// Attention of at most kMostFewRows queries takes blocks of kFewRows of them, and of one alone.
inline constexpr int kFewRows = 4, kMostFewRows = 16;

// Keys and values with the rows of `past`, and then those of `now`, whose elements lie side by
// side. Past and present ones are [batch, heads, rows, width].
struct AppendRowsParams {
  struct Part {
    const void* past;
    const void* now;
    void* present;
    int64_t width, batch, head, row;  // in bytes; strides of `now`
  };
  Part keys, values;
  int64_t batch, heads, past_len, length;  // length: with past_len
};

// Joins the parts of an AttentionParams, whose rows are in the order [batch, head, query].
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
