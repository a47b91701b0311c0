// The activation that a fused op applies to its result. fused.linear, fused.conv,
// fused.conv_transpose and fused.gated have an enum each, spelled alike; kernels use this one.
#ifndef TENON_KERNELS_ACTIVATION_H_
#define TENON_KERNELS_ACTIVATION_H_

#include <cstdint>

namespace tenon::kernels {

// In the order of the YAML's Enum list; ToActivation relies on it, and a test checks it.
enum class ActivationKind : uint8_t {
  kNone,
  kRelu,
  kGelu,
  kGeluTanh,
  kGeluSigmoid,
  kSilu,
  kSigmoid,
  kTanh,
  kClip,
  kLeakyRelu,
  kHardSigmoid,
  kHardSwish,
  kMish,
};
inline constexpr int kNumActivations = 13;

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha = 0;
  float beta = 0;
};

// None for ops whose attributes have none.
template <typename Attrs>
Activation ToActivation(const Attrs& attrs) {
  if constexpr (requires { attrs.activation; }) {
    return {static_cast<ActivationKind>(attrs.activation), attrs.alpha, attrs.beta};
  } else {
    return {};
  }
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_ACTIVATION_H_
