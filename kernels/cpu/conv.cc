// Convolutions of floats over one to three spatial axes through oneDNN: nn.conv and fused.conv.
#include <cstring>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/cpu/conv/finite.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

using cpu::OnednnCall;
using cpu::PlainDesc;
using Desc = dnnl::memory::desc;

// Rows of the result, one after another: oneDNN has one thread, and parts share the others.
struct ConvPart {
  OnednnCall call;
  dnnl::stream stream;
  int64_t src_at = 0, dst_at = 0;            // elements from where an image begins
  size_t scratchpad_at = 0;                  // in the scratch
  KernelStatus status = KernelStatus::Ok();  // of the last run
};

// The primitive works in its own layouts: data is reordered before and after where they differ from
// ours.
struct ConvState : KernelState {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<ConvPart> parts;
  int64_t images = 1;  // that each part goes through
  OnednnCall reorder_in, reorder_out, reorder_weights;
  bool reorders_in = false, reorders_out = false, reorders_weights = false;
  bool reference = false;  // left to the reference kernel: empty, or refused by oneDNN
  int src = -1, weights = -1, bias = -1, dst = -1, scratchpad = -1;  // slots of each part
  // Places in the scratch.
  size_t src_at = 0, dst_at = 0, weights_at = 0;
  PackedBytes packed;  // null: the weights are not constant
};

std::vector<int64_t> ToVector(DimSpan dims) { return {dims.begin(), dims.end()}; }

// oneDNN lists axes as [N, C, spatial…] and has the layout in the strides.
std::vector<int64_t> LogicalDims(DimSpan shape, ImageLayout layout) {
  std::vector<int64_t> dims = {shape[0], layout.Channels(shape)};
  for (int64_t extent : layout.Spatial(shape)) dims.push_back(extent);
  return dims;
}

Desc ImageDesc(const std::vector<int64_t>& dims, ImageLayout layout) {
  if (!layout.channels_last()) return PlainDesc(dims);
  std::vector<int64_t> strides(dims.size(), 1);
  strides.back() = dims[1];
  for (size_t i = dims.size() - 1; i > 2; --i) strides[i - 1] = strides[i] * dims[i];
  strides[0] = strides[2] * dims[2];
  return PlainDesc(dims, strides);
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

// A convolution of images, or of some of their rows, in the order of oneDNN.
struct Problem {
  Window window;
  ImageLayout layout;
  int64_t group;
  std::vector<int64_t> x, out;
  bool has_bias;
};

using Described = dnnl::convolution_forward::primitive_desc;

// `plain`: in our layout of images, else in the one that oneDNN likes best.
Described Describe(const Problem& p, bool plain, const Desc& weights, const dnnl::engine& engine) {
  const Window& window = p.window;
  std::vector<int64_t> dilations;
  for (int64_t d : window.dilations) dilations.push_back(d - 1);  // oneDNN counts from 0
  // Where the padding ends follows from the result's size; auto_pad and odd pads leave it inexact.
  std::vector<int64_t> pads_end;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    pads_end.push_back((p.out[i + 2] - 1) * window.strides[i] + span - p.x[i + 2] -
                       window.pads_begin[i]);
  }
  const Desc src = plain ? ImageDesc(p.x, p.layout) : AnyDesc(p.x);
  const Desc dst = plain ? ImageDesc(p.out, p.layout) : AnyDesc(p.out);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto strides = ToVector(View(window.strides)), begin = ToVector(View(window.pads_begin));
  if (p.has_bias) {
    return {{kind, algorithm, src, weights, PlainDesc({p.out[1]}), dst, strides, dilations, begin,
             pads_end},
            cpu::UserScratchpad(),
            engine};
  }
  return {{kind, algorithm, src, weights, dst, strides, dilations, begin, pads_end},
          cpu::UserScratchpad(),
          engine};
}

Described Choose(const Problem& problem, const Desc& weights, const dnnl::engine& engine) {
  if (problem.layout.channels_last() || IsPointwise(problem.window, problem.group)) {
    Described made = Describe(problem, true, weights, engine);
    const bool is_slow = std::strncmp(made.impl_info_str(), "ref", 3) == 0 ||
                         std::strncmp(made.impl_info_str(), "gemm:ref", 8) == 0;
    if (!is_slow) return made;
  }
  return Describe(problem, false, weights, engine);
}

void AddPart(const Described& made, const Problem& problem, ConvState& state) {
  state.parts.push_back({.call = OnednnCall(state.engine, dnnl::convolution_forward(made)),
                         .stream = dnnl::stream(state.engine)});
  OnednnCall& call = state.parts.back().call;
  state.src = call.Add(DNNL_ARG_SRC, made.src_desc());
  state.weights = call.Add(DNNL_ARG_WEIGHTS, made.weights_desc());
  if (problem.has_bias) state.bias = call.Add(DNNL_ARG_BIAS, PlainDesc({problem.out[1]}));
  state.dst = call.Add(DNNL_ARG_DST, made.dst_desc());
  state.scratchpad = call.Add(DNNL_ARG_SCRATCHPAD, made.scratchpad_desc());
}

