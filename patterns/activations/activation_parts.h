// Patterns shared by the rules of activation functions. Private to patterns.
#ifndef TENON_PATTERNS_ACTIVATIONS_ACTIVATION_PARTS_H_
#define TENON_PATTERNS_ACTIVATIONS_ACTIVATION_PARTS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

// x * (1 + f) / 2, in every order of multiplication.
Val HalfProduct(const Val& x, const Val& f);
// The same from x and the half that is left out: x - x * (1 - f) / 2. Where x is infinite, this is
// NaN: a rule needs IgnoresInfinity.
Val HalfProductOfRest(const Val& x, const Val& f);

// The parts of the family `activation` that have files of their own.
RuleSet GeluRules();
RuleSet SoftplusRules();
RuleSet ActivationCastRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_ACTIVATIONS_ACTIVATION_PARTS_H_
