// Host side of ops on rows: softmax, norms, embeddings, rotary embeddings, gated activations.
#include "kernels/calls/embedding_call.h"
#include "kernels/calls/rotary_call.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

template <typename Attrs, bool kLog>
KernelStatus Softmax(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const auto axis = static_cast<size_t>(NormalizeAxis(args.get<Attrs>().axis, x.rank()));
  return QueueOf(args).Launch(SoftmaxParams{x.dtype, kLog, x.data, args.outputs[0].data,
                                            Product(x.shape.first(axis)), x.shape[axis],
                                            Product(x.shape.subspan(axis + 1))});
}

template <typename Attrs, bool kSkip, NormKind kKind>
KernelStatus Norm(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const auto axis = static_cast<size_t>(NormalizeAxis(attrs.axis, out.rank()));
  constexpr size_t kScale = kSkip ? 2 : 1;
  const TensorView in[4] = {
      args.inputs[0], kSkip ? args.inputs[1] : TensorView{}, Operand(args.inputs, kScale),
      kKind == NormKind::kLayer ? Operand(args.inputs, kScale + 1) : TensorView{}};
  NormParams p = {};
  p.dtype = out.dtype;
  p.kind = kKind;
  p.epsilon = static_cast<float>(attrs.epsilon);
  p.out = out.data;
  if (kSkip) p.sum = Operand(args.outputs, 1).data;
  std::array<Dims, 4> outer, inner;
  for (size_t k = 0; k < 4; ++k) {
    p.in[k] = in[k].data;
    const Dims strides = StridesIn(in[k], out.shape);
    outer[k].assign(strides.begin(), strides.begin() + static_cast<ptrdiff_t>(axis));
    inner[k].assign(strides.begin() + static_cast<ptrdiff_t>(axis), strides.end());
  }
  const DimSpan rows = out.shape.first(axis), row = out.shape.subspan(axis);
  p.rows = Product(rows);
  p.n = Product(row);
  p.outer = ToStrided<4>(ToDims(rows), outer);
  p.inner = ToStrided<4>(ToDims(row), inner);
  return QueueOf(args).Launch(p);
}

// Operand `kOffset` is the offset.
template <size_t kOffset>
std::string SupportsSkipNorm(const CallSignature& call) {
  if (Operand(call.inputs, kOffset).present()) return "adds no offset to the sum";
  return RequireFloats(call);
}

KernelStatus Embedding(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const EmbeddingCall call(args);
  if (KernelStatus status = call.CheckRows(); !status.ok()) return status;
  EmbeddingParams p = {};
  p.dtype = call.out.dtype;
  p.kind = call.norm == fused::EmbeddingNorm::kNone    ? NormKind::kNone
           : call.norm == fused::EmbeddingNorm::kLayer ? NormKind::kLayer
                                                       : NormKind::kRms;
  p.epsilon = call.epsilon;
  constexpr size_t kMostTables = EmbeddingParams::kMostTables;
  std::array<Dims, kMostTables + 1> strides;
  strides.fill(Dims(call.outer.size(), 0));
  p.num_tables = static_cast<int>(call.lookups.size());
  for (size_t k = 0; k < call.lookups.size(); ++k) {
    const EmbeddingCall::Lookup& lookup = call.lookups[k];
    p.ids[k] = lookup.ids.data;
    p.tables[k] = lookup.table.data;
    p.wide_ids[k] = lookup.ids.dtype == DType::kI64;
    p.table_rows[k] = lookup.table.shape[0];
    strides[k] = lookup.strides;
  }
  strides[kMostTables] = call.added_strides;
  p.added = call.added.data;
  p.scale = call.scale.data;
  p.bias = call.bias.data;
  p.out = call.out.data;
  p.sum = call.sum.data;
  p.rows = call.rows;
  p.n = call.size;
  p.added_step = call.added_step;
  p.outer = ToStrided<kMostTables + 1>(ToDims(call.outer), std::move(strides));
  p.error = QueueOf(args).error_slot();
  return QueueOf(args).Launch(p);
}

// Tables, what is added, scale and bias are floats; every second input from 3 on holds ids.
std::string SupportsEmbedding(const CallSignature& call) {
  constexpr size_t kFirst = 3, kMost = kFirst + 2 * EmbeddingParams::kMostTables;
  if (call.inputs.size() > kMost) {
    return "looks up " + std::to_string((call.inputs.size() - kFirst) / 2) + " tables (at most " +
           std::to_string(EmbeddingParams::kMostTables) + ")";
  }
  return RequireFloats(call, 0x55555557);
}

