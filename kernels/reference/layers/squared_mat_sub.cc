// The reference kernel of the square of a product minus the product of squares. What lies between
// two steps is rounded as if it were written out.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/parts.h"

namespace tenon::kernels {
namespace {

KernelStatus SquaredMatSub(const RunArgs& args) {
  const auto& attrs = args.get<fused::SquaredMatSubAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  Between squared(x.dtype, ToDims(x.shape)), products(out.dtype, ToDims(out.shape));
  const fused::LinearAttrs linear = {.transpose_w = attrs.transpose_w};
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for (int64_t i = 0; i < x.numel(); ++i) {
      const C v = static_cast<C>(x.as<T>()[i]);
      squared.view.template as<T>()[i] = static_cast<T>(v * v);
    }
    const TensorView of_squares[] = {squared.view, args.inputs[2], {}, {}};
    const TensorView of_sums[] = {x, args.inputs[1], {}, {}};
    KernelStatus status = RunPart(args, RefFusedLinear(), of_squares, products.view, linear);
    if (status.ok()) status = RunPart(args, RefFusedLinear(), of_sums, out, linear);
    if (!status.ok()) return status;
    for (int64_t i = 0; i < out.numel(); ++i) {
      const C sum = static_cast<C>(out.as<T>()[i]);
      const C square = static_cast<C>(static_cast<T>(sum * sum));
      const C product = static_cast<C>(products.view.template as<T>()[i]);
      const C difference = static_cast<C>(static_cast<T>(square - product));
      out.as<T>()[i] = static_cast<T>(difference * static_cast<C>(attrs.scale));
    }
    return status;
  });
}

}  // namespace

Kernel RefSquaredMatSub() {
  return {.op = "fused.squared_mat_sub", .name = "ref.squared_mat_sub", .run = SquaredMatSub};
}

}  // namespace tenon::kernels
