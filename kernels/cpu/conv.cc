// Convolutions of floats over one to three spatial axes through oneDNN: nn.conv and fused.conv.
#include <cstring>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/image_layout.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/window.h"

namespace tenon::kernels {
namespace {

using cpu::OnednnCall;
using cpu::PlainDesc;
using Desc = dnnl::memory::desc;

// The primitive works in its own layouts: data is reordered before and after where they differ from
// ours.
struct ConvState : KernelState {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  OnednnCall conv, reorder_in, reorder_out, reorder_weights;
  bool reorders_in = false, reorders_out = false, reorders_weights = false;
  bool reference = false;  // left to the reference kernel: empty, or refused by oneDNN
  int src = -1, weights = -1, bias = -1, dst = -1, scratchpad = -1;
  // Places in the scratch.
  size_t src_at = 0, dst_at = 0, weights_at = 0, scratchpad_at = 0;
  PackedBytes packed;  // null: the weights are not constant
};

std::vector<int64_t> ToVector(DimSpan dims) { return {dims.begin(), dims.end()}; }

// oneDNN lists axes as [N, C, spatial…] and has the layout in the strides.
std::vector<int64_t> LogicalDims(DimSpan shape, ImageLayout layout) {
  std::vector<int64_t> dims = {shape[0], layout.Channels(shape)};
  for (int64_t extent : layout.Spatial(shape)) dims.push_back(extent);
  return dims;
}

Desc ImageDesc(DimSpan shape, ImageLayout layout) {
  const std::vector<int64_t> dims = LogicalDims(shape, layout);
  if (!layout.channels_last()) return PlainDesc(dims);
  const Dims strides = RowMajorStrides(shape);
  std::vector<int64_t> logical = {strides.front(), 1};
  logical.insert(logical.end(), strides.begin() + 1, strides.end() - 1);
  return PlainDesc(dims, logical);
}

Desc AnyDesc(const std::vector<int64_t>& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

OnednnCall MakeReorder(const dnnl::engine& engine, const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc made(engine, from, engine, to, cpu::UserScratchpad());
  OnednnCall call(engine, dnnl::reorder(made));
  call.Add(DNNL_ARG_FROM, from);
  call.Add(DNNL_ARG_TO, to);
  return call;
}

KernelStatus RunReorder(OnednnCall& call, const void* from, void* to, dnnl::stream& stream) {
  call.Bind(0, from);
  call.Bind(1, to);
  return call.Execute(stream);
}

// With a window of one element a convolution is a plain matrix product, which needs no other
// layout.
bool IsPointwise(const Window& window, int64_t group) {
  bool pointwise = group == 1;
  for (size_t i = 0; i < window.rank(); ++i) {
    pointwise &= window.kernel[i] == 1 && window.strides[i] == 1 && window.pads_begin[i] == 0 &&
                 window.pads_end[i] == 0;
  }
  return pointwise;
}

// `plain`: in our layout of images, else in the one that oneDNN likes best.
dnnl::convolution_forward::primitive_desc Describe(const PrepareArgs& args, const Window& window,
                                                   ImageLayout layout, bool plain,
                                                   const Desc& weights,
                                                   const dnnl::engine& engine) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const auto x_dims = LogicalDims(x.shape, layout), out_dims = LogicalDims(out.shape, layout);
  std::vector<int64_t> dilations;
  for (int64_t d : window.dilations) dilations.push_back(d - 1);  // oneDNN counts from 0
  // Where the padding ends follows from the result's size; auto_pad and odd pads leave it inexact.
  std::vector<int64_t> pads_end;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    pads_end.push_back((out_dims[i + 2] - 1) * window.strides[i] + span - x_dims[i + 2] -
                       window.pads_begin[i]);
  }
  const Desc src = plain ? ImageDesc(x.shape, layout) : AnyDesc(x_dims);
  const Desc dst = plain ? ImageDesc(out.shape, layout) : AnyDesc(out_dims);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto strides = ToVector(View(window.strides)), begin = ToVector(View(window.pads_begin));
  if (cpu::Present(args.inputs, 2)) {
    return {{kind, algorithm, src, weights, PlainDesc({out_dims[1]}), dst, strides, dilations,
             begin, pads_end},
            cpu::UserScratchpad(),
            engine};
  }
  return {{kind, algorithm, src, weights, dst, strides, dilations, begin, pads_end},
          cpu::UserScratchpad(),
          engine};
}

dnnl::convolution_forward::primitive_desc Choose(const PrepareArgs& args, const Window& window,
                                                 ImageLayout layout, int64_t group,
                                                 const Desc& weights, const dnnl::engine& engine) {
  if (layout.channels_last() || IsPointwise(window, group)) {
    auto made = Describe(args, window, layout, true, weights, engine);
    const bool is_slow = std::strncmp(made.impl_info_str(), "ref", 3) == 0 ||
                         std::strncmp(made.impl_info_str(), "gemm:ref", 8) == 0;
    if (!is_slow) return made;
  }
  return Describe(args, window, layout, false, weights, engine);
}

KernelStatus PrepareConvolution(PrepareArgs& args, const Window& window, ImageLayout layout,
                                int64_t group, ConvState& state) {
  const cpu::OnednnThreads threads(1);  // its own would compete with the program's
  return cpu::GuardOnednn([&]() -> KernelStatus {
    const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
    std::vector<int64_t> w_dims = ToVector(w.shape);
    if (group > 1) {
      w_dims[0] /= group;
      w_dims.insert(w_dims.begin(), group);
    }
    const auto made = Choose(args, window, layout, group, AnyDesc(w_dims), state.engine);
    const Desc x_desc = ImageDesc(x.shape, layout), out_desc = ImageDesc(out.shape, layout);
    const Desc w_desc = PlainDesc(w_dims);
    state.conv = OnednnCall(state.engine, dnnl::convolution_forward(made));
    state.src = state.conv.Add(DNNL_ARG_SRC, made.src_desc());
    state.weights = state.conv.Add(DNNL_ARG_WEIGHTS, made.weights_desc());
    if (cpu::Present(args.inputs, 2)) {
      state.bias = state.conv.Add(DNNL_ARG_BIAS, PlainDesc({w.shape[0]}));
    }
    state.dst = state.conv.Add(DNNL_ARG_DST, made.dst_desc());
    state.scratchpad = state.conv.Add(DNNL_ARG_SCRATCHPAD, made.scratchpad_desc());
    auto reserve = [&](size_t bytes) {
      const size_t at = args.scratch_bytes;
      args.scratch_bytes += cpu::Align64(bytes);
      return at;
    };
    args.scratch_bytes = 0;
    state.scratchpad_at = reserve(made.scratchpad_desc().get_size());
    state.reorders_in = made.src_desc() != x_desc;
    if (state.reorders_in) {
      state.src_at = reserve(made.src_desc().get_size());
      state.reorder_in = MakeReorder(state.engine, x_desc, made.src_desc());
    }
    state.reorders_out = made.dst_desc() != out_desc;
    if (state.reorders_out) {
      state.dst_at = reserve(made.dst_desc().get_size());
      state.reorder_out = MakeReorder(state.engine, made.dst_desc(), out_desc);
    }
    if (w.data != nullptr) {
      state.packed =
          cpu::PackWeights(args, 1, state.engine, state.stream, w_desc, made.weights_desc());
      if (state.packed == nullptr) return KernelStatus::Internal("no memory for packed weights");
      state.conv.Bind(state.weights, state.packed.get());
    } else if (made.weights_desc() != w_desc) {
      state.reorders_weights = true;
      state.weights_at = reserve(made.weights_desc().get_size());
      state.reorder_weights = MakeReorder(state.engine, w_desc, made.weights_desc());
    }
    return KernelStatus::Ok();
  });
}

template <typename Attrs>
KernelStatus PrepareConv(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1];
  auto state = std::make_shared<ConvState>();
  out = state;
  state->reference = x.numel() == 0 || w.numel() == 0 || args.outputs[0].numel() == 0;
  if (state->reference) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  const Window window = Window::Of(attrs, w.shape.subspan(2), layout.Spatial(x.shape),
                                   layout.Spatial(args.outputs[0].shape));
  state->reference = !PrepareConvolution(args, window, layout, attrs.group, *state).ok();
  return KernelStatus::Ok();
}

