#include "kernels/cpu/conv/loop_activation.h"

#include <limits>

namespace tenon::kernels::cpu {

SplitActivation Split(const Activation& activation) {
  using Kind = LoopActivation::Kind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation.kind) {
    case ActivationKind::kRelu:
      return {{Kind::kClamp, 0, kInfinity}, {}};
    case ActivationKind::kClip:
      return {{Kind::kClamp, activation.alpha, activation.beta}, {}};
    case ActivationKind::kLeakyRelu:
      return {{Kind::kLeaky, activation.alpha, 0}, {}};
    case ActivationKind::kHardSigmoid:
      return {{Kind::kHardSigmoid, activation.alpha, activation.beta}, {}};
    case ActivationKind::kHardSwish:
      return {{Kind::kHardSwish, 0, 0}, {}};
    case ActivationKind::kSigmoid:
      return {{Kind::kSigmoid, 0, 0}, {}};
    case ActivationKind::kSilu:
      return {{Kind::kSilu, 0, 0}, {}};
    default:
      return {{Kind::kClamp, -kInfinity, kInfinity}, activation};
  }
}

}  // namespace tenon::kernels::cpu
