// Reference kernels of fused ops that do what several others do one after the other. They run the
// reference kernels of those, so what lies between two of them is rounded as if it were written
// out.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"
#include "kernels/reference/parts.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

template <typename Attrs>
fused::LinearAttrs LinearOf(const Attrs& attrs) {
  return {.transpose_w = attrs.transpose_w,
          .activation = static_cast<fused::LinearActivation>(attrs.activation),
          .alpha = attrs.alpha,
          .beta = attrs.beta};
}

KernelStatus LinearNorm(const RunArgs& args) {
  const auto& attrs = args.get<fused::LinearNormAttrs>();
  const TensorView& out = args.outputs[0];
  Between made(out.dtype, ToDims(out.shape));
  const TensorView sum =
      args.outputs.size() > 1 && args.outputs[1].present() ? args.outputs[1] : made.view;
  const size_t linear_inputs = std::min<size_t>(4, args.inputs.size());
  if (KernelStatus status =
          RunPart(args, RefFusedLinear(), args.inputs.first(linear_inputs), sum, LinearOf(attrs));
      !status.ok())
    return status;
  return NormPart(args, attrs.norm == fused::LinearNormNorm::kLayer, attrs.epsilon, sum,
                  InputOr(args, 4), InputOr(args, 5), out);
}

KernelStatus NormLinear(const RunArgs& args) {
  const auto& attrs = args.get<fused::NormLinearAttrs>();
  const TensorView& x = args.inputs[0];
  Between made(x.dtype, ToDims(x.shape));
  if (KernelStatus status =
          NormPart(args, attrs.norm == fused::NormLinearNorm::kLayer, attrs.epsilon, x,
                   InputOr(args, 4), InputOr(args, 5), made.view);
      !status.ok())
    return status;
  const TensorView inputs[] = {made.view, args.inputs[1], InputOr(args, 2), InputOr(args, 3)};
  return RunPart(args, RefFusedLinear(), inputs, args.outputs[0], LinearOf(attrs));
}

KernelStatus LinearChain(const RunArgs& args) {
  const auto& attrs = args.get<fused::LinearChainAttrs>();
  fused::LinearAttrs linear = LinearOf(attrs);
  std::vector<std::unique_ptr<Between>> made;
  TensorView x = args.inputs[0];
  const size_t step = attrs.biased ? 2 : 1;
  for (size_t i = 2; i < args.inputs.size(); i += step) {
    const bool last = i + step == args.inputs.size();
    const TensorView inputs[] = {x, args.inputs[i],
                                 attrs.biased ? args.inputs[i + 1] : TensorView(),
                                 last ? args.inputs[1] : TensorView()};
    TensorView out = args.outputs[0];
    if (last && !attrs.activate_last) linear.activation = fused::LinearActivation::kNone;
    if (!last) {
      Dims shape = ToDims(out.shape);
      shape.back() = args.inputs[i].dim(attrs.transpose_w ? 0 : 1);
      made.push_back(std::make_unique<Between>(out.dtype, std::move(shape)));
      out = made.back()->view;
    }
    if (KernelStatus status = RunPart(args, RefFusedLinear(), inputs, out, linear); !status.ok())
      return status;
    x = out;
  }
  return KernelStatus::Ok();
}

KernelStatus AddTranspose(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.inputs[1];
  Between sum(x.dtype, BroadcastShape(x.shape, y.shape));
  if (KernelStatus status = RunPart(args, RefAdd(), args.inputs, sum.view, ten::AddAttrs{});
      !status.ok())
    return status;
  return RunPart(args, RefTranspose(), {&sum.view, 1}, args.outputs[0],
                 ten::TransposeAttrs{args.get<fused::AddTransposeAttrs>().perm});
}

KernelStatus TransposeConcat(const RunArgs& args) {
  const auto& attrs = args.get<fused::TransposeConcatAttrs>();
  const TensorView& out = args.outputs[0];
  std::vector<std::unique_ptr<Between>> made;
  std::vector<Dims> shapes(args.inputs.size());
  std::vector<TensorView> matrices;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const TensorView& input = args.inputs[i];
    Dims shape;
    for (int64_t axis : attrs.perm) shape.push_back(input.shape[static_cast<size_t>(axis)]);
    shapes[i] = {out.shape[0], Product(View(shape).subspan(static_cast<size_t>(attrs.axis)))};
    made.push_back(std::make_unique<Between>(out.dtype, std::move(shape)));
    if (KernelStatus status = RunPart(args, RefTranspose(), {&input, 1}, made.back()->view,
                                      ten::TransposeAttrs{attrs.perm});
        !status.ok())
      return status;
    matrices.push_back({made.back()->view.data, out.dtype, View(shapes[i])});
  }
  return RunPart(args, RefConcat(), matrices, out, ten::ConcatAttrs{1});
}

