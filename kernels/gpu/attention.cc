// Host side of attention.
#include "kernels/calls/attention_call.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int64_t kMostColumns = 256;  // of a head

// Two for each multiprocessor of a large GPU. Where there are fewer blocks, several share the keys
// of a row, so many at least for each: to join what they have takes longer than to read these.
constexpr int64_t kEnoughBlocks = 264;
constexpr int64_t kFewestKeys = 256;

int64_t SplitsOf(const AttentionCall& call) {
  const int64_t rows = call.q_len == 1 ? 1 : call.q_len <= kMostFewRows ? kFewRows : kMostFewRows;
  const int64_t blocks = call.batch * call.heads * ((call.q_len + rows - 1) / rows);
  if (blocks == 0) return 1;
  return std::clamp<int64_t>(std::min(kEnoughBlocks / blocks, call.k_len / kFewestKeys), 1, 64);
}

AttentionOperand OperandOf(const TensorView& view, const AttentionCall::Layout& layout) {
  return {view.data, layout.batch, layout.head, layout.row, layout.element, layout.offset};
}

// Afterwards the results are the keys and values to attend to.
KernelStatus Append(const RunArgs& args, const AttentionCall& call) {
  const auto size = static_cast<int64_t>(SizeOf(args.outputs[1].dtype));
  const auto part = [&](size_t which, const AttentionCall::Layout& layout, int64_t columns) {
    return AppendRowsParams::Part{args.inputs[AttentionCall::kPast + which].data,
                                  args.inputs[1 + which].as<std::byte>() + layout.offset * size,
                                  args.outputs[1 + which].data,
                                  columns * size,
                                  layout.batch * size,
                                  layout.head * size,
                                  layout.row * size};
  };
  if (args.outputs[1].numel() + args.outputs[2].numel() == 0) return KernelStatus::Ok();
  return QueueOf(args).Launch(AppendRowsParams{part(0, call.k, call.dim),
                                               part(1, call.v, call.v_dim), call.batch,
                                               call.kv_heads, call.past_len, call.k_len});
}

template <auto kReadCall>
KernelStatus Attention(const RunArgs& args) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  if (call.has_past) {
    if (KernelStatus status = Append(args, call); !status.ok()) return status;
  }
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (call.dim > kMostColumns || call.v_dim > kMostColumns) {
    return KernelStatus::Unsupported("heads have " +
                                     std::to_string(std::max(call.dim, call.v_dim)) +
                                     " columns (expected at most 256)");
  }
  AttentionParams p = {};
  p.dtype = args.outputs[0].dtype;
  p.q = OperandOf(args.inputs[0], call.q);
  p.k = call.has_past ? OperandOf(args.outputs[1], call.present_k)
                      : OperandOf(args.inputs[1], call.k);
  p.v = call.has_past ? OperandOf(args.outputs[2], call.present_v)
                      : OperandOf(args.inputs[2], call.v);
  p.out = OperandOf(args.outputs[0], call.out);
  p.mask = call.mask.data;
  p.bias = call.bias.data;
  p.key_mask = call.key_mask.as<uint8_t>();
  p.mask_is_bool = call.mask.dtype == DType::kBool;
  p.mask_replaces = call.mask_replaces;
  p.mask_last = call.mask_last;
  p.causal = call.causal;
  p.repeats_first_key = call.repeats_first_key;
  p.nan_guard = call.nan_guard || call.zero_nan_rows;
  p.zero_nan_rows = call.zero_nan_rows;
  std::copy(call.mask_strides.begin(), call.mask_strides.end(), p.mask_strides);
  std::copy(call.bias_strides.begin(), call.bias_strides.end(), p.bias_strides);
  std::copy(call.key_mask_strides.begin(), call.key_mask_strides.end(), p.key_mask_strides);
  p.batch = call.batch;
  p.heads = call.heads;
  p.heads_per_kv = call.heads / call.kv_heads;
  p.q_len = call.q_len;
  p.k_len = call.k_len;
  p.dim = static_cast<int>(call.dim);
  p.v_dim = static_cast<int>(call.v_dim);
  p.window = call.window;
  p.causal_offset = call.causal_offset;
  p.scale = call.scale;
  p.softcap = call.softcap;
  p.mask_value = call.mask_value;
  p.splits = SplitsOf(call);
  p.parts = static_cast<float*>(args.scratch);
  if (KernelStatus status = QueueOf(args).Launch(p); !status.ok() || p.splits == 1) return status;
  return QueueOf(args).Launch(JoinAttentionParams{p.dtype, p.out, p.parts, p.batch, p.heads,
                                                  p.q_len, p.splits, p.v_dim, p.nan_guard,
                                                  p.zero_nan_rows});
}

