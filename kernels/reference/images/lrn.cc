// Reference kernel of local response normalisation.
#include <cmath>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

template <typename T>
KernelStatus Lrn(const RunArgs& args) {
  const auto& attrs = args.get<nn::LrnAttrs>();
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  if (x.rank() < 2 || attrs.size < 1) {
    return KernelStatus::Invalid("x must have a channel axis, and size must be at least 1");
  }
  const int64_t channels = x.shape[1], plane = Product(x.shape.subspan(2));
  const int64_t before = (attrs.size - 1) / 2, after = attrs.size - 1 - before;
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = std::max<int64_t>(0, c - before);
      const int64_t last = std::min(channels - 1, c + after);
      for (int64_t i = 0; i < plane; ++i) {
        const auto at = [&](int64_t channel) {
          const T v = x.as<T>()[(n * channels + channel) * plane + i];
          return static_cast<double>(static_cast<Compute<T>>(v));
        };
        double squares = 0;
        for (int64_t k = first; k <= last; ++k) squares += at(k) * at(k);
        const double base = attrs.bias + static_cast<double>(attrs.alpha) /
                                             static_cast<double>(attrs.size) * squares;
        args.outputs[0].as<T>()[(n * channels + c) * plane + i] =
            static_cast<T>(at(c) / std::pow(base, static_cast<double>(attrs.beta)));
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefLrn() {
  return {.op = "nn.lrn", .name = "ref.lrn", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype,
                                 [&](auto tag) { return Lrn<typename decltype(tag)::type>(args); });
          }};
}

}  // namespace tenon::kernels
