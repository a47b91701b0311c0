// Attention on floats: blocks of query rows per head, all layouts read through strides.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention_call.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using cpu::BinaryForm;
using cpu::BinaryOp;
using cpu::UnaryOp;

constexpr int64_t kLineFloats = 16;      // scratch parts start on cache lines of their own
constexpr int64_t kFewRows = 4;          // below it, transposing k costs more than it saves
constexpr int64_t kScoreFloats = 32768;  // a block of scores stays in the second-level cache

int64_t AlignFloats(int64_t n) { return (n + kLineFloats - 1) / kLineFloats * kLineFloats; }

struct AttentionState : KernelState {
  int64_t block_rows = 0;  // query rows done at once
  int64_t row_blocks = 0;  // blocks per head
  int64_t slots = 0;       // workers, each with scratch of its own
  bool transposes_k = false;
  int64_t scores_at = 0, slot_floats = 0;  // in a slot: transposed k, then scores
};

template <auto kReadCall>
KernelStatus PrepareAttention(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  auto state = std::make_shared<AttentionState>();
  const int64_t fit = kScoreFloats / std::max<int64_t>(call.k_len, 1);
  // Multiples of 6 suit the matrix product's tiles.
  state->block_rows = std::clamp<int64_t>(fit / 6 * 6, 12, 96);
  state->block_rows = std::min(state->block_rows, std::max<int64_t>(call.q_len, 1));
  state->row_blocks = (call.q_len + state->block_rows - 1) / state->block_rows;
  const int64_t tasks = call.batch * call.heads * state->row_blocks;
  const double flops = 2.0 * static_cast<double>(call.batch * call.heads) *
                       static_cast<double>(call.q_len) * static_cast<double>(call.k_len) *
                       static_cast<double>(call.dim + call.v_dim);
  state->slots =
      std::min<int64_t>(cpu::ThreadsFor(flops, *args.device), std::max<int64_t>(tasks, 1));
  state->transposes_k = call.k.row != 1 && call.q_len >= kFewRows;
  state->scores_at = state->transposes_k ? AlignFloats(call.dim * call.k_len) : 0;
  state->slot_floats = state->scores_at + AlignFloats(state->block_rows * call.k_len);
  args.scratch_bytes = static_cast<size_t>(state->slots * state->slot_floats) * sizeof(float);
  out = std::move(state);
  return KernelStatus::Ok();
}

// to (dim x k_len) = the head's keys, transposed.
void TransposeKeys(const AttentionCall& call, const float* k, float* to) {
  constexpr int64_t kBlock = 16;
  for (int64_t j0 = 0; j0 < call.k_len; j0 += kBlock) {
    const int64_t j1 = std::min(call.k_len, j0 + kBlock);
    for (int64_t d = 0; d < call.dim; ++d) {
      for (int64_t j = j0; j < j1; ++j) to[d * call.k_len + j] = k[j * call.k.row + d];
    }
  }
}

// scores (+)= a row of mask or bias, whose elements are `step` (1 or 0) apart.
void AddRow(const cpu::VectorOps& ops, const float* row, int64_t step, float* scores, int64_t n) {
  const auto form = step == 0 ? BinaryForm::kVS : BinaryForm::kVV;
  ops.binary[static_cast<int>(BinaryOp::kAdd)][static_cast<int>(form)](scores, row, scores, n);
}

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// A finite mask value so low that any other score leaves hidden keys without weight.
bool Swallows(float mask_value) { return mask_value <= -1e30f && mask_value != kMasked; }

// Keys that some query row of [begin, end) sees. All, if hidden keys may have a weight.
AttentionCall::Range KeysOf(const AttentionCall& call, int64_t begin, int64_t end) {
  if (call.mask_value != kMasked && !Swallows(call.mask_value)) return {0, call.k_len};
  AttentionCall::Range keys = {call.VisibleTo(begin).first, call.VisibleTo(end - 1).end};
  if (keys.end <= keys.first) keys = {0, std::min<int64_t>(call.k_len, 1)};
  return keys;
}

enum class RowResult { kVisible, kMasked, kHiddenKeysCount };

// One row of scores: products of query i with `keys`.
struct ScoreRow {
  const AttentionCall& call;
  const cpu::VectorOps& ops;
  int64_t b, h, i;
  AttentionCall::Range keys;
  float* scores;

