// Host side of convolutions and pooling. A convolution is a product: of the images as they are for
// a window of one element, otherwise of rows that hold what each output position sees.
#include <algorithm>
#include <cstdint>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

// Rows are made for as many images at once as fit; for one at least.
constexpr int64_t kMostRowBytes = int64_t{64} << 20;

WindowParams ToParams(const Window& window, DimSpan in, DimSpan out) {
  WindowParams p = {};
  p.rank = static_cast<int>(window.rank());
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    p.in[axis] = in[axis];
    p.out[axis] = out[axis];
    p.kernel[axis] = window.kernel[axis];
    p.strides[axis] = window.strides[axis];
    p.dilations[axis] = window.dilations[axis];
    p.pads_begin[axis] = window.pads_begin[axis];
    p.pads_end[axis] = window.pads_end[axis];
  }
  p.size = Product(View(window.kernel));
  p.out_positions = Product(out);
  return p;
}

ImageSteps StepsIn(const ImageLayout& layout, DimSpan shape) {
  return {Product(shape.subspan(1)), layout.ChannelStride(shape), layout.PositionStride(shape)};
}

// A window that sees each position as it is.
bool IsPointwise(const WindowParams& w) {
  for (int axis = 0; axis < w.rank; ++axis) {
    if (w.kernel[axis] != 1 || w.strides[axis] != 1 || w.in[axis] != w.out[axis] ||
        w.pads_begin[axis] != 0) {
      return false;
    }
  }
  return true;
}

struct ConvState : KernelState {
  ConvParams direct;   // all but addresses
  bool product;        // rather than the direct kernel
  bool pointwise;      // no rows need to be made
  int64_t row_images;  // of which rows are made at once
};

template <typename Attrs>
KernelStatus PrepareConv(PrepareArgs& args, std::shared_ptr<KernelState>& out_state) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  auto state = std::make_shared<ConvState>();
  ConvParams& p = state->direct;
  p = {};
  const ImageLayout layout = ImageLayout::Of(attrs);
  const DimSpan in = layout.Spatial(x.shape), out_spatial = layout.Spatial(out.shape);
  p.dtype = out.dtype;
  p.window = ToParams(Window::Of(attrs, w.shape.subspan(2), in, out_spatial), in, out_spatial);
  p.batch = out.shape[0];
  p.filters = w.shape[0];
  p.filters_per_group = w.shape[0] / attrs.group;
  p.channels_per_group = w.shape[1];
  p.x_steps = StepsIn(layout, x.shape);
  p.channels_last = layout.channels_last();
  if constexpr (std::is_same_v<Attrs, fused::ConvAttrs>) {
    const Activation activation = ToActivation(attrs);
    p.activation = activation.kind;
    p.alpha = activation.alpha;
    p.beta = activation.beta;
  }
  const int64_t depth = p.channels_per_group * p.window.size;
  state->product = attrs.group == 1 && depth > 0;
  state->pointwise = IsPointwise(p.window);
  // Of two tensors' extents: it need not be a number.
  int64_t image_bytes = 0;
  const bool countable =
      !__builtin_mul_overflow(p.window.out_positions, depth, &image_bytes) &&
      !__builtin_mul_overflow(image_bytes, static_cast<int64_t>(SizeOf(p.dtype)), &image_bytes);
  state->row_images = std::clamp<int64_t>(kMostRowBytes / std::max<int64_t>(image_bytes, 1), 1,
                                          std::max<int64_t>(p.batch, 1));
  if (state->product && !state->pointwise) {
    args.scratch_bytes =
        countable ? static_cast<size_t>(state->row_images * image_bytes) : SIZE_MAX;
  }
  out_state = std::move(state);
  return KernelStatus::Ok();
}

