// LoopActivation on vectors.
#ifndef TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_
#define TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_

#include "kernels/cpu/conv/loop_activation.h"
#include "kernels/cpu/conv/vector-inl.h"
// It needs the struct V.
#include "kernels/cpu/gemm/activation-inl.h"

namespace tenon::kernels::cpu {
namespace {

template <LoopActivation::Kind kKind>
inline Vec InLoop(Vec x, Vec a, Vec b) {
  using Kind = LoopActivation::Kind;
  if constexpr (kKind == Kind::kClamp) return AtMost(AtLeast(x, a), b);
  if constexpr (kKind == Kind::kLeaky) return Activated<ActivationKind::kLeakyRelu>(x, a, b);
  if constexpr (kKind == Kind::kSigmoid) return Activated<ActivationKind::kSigmoid>(x, a, b);
  if constexpr (kKind == Kind::kSilu) return Activated<ActivationKind::kSilu>(x, a, b);
  if constexpr (kKind == Kind::kHardSigmoid) {
    return Activated<ActivationKind::kHardSigmoid>(x, a, b);
  }
  if constexpr (kKind == Kind::kHardSwish) return Activated<ActivationKind::kHardSwish>(x, a, b);
}

// Calls f(activate), activate a function of a vector, once for the kind at hand.
template <typename F>
inline void WithActivation(const LoopActivation& activation, F f) {
  using Kind = LoopActivation::Kind;
  const Vec a = Set(activation.a), b = Set(activation.b);
  switch (activation.kind) {
    case Kind::kClamp:
      return f([=](Vec x) { return InLoop<Kind::kClamp>(x, a, b); });
    case Kind::kHardSigmoid:
      return f([=](Vec x) { return InLoop<Kind::kHardSigmoid>(x, a, b); });
    case Kind::kHardSwish:
      return f([=](Vec x) { return InLoop<Kind::kHardSwish>(x, a, b); });
    case Kind::kLeaky:
      return f([=](Vec x) { return InLoop<Kind::kLeaky>(x, a, b); });
    case Kind::kSigmoid:
      return f([=](Vec x) { return InLoop<Kind::kSigmoid>(x, a, b); });
    case Kind::kSilu:
      return f([=](Vec x) { return InLoop<Kind::kSilu>(x, a, b); });
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_
