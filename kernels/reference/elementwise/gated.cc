// The reference kernel of gated activations.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

KernelStatus Gated(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const auto& attrs = args.get<fused::GatedAttrs>();
  const Activation activation = ToActivation(attrs);
  const bool packed = args.inputs.size() < 2 || !args.inputs[1].present();
  if (out.numel() == 0) return KernelStatus::Ok();
  // Packed: rows of 2 n elements, one half activated.
  const int64_t n = packed ? out.shape.back() : out.numel(), rows = out.numel() / n;
  const int64_t step = packed ? 2 * n : n;
  return DispatchFloat(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* gate = x.as<T>() + (packed && attrs.second ? n : 0);
    const T* up = packed ? x.as<T>() + (attrs.second ? 0 : n) : args.inputs[1].as<T>();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i) {
        const auto a = Activate(activation, static_cast<Compute<T>>(gate[r * step + i]));
        out.as<T>()[r * n + i] = static_cast<T>(a * static_cast<Compute<T>>(up[r * step + i]));
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefGated() { return {.op = "fused.gated", .name = "ref.gated", .run = Gated}; }

}  // namespace tenon::kernels