// How many parts pay: two for each thread, so that one that is held up leaves some to the others,
// each of at least so many products.
int64_t NumParts(const Problem& p, int64_t depth, int threads) {
  constexpr int64_t kLeast = 1 << 16;
  if (threads == 1) return 1;
  return std::clamp<int64_t>(Product(p.out) * depth / kLeast, 1,
                             std::min<int64_t>(int64_t{2} * threads, p.out[2]));
}

// The whole convolution `made` as parts of the rows of an image. None, where oneDNN would compute
// them in another way than the whole.
void Split(const Described& made, const Problem& whole, int64_t count, ConvState& state,
           std::vector<size_t>& scratchpads) {
  const int64_t height = whole.x[2], rows = whole.out[2];
  const Window& window = whole.window;
  for (int64_t part = 0; part < count; ++part) {
    const int64_t begin = rows * part / count, end = rows * (part + 1) / count;
    const int64_t first = window.At(0, begin, 0);
    const int64_t low = std::clamp<int64_t>(first, 0, height);
    const int64_t high =
        std::clamp<int64_t>(window.At(0, end - 1, window.kernel[0] - 1) + 1, 0, height);
    if (low >= high) return state.parts.clear();  // nothing but padding
    Problem some = whole;
    some.x[0] = some.out[0] = 1;
    some.x[2] = high - low;
    some.out[2] = end - begin;
    some.window.pads_begin[0] = low - first;
    const Described described = Describe(some, true, made.weights_desc(), state.engine);
    if (std::strcmp(described.impl_info_str(), made.impl_info_str()) != 0) {
      return state.parts.clear();
    }
    AddPart(described, some, state);
    state.parts.back().src_at = low * Product(whole.x) / (whole.x[0] * height);
    state.parts.back().dst_at = begin * Product(whole.out) / (whole.out[0] * rows);
    scratchpads.push_back(described.scratchpad_desc().get_size());
  }
  state.images = whole.x[0];
}

