#include "kernels/calls/attention_call.h"

#include <cmath>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

enum class HeadLayout { kBsh, kBshd, kBhsd, kBhds };

// Which columns of a tensor of layout bsh are heads; size -1: all.
struct Columns {
  int64_t offset = 0, size = -1;
};

// Reads extents and strides of a tensor whose heads lie as `layout` says.
AttentionCall::Layout Read(const TensorView& t, HeadLayout layout, int64_t heads, int64_t& length,
                           int64_t& dim, Columns columns = {}) {
  const auto& s = t.shape;
  switch (layout) {
    case HeadLayout::kBsh:
      length = s[1];
      dim = columns.size >= 0 ? columns.size : s[2] / heads;
      return {.batch = s[1] * s[2], .head = dim, .row = s[2], .offset = columns.offset};
    case HeadLayout::kBshd:
      length = s[1];
      dim = s[3];
      return {.batch = s[1] * s[2] * s[3], .head = s[3], .row = s[2] * s[3]};
    case HeadLayout::kBhsd:
      length = s[2];
      dim = s[3];
      return {.batch = s[1] * s[2] * s[3], .head = s[2] * s[3], .row = s[3]};
    case HeadLayout::kBhds:
      length = s[3];
      dim = s[2];
      return {.batch = s[1] * s[2] * s[3], .head = s[2] * s[3], .row = 1, .element = s[3]};
  }
  return {};
}

AttentionCall::ScoreStrides StridesOver(const TensorView& t, const AttentionCall& call) {
  const int64_t scores[4] = {call.batch, call.heads, call.q_len, call.k_len};
  AttentionCall::ScoreStrides strides = {};
  if (!t.present()) return strides;
  const Dims broadcast = BroadcastStrides(t.shape, scores);
  for (size_t i = 0; i < 4; ++i) strides[i] = broadcast[i];
  return strides;
}

void ReadScoreOperands(std::span<const TensorView> inputs, AttentionCall& call) {
  if (inputs.size() > 3) call.mask = inputs[3];
  if (inputs.size() > 4) call.bias = inputs[4];
  if (inputs.size() > 5 && inputs[5].present()) {
    call.key_mask = inputs[5];
    const int64_t positions[2] = {call.batch, call.k_len};
    const Dims strides = BroadcastStrides(call.key_mask.shape, positions);
    call.key_mask_strides = {strides[0], 0, 0, strides[1]};
  }
  call.mask_strides = StridesOver(call.mask, call);
  call.bias_strides = StridesOver(call.bias, call);
}

}  // namespace

bool AttentionCall::Hides(int64_t b, int64_t h, int64_t i, int64_t j) const {
  auto shows = [&](const TensorView& t, const ScoreStrides& s) {
    return t.as<uint8_t>()[b * s[0] + h * s[1] + i * s[2] + j * s[3]] != 0;
  };
  const Range keys = VisibleTo(i);
  return j < keys.first || j >= keys.end ||
         (mask.dtype == DType::kBool && !shows(mask, mask_strides)) ||
         (key_mask.present() && !shows(key_mask, key_mask_strides));
}

AttentionCall AttentionCall::OfFused(std::span<const TensorView> inputs,
                                     std::span<const TensorView> outputs, const void* attrs) {
  const auto& a = *static_cast<const fused::AttentionAttrs*>(attrs);
  AttentionCall call;
  int64_t ignored = 0;
  call.heads = a.num_heads;
  call.kv_heads = a.kv_num_heads;
  call.batch = inputs[0].shape[0];
  call.q = Read(inputs[0], static_cast<HeadLayout>(a.q_layout), call.heads, call.q_len, call.dim,
                {a.q_offset, a.head_dim});
  call.k = Read(inputs[1], static_cast<HeadLayout>(a.k_layout), call.kv_heads, call.k_len, ignored,
                {a.k_offset, a.head_dim});
  call.v = Read(inputs[2], static_cast<HeadLayout>(a.v_layout), call.kv_heads, ignored, call.v_dim,
                {a.v_offset, a.v_head_dim});
  call.out = Read(outputs[0], static_cast<HeadLayout>(a.out_layout), call.heads, ignored, ignored);
  if (inputs.size() > kPast + 1 && inputs[kPast].present()) {
    const auto read = [&](const TensorView& t, int64_t& length) {
      return Read(t, HeadLayout::kBhsd, call.kv_heads, length, ignored);
    };
    call.has_past = true;
    call.past_k = read(inputs[kPast], call.past_len);
    call.past_v = read(inputs[kPast + 1], ignored);
    call.present_k = read(outputs[1], call.k_len);
    call.present_v = read(outputs[2], ignored);
  }
  call.scale = a.scale;
  call.softcap = a.softcap;
  call.causal = a.causal;
  call.causal_offset = call.k_len - call.q_len;
  call.window = a.window;
  call.mask_value = a.mask_value;
  call.mask_replaces = a.mask_replaces;
  call.mask_last = a.mask_replaces && a.mask_last;
  call.nan_guard = a.nan_guard;
  call.zero_nan_rows = a.zero_nan_rows;
  ReadScoreOperands(inputs, call);
  const bool one_column = call.key_mask.present() && call.key_mask_strides[3] == 0;
  if (a.repeat_first_key && one_column && call.k_len != 1) {
    // Where every query sees the first key, nothing is hidden by position.
    const bool seen = call.window == 0 && (!call.causal || call.causal_offset >= 0);
    call.repeats_first_key = !seen;
    if (seen) call.causal = false;
  }
  return call;
}

AttentionCall AttentionCall::OfNn(std::span<const TensorView> inputs,
                                  std::span<const TensorView> outputs, const void* attrs) {
  const auto& a = *static_cast<const nn::AttentionAttrs*>(attrs);
  AttentionCall call;
  int64_t ignored = 0;
  const bool split = inputs[0].rank() == 4;
  const HeadLayout layout = split ? HeadLayout::kBhsd : HeadLayout::kBsh;
  call.heads = split ? inputs[0].shape[1] : a.q_num_heads;
  call.kv_heads = split ? inputs[1].shape[1] : a.kv_num_heads;
  call.batch = inputs[0].shape[0];
  call.q = Read(inputs[0], layout, call.heads, call.q_len, call.dim);
  call.k = Read(inputs[1], layout, call.kv_heads, call.k_len, ignored);
  call.v = Read(inputs[2], layout, call.kv_heads, ignored, call.v_dim);
  call.out = Read(outputs[0], layout, call.heads, ignored, ignored);
  call.scale =
      a.scale != 0 ? a.scale : static_cast<float>(1 / std::sqrt(static_cast<double>(call.dim)));
  call.softcap = a.softcap;
  call.causal = a.is_causal;
  call.causal_offset = a.causal_offset.empty() ? 0 : a.causal_offset.front();
  call.nan_guard = true;  // ONNX: a row without any key is zero
  ReadScoreOperands(inputs, call);
  return call;
}

}  // namespace tenon::kernels
