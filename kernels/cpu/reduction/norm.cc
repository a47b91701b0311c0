// Normalisations of floats whose scale, bias and offset cover exactly the normalised axes.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Whether `view` has all axes [axis, rank) of `like` with the same, known extents.
bool CoversRow(const TensorView& view, const TensorView& like, int64_t axis) {
  const int64_t count = like.rank() - axis;
  if (view.rank() < count) return false;
  for (int64_t i = 1; i <= count; ++i) {
    if (view.dim(-i) != like.dim(-i) || view.dim(-i) < 0) return false;
  }
  return true;
}

template <typename Attrs, bool kSkip>
std::string Supports(const CallSignature& call) {
  const TensorView& out = call.outputs[0];
  const int64_t axis = NormalizeAxis(static_cast<const Attrs*>(call.attrs)->axis, out.rank());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    // Without a skip, x has the shape of the result, whatever that is.
    if (!call.inputs[i].present() || (i == 0 && !kSkip)) continue;
    const bool is_parameter = i >= (kSkip ? 2 : 1);
    if (!CoversRow(call.inputs[i], out, axis) ||
        (is_parameter && call.inputs[i].rank() != out.rank() - axis)) {
      return "operand " + std::to_string(i) + " does not cover the normalized axes one to one";
    }
  }
  return cpu::RequireF32(call);
}

template <typename Attrs, bool kSkip, bool kMean>
KernelStatus Norm(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<Attrs>().axis, out.rank());
  const int64_t n = Product(out.shape.subspan(axis)), rows = Product(out.shape.first(axis));
  if (n == 0 || rows == 0) return KernelStatus::Ok();
  auto strides = [&](const TensorView& view) {
    Dims all = BroadcastStrides(view.shape, out.shape);
    all.resize(static_cast<size_t>(axis));
    return all;
  };
  auto data = [&](size_t i) {
    return cpu::Present(args.inputs, i) ? args.inputs[i].as<float>() : nullptr;
  };
  const Dims x_strides = strides(args.inputs[0]);
  // Runs of rows that lie at even distances: the last axis once those that join have joined.
  Dims outer = ToDims(out.shape.first(axis));
  std::array<Dims, 2> steps = {x_strides, kSkip ? strides(args.inputs[1]) : x_strides};
  Coalesce(outer, steps);
  const int64_t run = outer.back();
  const float *x = data(0), *skip = kSkip ? data(1) : nullptr;
  const float *scale = data(kSkip ? 2 : 1), *bias = kMean ? data(kSkip ? 3 : 2) : nullptr;
  const float* offset = kSkip ? data(kMean ? 4 : 3) : nullptr;
  float* sum = kSkip && cpu::Present(args.outputs, 1) ? args.outputs[1].as<float>() : nullptr;
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  (*args.device->parallel)(rows, cpu::RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end;) {
      const StridedWalk<2> walk(View(outer), steps, r);
      const int64_t count = std::min(end - r, run - r % run);
      ops.norm({.rows = count,
                .x = x + walk[0],
                .x_step = steps[0].back(),
                .skip = skip == nullptr ? nullptr : skip + walk[1],
                .skip_step = steps[1].back(),
                .offset = offset,
                .scale = scale,
                .bias = bias,
                .sum = sum == nullptr ? nullptr : sum + r * n,
                .out = out.as<float>() + r * n,
                .n = n,
                .epsilon = args.get<Attrs>().epsilon,
                .subtract_mean = kMean});
      r += count;
    }
  });
  return KernelStatus::Ok();
}

template <typename Attrs, bool kSkip, bool kMean>
Kernel NormKernel(const char* op, const char* name) {
  return {.op = op,
          .name = name,
          .priority = 10,
          .run = Norm<Attrs, kSkip, kMean>,
          .supports = Supports<Attrs, kSkip>,
          .inplace_mask = kSkip ? 3u : 1u};
}

// A channel of a batch norm. As `factor * x + offset` where floats hold both.
struct Channel {
  double mean, factor, bias;