KernelStatus PrepareConvolution(PrepareArgs& args, const Problem& problem, ConvState& state) {
  const cpu::OnednnThreads threads(1);  // its own would compete with the program's
  return cpu::GuardOnednn([&]() -> KernelStatus {
    const TensorView& w = args.inputs[1];
    std::vector<int64_t> w_dims = ToVector(w.shape);
    if (problem.group > 1) {
      w_dims[0] /= problem.group;
      w_dims.insert(w_dims.begin(), problem.group);
    }
    const Described made = Choose(problem, AnyDesc(w_dims), state.engine);
    const Desc x_desc = ImageDesc(problem.x, problem.layout);
    const Desc out_desc = ImageDesc(problem.out, problem.layout), w_desc = PlainDesc(w_dims);
    state.reorders_in = made.src_desc() != x_desc;
    state.reorders_out = made.dst_desc() != out_desc;
    std::vector<size_t> scratchpads;
    const int64_t count =
        NumParts(problem, Product(w.shape.subspan(1)), args.device->parallel->num_threads());
    if (problem.layout.channels_last() && !state.reorders_in && !state.reorders_out && count > 1) {
      // One that oneDNN refuses is no reason to refuse the whole.
      const KernelStatus split = cpu::GuardOnednn([&] {
        Split(made, problem, count, state, scratchpads);
        return KernelStatus::Ok();
      });
      if (!split.ok()) state.parts.clear();
    }
    if (state.parts.empty()) {
      AddPart(made, problem, state);
      scratchpads = {made.scratchpad_desc().get_size()};
    }
    auto reserve = [&](size_t bytes) {
      const size_t at = args.scratch_bytes;
      args.scratch_bytes += cpu::Align64(bytes);
      return at;
    };
    args.scratch_bytes = 0;
    for (size_t i = 0; i < state.parts.size(); ++i) {
      state.parts[i].scratchpad_at = reserve(scratchpads[i]);
    }
    if (state.reorders_in) {
      state.src_at = reserve(made.src_desc().get_size());
      state.reorder_in = MakeReorder(state.engine, x_desc, made.src_desc());
    }
    if (state.reorders_out) {
      state.dst_at = reserve(made.dst_desc().get_size());
      state.reorder_out = MakeReorder(state.engine, made.dst_desc(), out_desc);
    }
    if (w.data != nullptr) {
      state.packed =
          cpu::PackWeights(args, 1, state.engine, state.stream, w_desc, made.weights_desc());
      if (state.packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
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
  if (KernelStatus status = cpu::OnednnStatus(); !status.ok()) return status;
  auto state = std::make_shared<ConvState>();
  out = state;
  state->reference = x.numel() == 0 || w.numel() == 0 || args.outputs[0].numel() == 0;
  if (state->reference) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  const Window window = Window::Of(attrs, w.shape.subspan(2), layout.Spatial(x.shape),
                                   layout.Spatial(args.outputs[0].shape));
  const Problem problem = {.window = window,
                           .layout = layout,
                           .group = attrs.group,
                           .x = LogicalDims(x.shape, layout),
                           .out = LogicalDims(args.outputs[0].shape, layout),
                           .has_bias = cpu::Present(args.inputs, 2)};
  state->reference = !PrepareConvolution(args, problem, *state).ok();
  return KernelStatus::Ok();
}

KernelStatus RunPart(const RunArgs& args, const ConvState& state, const float* src,
                     const void* weights, float* dst, ConvPart& part) {
  const cpu::OnednnThreads threads(1);  // its own would compete with the program's
  const auto step = [&](const TensorView& view) { return view.numel() / state.images; };
  part.call.Bind(state.weights, weights);
  if (state.bias >= 0) part.call.Bind(state.bias, args.inputs[2].data);
  part.call.Bind(state.scratchpad, static_cast<char*>(args.scratch) + part.scratchpad_at);
  for (int64_t image = 0; image < state.images; ++image) {
    part.call.Bind(state.src, src + part.src_at + image * step(args.inputs[0]));
    part.call.Bind(state.dst, dst + part.dst_at + image * step(args.outputs[0]));
    if (KernelStatus status = part.call.Execute(part.stream); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus Convolve(const RunArgs& args, ConvState& state) {
  const cpu::OnednnThreads threads(1);
  char* scratch = static_cast<char*>(args.scratch);
  const void* src = args.inputs[0].data;
  const void* weights = state.packed == nullptr ? args.inputs[1].data : state.packed.get();
  void* dst = args.outputs[0].data;
  if (state.reorders_in) {
    KernelStatus status = RunReorder(state.reorder_in, src, scratch + state.src_at, state.stream);
    if (!status.ok()) return status;
    src = scratch + state.src_at;
  }
  if (state.reorders_out) dst = scratch + state.dst_at;
  if (state.reorders_weights) {
    void* reordered = scratch + state.weights_at;
    KernelStatus status = RunReorder(state.reorder_weights, weights, reordered, state.stream);
    if (!status.ok()) return status;
    weights = reordered;
  }
  (*args.device->parallel)(static_cast<int64_t>(state.parts.size()), 1,
                           [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin; i < end; ++i) {
                               ConvPart& part = state.parts[static_cast<size_t>(i)];
                               part.status = RunPart(args, state, static_cast<const float*>(src),
                                                     weights, static_cast<float*>(dst), part);
                             }
                           });
  for (ConvPart& part : state.parts) {
    if (!part.status.ok()) return std::move(part.status);
  }
  if (!state.reorders_out) return KernelStatus::Ok();
  return RunReorder(state.reorder_out, dst, args.outputs[0].data, state.stream);
}

bool LeavesToReference(const RunArgs& args, const ConvState& state) {
  return state.reference || (state.packed == nullptr && cpu::HasNonfiniteWeights(args));
}

KernelStatus Conv(const RunArgs& args) {
  auto& state = *static_cast<ConvState*>(args.state);
  return LeavesToReference(args, state) ? RefConv().run(args) : Convolve(args, state);
}

// The residual is added before the activation, other than in fused.linear.
KernelStatus FusedConv(const RunArgs& args) {
  auto& state = *static_cast<ConvState*>(args.state);
  if (LeavesToReference(args, state)) return RefFusedConv().run(args);
  if (KernelStatus status = Convolve(args, state); !status.ok()) return status;
  const Activation activation = ToActivation(args.get<fused::ConvAttrs>());
  if (!cpu::Present(args.inputs, 3)) {
    cpu::Epilogue(args, activation, nullptr);
    return KernelStatus::Ok();
  }
  float* out = args.outputs[0].as<float>();
  const float* residual = args.inputs[3].as<float>();
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  (*args.device->parallel)(args.outputs[0].numel(), cpu::kGrain / 4, [&](int64_t b, int64_t e) {
    add(out + b, residual + b, out + b, e - b);
    cpu::ActivateInPlace(activation, out + b, e - b);
  });
  return KernelStatus::Ok();
}

std::string SupportsConv(const CallSignature& call) {
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
          .supports = SupportsConv};
}

Kernel CpuFusedConv() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.onednn",
          .priority = 10,
          .run = FusedConv,
          .prepare = PrepareConv<fused::ConvAttrs>,
          .supports = SupportsConv};
}

}  // namespace tenon::kernels
