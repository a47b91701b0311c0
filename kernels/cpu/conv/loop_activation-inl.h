// LoopActivation on vectors.
#ifndef TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_
#define TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_

#include "kernels/cpu/conv/loop_activation.h"
#include "kernels/cpu/conv/vector-inl.h"

namespace tenon::kernels::cpu {
namespace {

template <LoopActivation::Kind kKind>
inline Vec Activated(Vec x, Vec a, Vec b) {
  using Kind = LoopActivation::Kind;
  if constexpr (kKind == Kind::kClamp) {
    return AtMost(AtLeast(x, a), b);
  } else if constexpr (kKind == Kind::kLeaky) {
    return x < Vec{} ? a * x : x;
  } else {
    const Vec y = AtMost(AtLeast(Fma(a, x, b), Vec{}), Set(1));
    return kKind == Kind::kHardSwish ? x * y : y;
  }
}

// Calls f(activate), activate a function of a vector, once for the kind at hand.
template <typename F>
inline void WithActivation(const LoopActivation& activation, F f) {
  using Kind = LoopActivation::Kind;
  const Vec a = Set(activation.a), b = Set(activation.b);
  switch (activation.kind) {
    case Kind::kClamp:
      return f([=](Vec x) { return Activated<Kind::kClamp>(x, a, b); });
    case Kind::kHardSigmoid:
      return f([=](Vec x) { return Activated<Kind::kHardSigmoid>(x, a, b); });
    case Kind::kHardSwish:
      return f([=](Vec x) { return Activated<Kind::kHardSwish>(x, a, b); });
    case Kind::kLeaky:
      return f([=](Vec x) { return Activated<Kind::kLeaky>(x, a, b); });
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_INL_H_
