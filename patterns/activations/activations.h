// The activations that fused ops can apply, and a pattern for any of them.
#ifndef TENON_PATTERNS_ACTIVATIONS_ACTIVATIONS_H_
#define TENON_PATTERNS_ACTIVATIONS_ACTIVATIONS_H_

#include <span>

#include "patterns/prelude.h"

namespace tenon::pattern {

// An activation that fused ops can apply to what they compute.
struct FusedActivation {
  const char* name;  // as the attribute `activation` has it
  int parameters;    // how many of `alpha` and `beta` it has
  // The operation in a source graph. Binds the parameters that there are.
  Val (*matched)(const Val& x, const Attr<float>& alpha, const Attr<float>& beta);
  // The operation in a result graph, with bound parameters.
  Val (*made)(const Val& x, const Attr<float>& alpha, const Attr<float>& beta);
};

// All of them, but for `none`.
std::span<const FusedActivation> FusedActivations();

// Matches any activation of `x` that the fused ops support. Binds its name as the attribute
// `activation` has it, and its two parameters (0 if it has none).
Val AnyActivation(const Val& x, const Attr<std::string>& name, const Attr<float>& alpha,
                  const Attr<float>& beta);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_ACTIVATIONS_ACTIVATIONS_H_
