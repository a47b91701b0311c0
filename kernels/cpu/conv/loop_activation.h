// The activations that loops over vectors apply to sums while they are in registers.
#ifndef TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_
#define TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_

#include <cstdint>

#include "kernels/activation.h"

namespace tenon::kernels::cpu {

struct LoopActivation {
  enum class Kind : uint8_t {
    kClamp,        // to [a, b]: also no activation and ReLU
    kHardSigmoid,  // a x + b, clamped to [0, 1]
    kHardSwish,    // x times the hard sigmoid of 1/6 and 1/2
    kLeaky,        // a x for negative x
    kSigmoid,      // 1 / (1 + e^-x)
    kSilu,         // x times that
  };
  Kind kind;
  float a, b;
};

// How loops apply `activation`. What they leave out, `rest` says, is to be applied to their result.
struct SplitActivation {
  LoopActivation loop;
  Activation rest;
};
SplitActivation Split(const Activation& activation);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_