KernelStatus Convolve(const RunArgs& args, ConvState& state) {
  const cpu::OnednnThreads threads(1);  // its own would compete with the program's
  char* scratch = static_cast<char*>(args.scratch);
  const void* src = args.inputs[0].data;
  void* dst = args.outputs[0].data;
  if (state.reorders_in) {
    KernelStatus status = RunReorder(state.reorder_in, src, scratch + state.src_at, state.stream);
    if (!status.ok()) return status;
    src = scratch + state.src_at;
  }
  if (state.reorders_out) dst = scratch + state.dst_at;
  if (state.reorders_weights) {
    KernelStatus status = RunReorder(state.reorder_weights, args.inputs[1].data,
                                     scratch + state.weights_at, state.stream);
    if (!status.ok()) return status;
    state.conv.Bind(state.weights, scratch + state.weights_at);
  } else if (state.packed == nullptr) {
    state.conv.Bind(state.weights, args.inputs[1].data);
  }
  state.conv.Bind(state.src, src);
  if (state.bias >= 0) state.conv.Bind(state.bias, args.inputs[2].data);
  state.conv.Bind(state.dst, dst);
  state.conv.Bind(state.scratchpad, scratch + state.scratchpad_at);
  if (KernelStatus status = state.conv.Execute(state.stream); !status.ok()) return status;
  if (!state.reorders_out) return KernelStatus::Ok();
  return RunReorder(state.reorder_out, dst, args.outputs[0].data, state.stream);
}

