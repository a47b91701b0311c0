// Reference kernels of normalisations, with and without an added skip connection.
#include <cmath>
#include <string>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

struct NormCall {
  TensorView x, skip, scale, bias, offset;  // all but x may be absent
  TensorView out, sum;                      // sum may be absent
  int64_t axis = 0;
  double epsilon = 0;
  bool subtract_mean = false;
};

TensorView Get(std::span<const TensorView> views, size_t i) {
  return i < views.size() ? views[i] : TensorView{};
}

Dims StridesOf(const TensorView& view, DimSpan out) {
  return view.present() ? BroadcastStrides(view.shape, out) : Dims(out.size(), 0);
}

// Normalises every row of the axes [axis, rank). The sum is rounded to T before it is normalised.
template <typename T>
KernelStatus Normalize(const NormCall& call) {
  using C = Compute<T>;
  const DimSpan shape = call.out.shape;
  if (call.out.numel() == 0) return KernelStatus::Ok();
  const int64_t axis = NormalizeAxis(call.axis, static_cast<int64_t>(shape.size()));
  const int64_t n = Product(shape.subspan(axis)), rows = Product(shape.first(axis));
  StridedWalk<5> walk(
      shape, {StridesOf(call.x, shape), StridesOf(call.skip, shape), StridesOf(call.scale, shape),
              StridesOf(call.bias, shape), StridesOf(call.offset, shape)});
  T* out = call.out.as<T>();
  for (int64_t row = 0; row < rows; ++row, out += n) {
    // Pass 1 leaves the (summed) input in out; pass 2 reads it, so that no other memory is needed.
    StridedWalk<5> again = walk;
    double total = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      C v = static_cast<C>(call.x.as<T>()[walk[0]]);
      if (call.offset.present()) v += static_cast<C>(call.offset.as<T>()[walk[4]]);
      if (call.skip.present()) v += static_cast<C>(call.skip.as<T>()[walk[1]]);
      out[i] = static_cast<T>(v);
      if (call.sum.present()) call.sum.as<T>()[row * n + i] = out[i];
      total += static_cast<C>(out[i]);
    }
    const double mean = call.subtract_mean ? total / static_cast<double>(n) : 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const double d = static_cast<C>(out[i]) - mean;
      squares += d * d;
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + call.epsilon);
    for (int64_t i = 0; i < n; ++i, again.Next()) {
      double v = (static_cast<C>(out[i]) - mean) * inverse;
      if (call.scale.present()) v *= static_cast<C>(call.scale.as<T>()[again[2]]);
      if (call.bias.present()) v += static_cast<C>(call.bias.as<T>()[again[3]]);
      out[i] = static_cast<T>(v);
    }
  }
  return KernelStatus::Ok();
}

template <typename Attrs, bool kSkip, bool kMean>
KernelStatus Norm(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const size_t scale_at = kSkip ? 2 : 1;
  const NormCall call = {
      .x = args.inputs[0],
      .skip = kSkip ? args.inputs[1] : TensorView{},
      .scale = Get(args.inputs, scale_at),
      .bias = kMean ? Get(args.inputs, scale_at + 1) : TensorView{},
      .offset = kSkip ? Get(args.inputs, kMean ? 4 : 3) : TensorView{},
      .out = args.outputs[0],
      .sum = kSkip ? Get(args.outputs, 1) : TensorView{},
      .axis = attrs.axis,
      .epsilon = attrs.epsilon,
      .subtract_mean = kMean,
  };
  return DispatchFloat(call.out.dtype,
                       [&](auto tag) { return Normalize<typename decltype(tag)::type>(call); });
}

KernelStatus BatchNorm(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const double epsilon = args.get<nn::BatchNormAttrs>().epsilon;
  if (x.numel() == 0) return KernelStatus::Ok();
  const int64_t channels = x.rank() > 1 ? x.shape[1] : 1;
  const int64_t inner = x.rank() > 2 ? Product(x.shape.subspan(2)) : 1;
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < x.shape[0] * channels; ++row) {
      const int64_t c = row % channels;
      const double scale = DoubleAt(args.inputs[1], c), bias = DoubleAt(args.inputs[2], c);
      const double mean = DoubleAt(args.inputs[3], c), var = DoubleAt(args.inputs[4], c);
      const double factor = scale / std::sqrt(var + epsilon);
      for (int64_t i = row * inner; i < (row + 1) * inner; ++i) {
        const double v = static_cast<Compute<T>>(x.as<T>()[i]);
        out.as<T>()[i] = static_cast<T>((v - mean) * factor + bias);
      }
    }
    return KernelStatus::Ok();
  });
}

KernelStatus GroupNorm(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const auto& attrs = args.get<nn::GroupNormAttrs>();
  const TensorView scale = Get(args.inputs, 1), bias = Get(args.inputs, 2);
  if (x.rank() < 2) return KernelStatus::Invalid("x has no channel axis");
  const int64_t channels = x.shape[1], inner = Product(x.shape.subspan(2));
  if (attrs.groups < 1 || channels % attrs.groups != 0) {
    return KernelStatus::Invalid(std::to_string(channels) + " channels are not " +
                                 std::to_string(attrs.groups) + " equal groups");
  }
  for (const TensorView& factors : {scale, bias}) {
    if (factors.present() && factors.numel() != channels) {
      return KernelStatus::Invalid("scale and bias must have an element for each channel");
    }
  }
  if (x.numel() == 0) return KernelStatus::Ok();
  const int64_t n = channels / attrs.groups * inner;
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < x.shape[0] * attrs.groups; ++row) {
      const T* from = x.as<T>() + row * n;
      T* to = out.as<T>() + row * n;
      double total = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) total += static_cast<Compute<T>>(from[i]);
      const double mean = total / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) {
        const double d = static_cast<Compute<T>>(from[i]) - mean;
        squares += d * d;
      }
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + attrs.epsilon);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = row % attrs.groups * (channels / attrs.groups) + i / inner;
        double v = (static_cast<Compute<T>>(from[i]) - mean) * inverse;
        if (scale.present()) v *= DoubleAt(scale, c);
        if (bias.present()) v += DoubleAt(bias, c);
        to[i] = static_cast<T>(v);
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefGroupNorm() {
  return {.op = "nn.group_norm", .name = "ref.group_norm", .run = GroupNorm, .inplace_mask = 1};
}

Kernel RefBatchNorm() {
  return {.op = "nn.batch_norm", .name = "ref.batch_norm", .run = BatchNorm, .inplace_mask = 1};
}

Kernel RefLayerNorm() {
  return {.op = "nn.layer_norm",
          .name = "ref.layer_norm",
          .run = Norm<nn::LayerNormAttrs, false, true>};
}

Kernel RefRmsNorm() {
  return {.op = "nn.rms_norm", .name = "ref.rms_norm", .run = Norm<nn::RmsNormAttrs, false, false>};
}

Kernel RefSkipLayerNorm() {
  return {.op = "fused.skip_layer_norm",
          .name = "ref.skip_layer_norm",
          .run = Norm<fused::SkipLayerNormAttrs, true, true>};
}

Kernel RefSkipRmsNorm() {
  return {.op = "fused.skip_rms_norm",
          .name = "ref.skip_rms_norm",
          .run = Norm<fused::SkipRmsNormAttrs, true, false>};
}

}  // namespace tenon::kernels