constexpr size_t kMovedSkip = 2, kMovedOffset = 5;

KernelStatus MovedNorm(const RunArgs& args) {
  const auto& attrs = args.get<fused::MovedNormAttrs>();
  const TensorView x = args.inputs[0];
  Between made(x.dtype, ToDims(x.shape)), normed(x.dtype, ToDims(x.shape));
  TensorView sum = x;
  for (const size_t i : {kMovedOffset, kMovedSkip}) {
    const TensorView inputs[] = {sum, InputOr(args, i)};
    if (!inputs[1].present()) continue;
    sum = made.view;
    if (KernelStatus status = RunPart(args, RefAdd(), inputs, sum, ten::AddAttrs{}); !status.ok())
      return status;
  }
  if (args.outputs.size() > 1 && args.outputs[1].present()) {
    std::copy_n(sum.as<std::byte>(), sum.bytes(), args.outputs[1].as<std::byte>());
  }
  if (KernelStatus status =
          NormPart(args, attrs.norm == fused::MovedNormNorm::kLayer, attrs.epsilon, sum,
                   InputOr(args, 3), InputOr(args, 4), normed.view);
      !status.ok())
    return status;
  const TensorView moved[] = {normed.view, InputOr(args, 1)};
  if (moved[1].present())
    return RunPart(args, RefGather(), moved, args.outputs[0], ten::GatherAttrs{attrs.axis});
  return RunPart(args, RefTranspose(), std::span(moved).first(1), args.outputs[0],
                 ten::TransposeAttrs{attrs.perm});
}

KernelStatus FusedGroupNorm(const RunArgs& args) {
  const auto& attrs = args.get<fused::GroupNormAttrs>();
  const TensorView x = args.inputs[0], skip = InputOr(args, 1);
  const TensorView& out = args.outputs[0];
  Between made(x.dtype, ToDims(x.shape));
  TensorView sum = x;
  if (skip.present()) {
    sum = made.view;
    const TensorView inputs[] = {x, skip};
    if (KernelStatus status = RunPart(args, RefAdd(), inputs, sum, ten::AddAttrs{}); !status.ok())
      return status;
  }
  if (args.outputs.size() > 1 && args.outputs[1].present()) {
    std::copy_n(sum.as<std::byte>(), sum.bytes(), args.outputs[1].as<std::byte>());
  }
  const TensorView inputs[] = {sum, InputOr(args, 2), InputOr(args, 3)};
  if (KernelStatus status =
          RunPart(args, RefGroupNorm(), inputs, out,
                  nn::GroupNormAttrs{.groups = attrs.groups, .epsilon = attrs.epsilon});
      !status.ok())
    return status;
  const Activation activation = ToActivation(attrs);
  return DispatchFloat(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0, n = out.numel(); i < n; ++i) {
      T& v = out.as<T>()[i];
      v = static_cast<T>(Activate(activation, static_cast<double>(static_cast<Compute<T>>(v))));
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefAddTranspose() {
  return {.op = "fused.add_transpose", .name = "ref.add_transpose", .run = AddTranspose};
}
Kernel RefFusedGroupNorm() {
  return {.op = "fused.group_norm", .name = "ref.fused_group_norm", .run = FusedGroupNorm};
}
Kernel RefLinearChain() {
  return {.op = "fused.linear_chain", .name = "ref.linear_chain", .run = LinearChain};
}
Kernel RefLinearNorm() {
  return {.op = "fused.linear_norm", .name = "ref.linear_norm", .run = LinearNorm};
}
Kernel RefMovedNorm() {
  return {.op = "fused.moved_norm", .name = "ref.moved_norm", .run = MovedNorm};
}
Kernel RefNormLinear() {
  return {.op = "fused.norm_linear", .name = "ref.norm_linear", .run = NormLinear};
}
Kernel RefTransposeConcat() {
  return {.op = "fused.transpose_concat", .name = "ref.transpose_concat", .run = TransposeConcat};
}

}  // namespace tenon::kernels