  int64_t count() const { return keys.end - keys.first; }
  int64_t At(const AttentionCall::ScoreStrides& s) const {
    return b * s[0] + h * s[1] + i * s[2] + keys.first * s[3];
  }

  void ScaleAndAdd() const {
    const int64_t n = count();
    const auto affine = ops.unary[static_cast<int>(UnaryOp::kAffine)];
    if (call.softcap > 0) {
      affine(scores, scores, n, call.scale / call.softcap, 0);
      ops.unary[static_cast<int>(UnaryOp::kTanh)](scores, scores, n, 0, 0);
      affine(scores, scores, n, call.softcap, 0);
    } else {
      affine(scores, scores, n, call.scale, 0);
    }
    if (call.bias.present()) {
      AddRow(ops, call.bias.as<float>() + At(call.bias_strides), call.bias_strides[3], scores, n);
    }
    if (call.mask.present() && call.mask.dtype != DType::kBool) {
      AddRow(ops, call.mask.as<float>() + At(call.mask_strides), call.mask_strides[3], scores, n);
    }
  }

  void HideByMask(const TensorView& mask, const AttentionCall::ScoreStrides& strides) const {
    const uint8_t* keep = mask.as<uint8_t>() + At(strides);
    if (strides[3] != 0) {
      ops.mask(keep, scores, count());
    } else if (*keep == 0) {
      std::fill(scores, scores + count(), kMasked);
    }
  }

  // Hidden keys get -inf.
  void Hide() const {
    if (call.mask.dtype == DType::kBool) HideByMask(call.mask, call.mask_strides);
    if (call.key_mask.present()) HideByMask(call.key_mask, call.key_mask_strides);
    const AttentionCall::Range visible = call.VisibleTo(i);
    auto clamp = [&](int64_t j) { return std::clamp(j, keys.first, keys.end) - keys.first; };
    std::fill(scores, scores + clamp(visible.first), kMasked);
    std::fill(scores + clamp(visible.end), scores + count(), kMasked);
  }

  // Turns the products into probabilities.
  RowResult Finish(bool all_keys) const {
    ScaleAndAdd();
    if (call.mask_value == kMasked) {
      Hide();
    } else if (all_keys) {
      for (int64_t j = 0; j < count(); ++j) {
        if (call.Hides(b, h, i, keys.first + j)) scores[j] += call.mask_value;
      }
    } else {
      Hide();
      if (!(ops.max(scores, count()) > call.mask_value / 2)) return RowResult::kHiddenKeysCount;
    }
    return ops.softmax(scores, count()) ? RowResult::kVisible : RowResult::kMasked;
  }
};

// The tensors of one call and the loops it runs on.
struct Worker {
  const AttentionCall& call;
  const AttentionState& state;
  const RunArgs& args;
  const cpu::VectorOps& ops;