  Channel(const TensorView& scale, const TensorView& bias_of, const TensorView& mean_of,
          const TensorView& variance, double epsilon, int64_t c)
      : mean(mean_of.as<float>()[c]),
        factor(scale.as<float>()[c] /
               std::sqrt(static_cast<double>(variance.as<float>()[c]) + epsilon)),
        bias(bias_of.as<float>()[c]) {}
  double offset() const { return bias - mean * factor; }
  bool is_affine() const {
    return std::isfinite(static_cast<float>(factor)) && std::isfinite(static_cast<float>(offset()));
  }
  float Of(float x) const { return static_cast<float>((x - mean) * factor + bias); }
};

// Channels are neighbours: factors and offsets of some of them, then all rows.
void BatchNormRows(const RunArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kColumns = 256;
  const TensorView& x = args.inputs[0];
  const float epsilon = args.get<nn::BatchNormAttrs>().epsilon;
  const int64_t channels = x.shape[1];
  const auto multiply = cpu::LoopOf(cpu::BinaryOp::kMul), add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  float factors[kColumns], offsets[kColumns];
  for (int64_t first = 0; first < channels; first += kColumns) {
    const int64_t columns = std::min(kColumns, channels - first);
    bool are_affine = true;
    for (int64_t i = 0; i < columns; ++i) {
      const Channel channel(args.inputs[1], args.inputs[2], args.inputs[3], args.inputs[4], epsilon,
                            first + i);
      factors[i] = static_cast<float>(channel.factor);
      offsets[i] = static_cast<float>(channel.offset());
      are_affine &= channel.is_affine();
    }
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * channels + first;
      float* to = args.outputs[0].as<float>() + at;
      if (!are_affine) {
        for (int64_t i = 0; i < columns; ++i)
          to[i] = Channel(args.inputs[1], args.inputs[2], args.inputs[3], args.inputs[4], epsilon,
                          first + i)
                      .Of(x.as<float>()[at + i]);
        continue;
      }
      multiply(x.as<float>() + at, factors, to, columns);
      add(to, offsets, to, columns);
    }
  }
}

KernelStatus BatchNorm(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const float epsilon = args.get<nn::BatchNormAttrs>().epsilon;
  const int64_t channels = x.shape[1], inner = Product(x.shape.subspan(2));
  if (inner == 1) {
    (*args.device->parallel)(x.shape[0], cpu::RowGrain(channels),
                             [&](int64_t b, int64_t e) { BatchNormRows(args, b, e); });
    return KernelStatus::Ok();
  }
  (*args.device->parallel)(x.shape[0] * channels, cpu::RowGrain(inner), [&](int64_t b, int64_t e) {
    for (int64_t plane = b; plane < e; ++plane) {
      const Channel channel(args.inputs[1], args.inputs[2], args.inputs[3], args.inputs[4], epsilon,
                            plane % channels);
      const float* from = x.as<float>() + plane * inner;
      float* to = out.as<float>() + plane * inner;
      if (channel.is_affine()) {
        cpu::Apply(cpu::UnaryOp::kAffine, from, to, inner, static_cast<float>(channel.factor),
                   static_cast<float>(channel.offset()));
      } else {
        for (int64_t i = 0; i < inner; ++i) to[i] = channel.Of(from[i]);
      }
    }
  });
  return KernelStatus::Ok();
}

template <typename Attrs>
std::string GroupNormSupports(const CallSignature& call) {
  const TensorView& x = call.inputs[0];
  const int64_t groups = static_cast<const Attrs*>(call.attrs)->groups;
  if (x.rank() < 2 || groups < 1 || x.dim(1) < 0 || x.dim(1) % groups != 0)
    return "needs channels in equal groups";
  return cpu::RequireF32(call);
}

