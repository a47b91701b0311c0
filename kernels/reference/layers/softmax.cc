// Reference kernels of softmax, log-softmax and hardmax.
#include <cmath>
#include <limits>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

template <typename T>
KernelStatus SoftmaxOf(const TensorView& x, const TensorView& out, int64_t axis, bool log) {
  if (x.numel() == 0) return KernelStatus::Ok();
  axis = NormalizeAxis(axis, x.rank());
  const int64_t n = x.shape[axis], inner = Product(x.shape.subspan(axis + 1));
  const int64_t outer = Product(x.shape.first(axis));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t first = o * n * inner + i;
      auto value = [&](int64_t j) {
        return static_cast<double>(static_cast<Compute<T>>(x.as<T>()[first + j * inner]));
      };
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t j = 0; j < n; ++j) max = std::max(max, value(j));
      for (int64_t j = 0; j < n; ++j) sum += std::exp(value(j) - max);
      for (int64_t j = 0; j < n; ++j) {
        const double shifted = value(j) - max;
        out.as<T>()[first + j * inner] =
            static_cast<T>(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
  }
  return KernelStatus::Ok();
}

template <typename Attrs, bool kLog>
KernelStatus Softmax(const RunArgs& args) {
  return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
    return SoftmaxOf<typename decltype(tag)::type>(args.inputs[0], args.outputs[0],
                                                   args.get<Attrs>().axis, kLog);
  });
}

template <typename T>
KernelStatus HardmaxOf(const TensorView& x, const TensorView& out, int64_t axis) {
  if (x.numel() == 0) return KernelStatus::Ok();
  axis = NormalizeAxis(axis, x.rank());
  const int64_t n = x.shape[axis], inner = Product(x.shape.subspan(axis + 1));
  const int64_t rows = x.numel() / n;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row / inner * n * inner + row % inner;
    const auto value = [&](int64_t j) {
      return static_cast<Compute<T>>(x.as<T>()[first + j * inner]);
    };
    int64_t best = 0;
    for (int64_t j = 1; j < n; ++j) {
      if (value(j) > value(best)) best = j;
    }
    for (int64_t j = 0; j < n; ++j) {
      out.as<T>()[first + j * inner] = static_cast<T>(j == best ? 1.0f : 0.0f);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefHardmax() {
  return {.op = "nn.hardmax", .name = "ref.hardmax", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return HardmaxOf<typename decltype(tag)::type>(args.inputs[0], args.outputs[0],
                                                             args.get<nn::HardmaxAttrs>().axis);
            });
          }};
}

Kernel RefLogSoftmax() {
  return {
      .op = "nn.log_softmax", .name = "ref.log_softmax", .run = Softmax<nn::LogSoftmaxAttrs, true>};
}

Kernel RefSoftmax() {
  return {.op = "nn.softmax", .name = "ref.softmax", .run = Softmax<nn::SoftmaxAttrs, false>};
}

}  // namespace tenon::kernels