// `images` of the convolution, whose rows (or, of a pointwise one, which themselves) are at `x`.
KernelStatus LaunchProduct(Queue& queue, const ConvParams& p, int64_t images, const void* x,
                           bool pointwise) {
  const int64_t depth = p.channels_per_group * p.window.size;
  const bool in_library = p.activation == ActivationKind::kNone ||
                          p.activation == ActivationKind::kRelu ||
                          p.activation == ActivationKind::kGeluTanh;
  MatMulParams m = {};
  m.dtype = m.out_dtype = p.dtype;
  m.residual = p.residual;
  m.out = p.out;
  m.k = depth;
  if (p.channels_last) {  // [images and positions, depth] * filters^T
    m.a = x;
    m.b = p.w;
    m.transpose_b = true;
    m.m = images * p.window.out_positions;
    m.n = p.filters;
    m.batch = 1;
    m.bias = p.bias;
    if (in_library) m.activation = p.activation;
  } else {  // filters * [depth, positions], or the transposed of rows
    m.a = p.w;
    m.b = x;
    m.transpose_b = !pointwise;
    m.m = p.filters;
    m.n = p.window.out_positions;
    m.batch = images;
    m.b_stride = depth * p.window.out_positions;
    if (in_library && p.bias == nullptr) m.activation = p.activation;
  }
  m.out_stride = m.m * m.n;
  if (KernelStatus status = queue.Launch(m); !status.ok()) return status;
  const bool bias_left = !p.channels_last && p.bias != nullptr;
  if (!bias_left && m.activation == p.activation) return KernelStatus::Ok();
  EpilogueParams e = {};
  e.dtype = p.dtype;
  e.activation = p.activation;
  e.alpha = p.alpha;
  e.beta = p.beta;
  if (bias_left) e.bias = p.bias;
  e.bias_rows = p.channels_last ? 0 : p.filters;
  e.out = p.out;
  e.rows = m.batch * m.m;
  e.n = m.n;
  return queue.Launch(e);
}

KernelStatus RunConv(const RunArgs& args) {
  const auto& state = *static_cast<const ConvState*>(args.state);
  Queue& queue = QueueOf(args);
  ConvParams p = state.direct;
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  p.x = args.inputs[0].data;
  p.w = args.inputs[1].data;
  p.bias = Operand(args.inputs, 2).data;
  p.residual = Operand(args.inputs, 3).data;
  p.out = args.outputs[0].data;
  if (!state.product) return queue.Launch(p);
  if (state.pointwise) return LaunchProduct(queue, p, p.batch, p.x, true);
  const auto size = static_cast<int64_t>(SizeOf(p.dtype));
  const int64_t out_image = p.filters * p.window.out_positions * size;
  for (int64_t first = 0; first < p.batch; first += state.row_images) {
    const int64_t images = std::min(state.row_images, p.batch - first);
    UnfoldParams rows = {};
    rows.dtype = p.dtype;
    rows.x = args.inputs[0].as<std::byte>() + first * p.x_steps.image * size;
    rows.out = args.scratch;
    rows.batch = images;
    rows.channels = p.channels_per_group;
    rows.x_steps = p.x_steps;
    rows.window = p.window;
    if (KernelStatus status = queue.Launch(rows); !status.ok()) return status;
    ConvParams part = p;
    part.out = args.outputs[0].as<std::byte>() + first * out_image;
    if (p.residual != nullptr) {
      part.residual = args.inputs[3].as<std::byte>() + first * out_image;
    }
    if (KernelStatus status = LaunchProduct(queue, part, images, args.scratch, false);
        !status.ok()) {
      return status;
    }
  }
  return KernelStatus::Ok();
}

std::string SupportsImage(const CallSignature& call) {
  const int64_t axes = call.inputs[0].rank() - 2;
  if (axes < 1 || axes > kMaxSpatial) {
    return "needs 1 to 3 spatial axes, got " + std::to_string(axes);
  }
  return RequireFloats(call);
}

template <typename Attrs>
KernelStatus Pool(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  const DimSpan in = layout.Spatial(x.shape), out_spatial = layout.Spatial(out.shape);
  PoolParams p = {};
  p.dtype = x.dtype;
  p.max = std::is_same_v<Attrs, nn::MaxPoolAttrs>;
  if constexpr (requires { attrs.count_include_pad; }) p.count_padding = attrs.count_include_pad;
  p.x = x.data;
  p.out = out.data;
  p.batch = x.shape[0];
  p.channels = layout.Channels(x.shape);
  p.x_steps = StepsIn(layout, x.shape);
  p.window = ToParams(Window::Of(attrs, attrs.kernel, in, out_spatial), in, out_spatial);
  p.channels_last = layout.channels_last();
  return QueueOf(args).Launch(p);
}

template <typename Attrs>
Kernel MakeConv(const char* op, const char* name) {
  Kernel kernel = MakeKernel(op, name, RunConv, SupportsImage);
  kernel.prepare = PrepareConv<Attrs>;
  return kernel;
}

}  // namespace

void AddConvKernels(KernelRegistry& registry) {
  registry.Add(MakeConv<nn::ConvAttrs>("nn.conv", "cuda.conv"));
  registry.Add(MakeConv<fused::ConvAttrs>("fused.conv", "cuda.fused_conv"));
  registry.Add(MakeKernel("nn.max_pool", "cuda.max_pool", Pool<nn::MaxPoolAttrs>, SupportsImage));
  registry.Add(MakeKernel("nn.average_pool", "cuda.average_pool", Pool<nn::AveragePoolAttrs>,
                          SupportsImage));
}

}  // namespace tenon::kernels::gpu