  // Query rows [begin, end) of one head. `transposed`: dim rows of keys, key_row apart; null: use
  // dot products. Without `all_keys`, false if a row gives weight to hidden keys; then nothing is
  // done.
  bool AttendBlock(int64_t b, int64_t h, int64_t begin, int64_t end, const float* transposed,
                   int64_t key_row, float* scores, bool all_keys) const {
    const AttentionCall::Range keys =
        all_keys ? AttentionCall::Range{0, call.k_len} : KeysOf(call, begin, end);
    const int64_t n = keys.end - keys.first, kv = call.kv_head(h), rows = end - begin;
    const float* q = args.inputs[0].as<float>() + call.q.At(b, h, begin);
    const float* v = args.inputs[2].as<float>() + call.v.At(b, kv, keys.first);
    float* out = args.outputs[0].as<float>() + call.out.At(b, h, begin);
    if (transposed != nullptr) {
      ops.gemm(rows, n, call.dim, q, call.q.row, transposed + keys.first, key_row, scores, n);
    } else {
      const float* k = args.inputs[1].as<float>() + call.k.At(b, kv, keys.first);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          scores[i * n + j] = ops.dot(q + i * call.q.row, k + j * call.k.row, call.dim);
        }
      }
    }
    bool all_visible = true;
    for (int64_t i = 0; i < rows; ++i) {
      const ScoreRow row = {call, ops, b, h, begin + i, keys, scores + i * n};
      const RowResult result = row.Finish(all_keys);
      if (result == RowResult::kHiddenKeysCount) return false;
      all_visible &= result == RowResult::kVisible;
    }
    ops.gemm(rows, call.v_dim, n, scores, n, v, call.v.row, out, call.out.row);
    if (all_visible || !call.nan_guard) return true;
    for (int64_t i = 0; i < rows; ++i) {  // a row without any key is NaN throughout
      if (n == 0 || std::isnan(scores[i * n]))
        ZeroIfMasked(b, h, begin + i, out + i * call.out.row);
    }
    return true;
  }

  // NaN may also come from the data; only rows whose every score is masked become zero.
  void ZeroIfMasked(int64_t b, int64_t h, int64_t i, float* out) const {
    auto at = [&](const AttentionCall::ScoreStrides& s, int64_t j) {
      return b * s[0] + h * s[1] + i * s[2] + j * s[3];
    };
    const bool adds_mask = call.mask.present() && call.mask.dtype != DType::kBool;
    for (int64_t j = 0; j < call.k_len; ++j) {
      const float bias =
          call.bias.present() ? call.bias.as<float>()[at(call.bias_strides, j)] : 0.0f;
      const float mask = adds_mask ? call.mask.as<float>()[at(call.mask_strides, j)] : 0.0f;
      const float hidden = call.Hides(b, h, i, j) ? call.mask_value : 0.0f;
      if (hidden != kMasked && bias + mask + hidden != kMasked) return;
    }
    std::fill(out, out + call.v_dim, 0.0f);
  }

  // Tasks [begin, end), in the order batch, head, row block.
  void AttendTasks(int64_t begin, int64_t end, float* scratch) const {
    int64_t transposed = -1;  // which (batch, key head) the scratch holds
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task / state.row_blocks, b = head / call.heads, h = head % call.heads;
      const int64_t kv = call.kv_head(h), first = task % state.row_blocks * state.block_rows;
      const float* k = args.inputs[1].as<float>() + call.k.At(b, kv, 0);
      const float* keys = call.k.row == 1 ? k : nullptr;  // layout bhds is transposed already
      int64_t key_row = call.k.element;
      if (state.transposes_k) {
        if (transposed != b * call.kv_heads + kv) TransposeKeys(call, k, scratch);
        transposed = b * call.kv_heads + kv;
        keys = scratch;
        key_row = call.k_len;
      }
      const int64_t last = std::min(call.q_len, first + state.block_rows);
      float* scores = scratch + state.scores_at;
      const bool all_keys = call.mask_value != kMasked && !Swallows(call.mask_value);
      if (!AttendBlock(b, h, first, last, keys, key_row, scores, all_keys)) {
        AttendBlock(b, h, first, last, keys, key_row, scores, true);
      }
    }
  }
};

template <auto kReadCall>
KernelStatus Attention(const RunArgs& args) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  const auto& state = *static_cast<const AttentionState*>(args.state);
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const Worker worker = {call, state, args, cpu::GetVectorOps()};
  const int64_t tasks = call.batch * call.heads * state.row_blocks;
  // Slots are few and of equal size, so that each keeps the transposed keys of its heads.
  (*args.device->parallel)(state.slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      worker.AttendTasks(tasks * slot / state.slots, tasks * (slot + 1) / state.slots,
                         static_cast<float*>(args.scratch) + slot * state.slot_floats);
    }
  });
  return KernelStatus::Ok();
}

// Floats throughout, but masks may be boolean.
std::string Supports(const CallSignature& call) {
  std::array<TensorView, 6> inputs;
  size_t count = std::min(call.inputs.size(), inputs.size());
  std::copy_n(call.inputs.begin(), count, inputs.begin());
  for (TensorView& input : inputs) {
    if (input.dtype == DType::kBool) input = TensorView{};
  }
  CallSignature floats = call;
  floats.inputs = std::span<const TensorView>(inputs.data(), count);
  return cpu::RequireF32(floats);
}

}  // namespace

Kernel CpuAttention() {
  return {.op = "nn.attention",
          .name = "cpu.attention",
          .priority = 10,
          .run = Attention<&AttentionCall::OfNn>,
          .prepare = PrepareAttention<&AttentionCall::OfNn>,
          .supports = Supports};
}

Kernel CpuFusedAttention() {
  return {.op = "fused.attention",
          .name = "cpu.fused_attention",
          .priority = 10,
          .run = Attention<&AttentionCall::OfFused>,
          .prepare = PrepareAttention<&AttentionCall::OfFused>,
          .supports = Supports};
}

}  // namespace tenon::kernels