KernelStatus Conv(const RunArgs& args) {
  auto& state = *static_cast<ConvState*>(args.state);
  return state.reference ? RefConv().run(args) : Convolve(args, state);
}

// The residual is added before the activation, other than in fused.linear.
KernelStatus FusedConv(const RunArgs& args) {
  auto& state = *static_cast<ConvState*>(args.state);
  if (state.reference) return RefFusedConv().run(args);
  if (KernelStatus status = Convolve(args, state); !status.ok()) return status;
  const Activation activation = ToActivation(args.get<fused::ConvAttrs>());
  if (!cpu::Present(args.inputs, 3)) {
    cpu::Epilogue(args, activation, nullptr);
    return KernelStatus::Ok();
  }
  float* out = args.outputs[0].as<float>();
  const float* residual = args.inputs[3].as<float>();
  const auto add =
      cpu::GetVectorOps()
          .binary[static_cast<int>(cpu::BinaryOp::kAdd)][static_cast<int>(cpu::BinaryForm::kVV)];
  (*args.device->parallel)(args.outputs[0].numel(), cpu::kGrain / 4, [&](int64_t b, int64_t e) {
    add(out + b, residual + b, out + b, e - b);
    cpu::ActivateInPlace(activation, out + b, e - b);
  });
  return KernelStatus::Ok();
}

std::string Supports(const CallSignature& call) {
  const int rank = call.inputs[0].rank();
  if (rank < 3 || rank > 5) return "needs one to three spatial axes";
  return cpu::RequireF32(call);
}

}  // namespace

Kernel CpuConv() {
  return {.op = "nn.conv",
          .name = "cpu.conv.onednn",
          .priority = 10,
          .run = Conv,
          .prepare = PrepareConv<nn::ConvAttrs>,
          .supports = Supports};
}

Kernel CpuFusedConv() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.onednn",
          .priority = 10,
          .run = FusedConv,
          .prepare = PrepareConv<fused::ConvAttrs>,
          .supports = Supports};
}

}  // namespace tenon::kernels
