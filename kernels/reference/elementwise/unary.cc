// Reference kernels of elementwise ops with one operand.
#include <cmath>
#include <cstring>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"
#include "kernels/reference/elementwise/map.h"

namespace tenon::kernels {
namespace {

// 0 - x in wrapping arithmetic for integers.
template <typename T>
T Negate(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return -v;
  } else {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(v));
  }
}

template <typename T>
T Abs(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(v);
  } else {
    return v < T{0} ? Negate(v) : v;
  }
}

template <typename T>
T Clip(T v, double min, double max) {
  if constexpr (std::is_floating_point_v<T>) {
    if (v < static_cast<T>(min)) v = static_cast<T>(min);
    return v > static_cast<T>(max) ? static_cast<T>(max) : v;
  } else {
    constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
    // The bounds as doubles may lie outside of T; a bound at 2^63 or 2^64 rounds to "no bound".
    const T low = min <= static_cast<double>(kMin)   ? kMin
                  : min >= static_cast<double>(kMax) ? kMax
                                                     : static_cast<T>(std::ceil(min));
    const T high = max >= static_cast<double>(kMax)   ? kMax
                   : max <= static_cast<double>(kMin) ? kMin
                                                      : static_cast<T>(std::floor(max));
    return std::min(std::max(v, low), high);
  }
}

Kernel Elementwise(const char* op, const char* name, RunFn run) {
  return {.op = op, .name = name, .run = run, .inplace_mask = 1};
}

}  // namespace

Kernel RefAbs() {
  return Elementwise("ten.abs", "ref.abs", [](const RunArgs& args) {
    return MapNumber(args, [](auto v) { return Abs(v); });
  });
}

Kernel RefCeil() {
  return Elementwise("ten.ceil", "ref.ceil", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::ceil(v); });
  });
}

Kernel RefClip() {
  return Elementwise("ten.clip", "ref.clip", [](const RunArgs& args) {
    const auto& attrs = args.get<ten::ClipAttrs>();
    return MapNumber(args, [&](auto v) { return Clip(v, attrs.min, attrs.max); });
  });
}

Kernel RefCos() {
  return Elementwise("ten.cos", "ref.cos", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::cos(v); });
  });
}

Kernel RefErf() {
  return Elementwise("ten.erf", "ref.erf", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::erf(v); });
  });
}

Kernel RefExp() {
  return Elementwise("ten.exp", "ref.exp", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::exp(v); });
  });
}

Kernel RefFloor() {
  return Elementwise("ten.floor", "ref.floor", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::floor(v); });
  });
}

Kernel RefGelu() {
  return Elementwise("nn.gelu", "ref.gelu", [](const RunArgs& args) {
    switch (args.get<nn::GeluAttrs>().approximate) {
      case nn::GeluApproximate::kTanh:
        return MapFloat(args, [](auto v) { return GeluTanh(v); });
      case nn::GeluApproximate::kSigmoid:
        return MapFloat(args, [](auto v) { return GeluSigmoid(v); });
      default:
        return MapFloat(args, [](auto v) { return GeluErf(v); });
    }
  });
}

Kernel RefHardSigmoid() {
  return Elementwise("ten.hard_sigmoid", "ref.hard_sigmoid", [](const RunArgs& args) {
    const auto& attrs = args.get<ten::HardSigmoidAttrs>();
    return MapFloat(args, [&](auto v) { return HardSigmoid(v, attrs.alpha, attrs.beta); });
  });
}

Kernel RefHardSwish() {
  return Elementwise("ten.hard_swish", "ref.hard_swish", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return HardSwish(v); });
  });
}

Kernel RefIsNan() {
  return {.op = "ten.is_nan", .name = "ref.is_nan", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              using T = typename decltype(tag)::type;
              const T* x = args.inputs[0].as<T>();
              uint8_t* out = args.outputs[0].as<uint8_t>();
              const int64_t n = args.outputs[0].numel();
              for (int64_t i = 0; i < n; ++i) out[i] = std::isnan(static_cast<Compute<T>>(x[i]));
              return KernelStatus::Ok();
            });
          }};
}

Kernel RefLeakyRelu() {
  return Elementwise("ten.leaky_relu", "ref.leaky_relu", [](const RunArgs& args) {
    const auto& attrs = args.get<ten::LeakyReluAttrs>();
    return MapFloat(args, [&](auto v) { return LeakyRelu(v, attrs.alpha); });
  });
}

Kernel RefLog() {
  return Elementwise("ten.log", "ref.log", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::log(v); });
  });
}

Kernel RefNeg() {
  return Elementwise("ten.neg", "ref.neg", [](const RunArgs& args) {
    return MapNumber(args, [](auto v) { return Negate(v); });
  });
}

Kernel RefNot() {
  return Elementwise("ten.not", "ref.not", [](const RunArgs& args) {
    return Map<uint8_t>(args, [](uint8_t v) { return v == 0; });
  });
}

Kernel RefReciprocal() {
  return Elementwise("ten.reciprocal", "ref.reciprocal", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return 1 / v; });
  });
}

Kernel RefRelu() {
  return Elementwise("ten.relu", "ref.relu", [](const RunArgs& args) {
    return MapNumber(args, [](auto v) { return v < 0 ? decltype(v){0} : v; });
  });
}

Kernel RefRound() {
  return Elementwise("ten.round", "ref.round", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::nearbyint(v); });
  });
}

Kernel RefSigmoid() {
  return Elementwise("ten.sigmoid", "ref.sigmoid", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return Sigmoid(v); });
  });
}

Kernel RefSign() {
  return Elementwise("ten.sign", "ref.sign", [](const RunArgs& args) {
    return MapNumber(args, [](auto v) {
      using T = decltype(v);
      if (v > T{0}) return T{1};
      if constexpr (std::is_signed_v<T>) {
        if (v < T{0}) return static_cast<T>(-1);
      }
      return v;  // zero (of either sign) or NaN
    });
  });
}

Kernel RefMish() {
  return Elementwise("nn.mish", "ref.mish", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return Mish(v); });
  });
}

Kernel RefSilu() {
  return Elementwise("nn.silu", "ref.silu", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return Silu(v); });
  });
}

Kernel RefSin() {
  return Elementwise("ten.sin", "ref.sin", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::sin(v); });
  });
}

Kernel RefSqrt() {
  return Elementwise("ten.sqrt", "ref.sqrt", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::sqrt(v); });
  });
}

Kernel RefTanh() {
  return Elementwise("ten.tanh", "ref.tanh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::tanh(v); });
  });
}

}  // namespace tenon::kernels