// Groups are rows of memory; scale, bias and activation follow, channel by channel.
template <typename Attrs, bool kSkip>
KernelStatus GroupNorm(const RunArgs& args) {
  constexpr size_t kScale = kSkip ? 2 : 1;
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  for (size_t i = kScale; i < kScale + 2; ++i) {  // their extents may be known only now
    if (cpu::Present(args.inputs, i) && args.inputs[i].numel() != x.shape[1])
      return KernelStatus::Invalid("scale and bias must have an element for each channel");
  }
  if (x.numel() == 0) return KernelStatus::Ok();
  const auto& attrs = args.get<Attrs>();
  const Activation activation = ToActivation(attrs);
  const int64_t per_group = x.shape[1] / attrs.groups, inner = Product(x.shape.subspan(2));
  const int64_t n = per_group * inner;
  const auto floats = [&](size_t i) {
    return cpu::Present(args.inputs, i) ? args.inputs[i].as<float>() : nullptr;
  };
  const float *skip = kSkip ? floats(1) : nullptr, *scale = floats(kScale),
              *bias = floats(kScale + 1);
  float* sum = kSkip && cpu::Present(args.outputs, 1) ? args.outputs[1].as<float>() : nullptr;
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  (*args.device->parallel)(
      x.shape[0] * attrs.groups, cpu::RowGrain(n, 4), [&](int64_t b, int64_t e) {
        for (int64_t row = b; row < e; ++row) {
          float* to = out.as<float>() + row * n;
          const float* from = x.as<float>() + row * n;
          if (sum != nullptr && skip == nullptr) std::copy(from, from + n, sum + row * n);
          ops.norm({.x = from,
                    .skip = skip == nullptr ? nullptr : skip + row * n,
                    .sum = sum == nullptr ? nullptr : sum + row * n,
                    .out = to,
                    .n = n,
                    .epsilon = attrs.epsilon,
                    .subtract_mean = true});
          for (int64_t i = 0; i < per_group; ++i) {
            const int64_t c = row % attrs.groups * per_group + i;
            float* channel = to + i * inner;
            if (scale != nullptr || bias != nullptr) {
              cpu::Apply(cpu::UnaryOp::kAffine, channel, channel, inner,
                         scale == nullptr ? 1 : scale[c], bias == nullptr ? 0 : bias[c]);
            }
            cpu::ActivateInPlace(activation, channel, inner);
          }
        }
      });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuGroupNorm() {
  return {.op = "nn.group_norm",
          .name = "cpu.group_norm",
          .priority = 10,
          .run = GroupNorm<nn::GroupNormAttrs, false>,
          .supports = GroupNormSupports<nn::GroupNormAttrs>,
          .inplace_mask = 1};
}

Kernel CpuFusedGroupNorm() {
  return {.op = "fused.group_norm",
          .name = "cpu.fused_group_norm",
          .priority = 10,
          .run = GroupNorm<fused::GroupNormAttrs, true>,
          .supports = GroupNormSupports<fused::GroupNormAttrs>,
          .inplace_mask = 3};
}

Kernel CpuBatchNorm() {
  return {.op = "nn.batch_norm",
          .name = "cpu.batch_norm",
          .priority = 10,
          .run = BatchNorm,
          .supports =
              [](const CallSignature& call) {
                return call.inputs[0].rank() < 2 ? "needs a channel axis" : cpu::RequireF32(call);
              },
          .inplace_mask = 1};
}

Kernel CpuLayerNorm() {
  return NormKernel<nn::LayerNormAttrs, false, true>("nn.layer_norm", "cpu.layer_norm");
}
Kernel CpuRmsNorm() {
  return NormKernel<nn::RmsNormAttrs, false, false>("nn.rms_norm", "cpu.rms_norm");
}
Kernel CpuSkipLayerNorm() {
  return NormKernel<fused::SkipLayerNormAttrs, true, true>("fused.skip_layer_norm",
                                                           "cpu.skip_layer_norm");
}
Kernel CpuSkipRmsNorm() {
  return NormKernel<fused::SkipRmsNormAttrs, true, false>("fused.skip_rms_norm",
                                                          "cpu.skip_rms_norm");
}

}  // namespace tenon::kernels
