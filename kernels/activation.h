// The activation that a fused op applies to its result. fused.linear, fused.conv,
// fused.conv_transpose and fused.gated have one enum each with the same names; kernels use this
// one.
#ifndef TENON_KERNELS_ACTIVATION_H_
#define TENON_KERNELS_ACTIVATION_H_

#include <cstdint>

namespace tenon::kernels {

// In the order of the enum in the YAML, on which ToActivation relies; a test checks it.
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

// An activation with its parameters; 0 for those that it does not have.
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha = 0;
  float beta = 0;
};

// Returns the activation of an attribute struct; kNone for ops without one.
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