template <auto kReadCall>
KernelStatus PrepareAttention(PrepareArgs& args, std::shared_ptr<KernelState>&) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  const int64_t splits = SplitsOf(call);
  if (splits > 1) {
    args.scratch_bytes = static_cast<size_t>(call.batch * call.heads * call.q_len * splits *
                                             PartFloats(static_cast<int>(call.v_dim))) *
                         sizeof(float);
  }
  return KernelStatus::Ok();
}

// Masks may be boolean. `head_columns`: an upper bound, or -1.
std::string SupportsFloatsAndMasks(const CallSignature& call) {
  uint32_t floats = 0b111;
  for (size_t i = 3; i < call.inputs.size(); ++i) {
    if (call.inputs[i].dtype != DType::kBool) floats |= 1u << i;
  }
  return RequireFloats(call, floats);
}

// The columns of a head must be known, for they decide how much shared memory a block takes.
std::string CheckColumns(int64_t columns) {
  if (columns >= 0 && columns <= kMostColumns) return {};
  return "needs heads of at most 256 columns" +
         (columns < 0 ? std::string() : ", got " + std::to_string(columns));
}

int64_t ColumnsOf(const TensorView& view, bool heads_joined, int64_t heads) {
  const int64_t last = view.dim(-1);
  return heads_joined && last >= 0 && heads > 0 ? last / heads : last;
}

std::string SupportsFused(const CallSignature& call) {
  if (call.outputs.size() > 1 && static_cast<const fused::AttentionAttrs*>(call.attrs)->k_layout ==
                                     fused::AttentionKLayout::kBhds) {
    return "appends keys of the layouts bsh, bshd and bhsd to past ones, got bhds";
  }
  const auto& attrs = *static_cast<const fused::AttentionAttrs*>(call.attrs);
  const bool q_joined = attrs.q_layout == fused::AttentionQLayout::kBsh;
  const bool v_joined = attrs.v_layout == fused::AttentionVLayout::kBsh;
  const int64_t q_columns =
      attrs.head_dim >= 0 ? attrs.head_dim : ColumnsOf(call.inputs[0], q_joined, attrs.num_heads);
  const int64_t v_columns = attrs.v_head_dim >= 0
                                ? attrs.v_head_dim
                                : ColumnsOf(call.inputs[2], v_joined, attrs.kv_num_heads);
  for (int64_t columns : {q_columns, v_columns}) {
    if (std::string reason = CheckColumns(columns); !reason.empty()) return reason;
  }
  return SupportsFloatsAndMasks(call);
}

std::string SupportsNn(const CallSignature& call) {
  const auto& attrs = *static_cast<const nn::AttentionAttrs*>(call.attrs);
  for (size_t i : {size_t{0}, size_t{2}}) {
    const int64_t heads = i == 0 ? attrs.q_num_heads : attrs.kv_num_heads;
    const std::string reason =
        CheckColumns(ColumnsOf(call.inputs[i], call.inputs[i].rank() == 3, heads));
    if (!reason.empty()) return reason;
  }
  return SupportsFloatsAndMasks(call);
}

}  // namespace

void AddAttentionKernels(KernelRegistry& registry) {
  Kernel fused = MakeKernel("fused.attention", "cuda.fused_attention",
                            Attention<&AttentionCall::OfFused>, SupportsFused);
  fused.prepare = PrepareAttention<&AttentionCall::OfFused>;
  registry.Add(fused);
  Kernel nn =
      MakeKernel("nn.attention", "cuda.attention", Attention<&AttentionCall::OfNn>, SupportsNn);
  nn.prepare = PrepareAttention<&AttentionCall::OfNn>;
  registry.Add(nn);
}

}  // namespace tenon::kernels::gpu
