// Reference kernels of elementwise ops that are defined piece by piece.
#include <cmath>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/elementwise/map.h"

namespace tenon::kernels {
namespace {

// log(1 + e^v) without overflow, and exact for very negative v.
template <typename T>
T Softplus(T v) {
  return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v));
}

template <typename T>
T Elu(T v, const ten::EluAttrs& attrs) {
  const T gamma = static_cast<T>(attrs.gamma);
  if (!(v <= 0)) return gamma * v;  // NaN stays NaN
  return gamma * (static_cast<T>(attrs.alpha) * std::expm1(v / static_cast<T>(attrs.width)));
}

// Integers are compared and shifted as numbers, and the result truncates.
template <typename T>
KernelStatus Shrink(const RunArgs& args) {
  const auto& attrs = args.get<ten::ShrinkAttrs>();
  const T* x = args.inputs[0].as<T>();
  T* out = args.outputs[0].as<T>();
  const int64_t n = args.outputs[0].numel();
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(static_cast<Compute<T>>(x[i]));
    const double lambd = attrs.lambd, bias = attrs.bias;
    out[i] = Convert<T>(v < -lambd ? v + bias : v > lambd ? v - bias : std::isnan(v) ? v : 0.0);
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefElu() {
  return {.op = "ten.elu",
          .name = "ref.elu",
          .run =
              [](const RunArgs& args) {
                const auto& attrs = args.get<ten::EluAttrs>();
                return MapFloat(args, [&](auto v) { return Elu(v, attrs); });
              },
          .inplace_mask = 1};
}

Kernel RefIsInf() {
  return {.op = "ten.is_inf", .name = "ref.is_inf", .run = [](const RunArgs& args) {
            const auto& attrs = args.get<ten::IsInfAttrs>();
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              using T = typename decltype(tag)::type;
              const T* x = args.inputs[0].as<T>();
              uint8_t* out = args.outputs[0].as<uint8_t>();
              const int64_t n = args.outputs[0].numel();
              for (int64_t i = 0; i < n; ++i) {
                const auto v = static_cast<Compute<T>>(x[i]);
                out[i] = std::isinf(v) && (v > 0 ? attrs.detect_positive : attrs.detect_negative);
              }
              return KernelStatus::Ok();
            });
          }};
}

Kernel RefShrink() {
  return {.op = "ten.shrink",
          .name = "ref.shrink",
          .run =
              [](const RunArgs& args) {
                return DispatchNumber(args.inputs[0].dtype, [&](auto tag) {
                  return Shrink<typename decltype(tag)::type>(args);
                });
              },
          .inplace_mask = 1};
}

Kernel RefSoftplus() {
  return {
      .op = "ten.softplus",
      .name = "ref.softplus",
      .run = [](const RunArgs& args) { return MapFloat(args, [](auto v) { return Softplus(v); }); },
      .inplace_mask = 1};
}

Kernel RefThresholdedRelu() {
  return {.op = "ten.thresholded_relu",
          .name = "ref.thresholded_relu",
          .run =
              [](const RunArgs& args) {
                const float alpha = args.get<ten::ThresholdedReluAttrs>().alpha;
                return MapFloat(args, [alpha](auto v) {
                  return v > static_cast<decltype(v)>(alpha) ? v : decltype(v){0};
                });
              },
          .inplace_mask = 1};
}

}  // namespace tenon::kernels
