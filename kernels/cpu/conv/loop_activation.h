// The activations that loops over vectors apply to sums while they are in registers.
#ifndef TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_
#define TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_

#include <cstdint>

#include "kernels/activation.h"

namespace tenon::kernels::cpu {

// An activation on vectors.
struct LoopActivation {
  // The function.
  enum class Kind : uint8_t {
    kClamp,        // x clamped to [a, b]; also for ReLU and for no activation
    kHardSigmoid,  // a x + b, clamped to [0, 1]
    kHardSwish,    // x times the hard sigmoid of 1/6 and 1/2
    kLeaky,        // a x for negative x
    kSigmoid,      // 1 / (1 + e^-x)
    kSilu,         // x / (1 + e^-x)
  };
  Kind kind;   // the function
  float a, b;  // its numbers
};

// An activation in two steps.
struct SplitActivation {
  LoopActivation loop;  // applied by the loops
  Activation rest;      // to be applied to the result of the loops
};
// Returns the two steps of `activation`.
SplitActivation Split(const Activation& activation);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_LOOP_ACTIVATION_H_