KernelStatus Rotary(const RunArgs& args) {
  const auto& attrs = args.get<fused::RotaryAttrs>();
  const TensorView &x = args.inputs[0], &cos = args.inputs[1], &sin = args.inputs[2];
  if (x.numel() == 0) return KernelStatus::Ok();
  RotaryCall call = RotaryCall::Of(x, cos, sin, attrs);
  RotaryParams p = {};
  p.dtype = x.dtype;
  p.interleaved = attrs.interleaved;
  p.x = x.data;
  p.cos = cos.data;
  p.sin = sin.data;
  p.out = args.outputs[0].data;
  p.rows = call.rows;
  p.size = call.size;
  p.rotated = call.rotated;
  p.cos_step = call.cos_strides.back();
  p.sin_step = call.sin_strides.back();
  call.cos_strides.pop_back();
  call.sin_strides.pop_back();
  p.outer = ToStrided<2>(call.outer, {call.cos_strides, call.sin_strides});
  return QueueOf(args).Launch(p);
}

KernelStatus RotaryEmbedding(const RunArgs& args) {
  const auto& attrs = args.get<nn::RotaryEmbeddingAttrs>();
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  if (KernelStatus status = RotaryEmbeddingCall::Check(args.inputs, attrs); !status.ok()) {
    return status;
  }
  const RotaryEmbeddingCall call = RotaryEmbeddingCall::Of(args.inputs, attrs);
  RotaryEmbeddingParams p = {};
  p.dtype = x.dtype;
  p.interleaved = attrs.interleaved;
  p.x = x.data;
  p.cos = args.inputs[1].data;
  p.sin = args.inputs[2].data;
  p.positions = call.positions.as<int64_t>();
  p.out = args.outputs[0].data;
  p.batch = call.batch;
  p.heads = call.heads;
  p.length = call.length;
  p.dim = call.dim;
  p.half = call.half;
  p.batch_stride = call.batch_stride;
  p.head_stride = call.head_stride;
  p.row_stride = call.row_stride;
  std::copy(call.angle_strides.begin(), call.angle_strides.end(), p.angle_strides);
  std::copy(call.position_strides.begin(), call.position_strides.end(), p.position_strides);
  p.table_rows = call.table_rows;
  p.error = QueueOf(args).error_slot();
  return QueueOf(args).Launch(p);
}

// Positions are integers.
std::string SupportsRotaryEmbedding(const CallSignature& call) {
  return RequireFloats(call, 0b111);
}

KernelStatus Gated(const RunArgs& args) {
  const auto& attrs = args.get<fused::GatedAttrs>();
  const TensorView &x = args.inputs[0], up = Operand(args.inputs, 1), &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const Activation activation = ToActivation(attrs);
  GatedParams p = {};
  p.dtype = out.dtype;
  p.activation = activation.kind;
  p.alpha = activation.alpha;
  p.beta = activation.beta;
  p.out = out.data;
  p.n = up.present() ? out.numel() : out.shape.back();
  p.rows = out.numel() / p.n;
  p.pitch = p.n;
  p.gate = x.data;
  p.up = up.data;
  if (!up.present()) {  // rows of both halves
    const int64_t half = p.n * static_cast<int64_t>(SizeOf(x.dtype));
    p.pitch = 2 * p.n;
    p.gate = x.as<std::byte>() + (attrs.second ? half : 0);
    p.up = x.as<std::byte>() + (attrs.second ? 0 : half);
  }
  return QueueOf(args).Launch(p);
}

}  // namespace

void AddRowKernels(KernelRegistry& registry) {
  const auto floats = [](const CallSignature& call) { return RequireFloats(call); };
  registry.Add(
      MakeKernel("nn.softmax", "cuda.softmax", Softmax<nn::SoftmaxAttrs, false>, floats, 1));
  registry.Add(MakeKernel("nn.log_softmax", "cuda.log_softmax", Softmax<nn::LogSoftmaxAttrs, true>,
                          floats, 1));
  registry.Add(MakeKernel("nn.layer_norm", "cuda.layer_norm",
                          Norm<nn::LayerNormAttrs, false, NormKind::kLayer>, floats));
  registry.Add(MakeKernel("nn.rms_norm", "cuda.rms_norm",
                          Norm<nn::RmsNormAttrs, false, NormKind::kRms>, floats));
  registry.Add(MakeKernel("fused.skip_layer_norm", "cuda.skip_layer_norm",
                          Norm<fused::SkipLayerNormAttrs, true, NormKind::kLayer>,
                          SupportsSkipNorm<4>));
  registry.Add(MakeKernel("fused.skip_rms_norm", "cuda.skip_rms_norm",
                          Norm<fused::SkipRmsNormAttrs, true, NormKind::kRms>,
                          SupportsSkipNorm<3>));
  registry.Add(MakeKernel("fused.embedding", "cuda.embedding", Embedding, SupportsEmbedding));
  registry.Add(MakeKernel("fused.rotary", "cuda.rotary", Rotary, floats));
  registry.Add(MakeKernel("nn.rotary_embedding", "cuda.rotary_embedding", RotaryEmbedding,
                          SupportsRotaryEmbedding));
  registry.Add(MakeKernel("fused.gated", "cuda.gated", Gated, floats));
}

}  // namespace tenon::kernels::gpu
