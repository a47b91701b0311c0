// Activations of 16 bits that are computed in f32 and rounded again. Kernels of 16 bits compute
// activations in f32 and round once, so that the casts give the same numbers.
#include "patterns/activations/activation_parts.h"
#include "patterns/activations/activations.h"

namespace tenon::pattern {
namespace {

Rule ActivationInF32(std::string_view type, DType narrow, const FusedActivation& activation,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x");
  Attr<float> alpha("alpha"), beta("beta");
  Val wide = Cast(x, {.to = DType::kF32});
  return Rule(std::string(type) + "-in-f32-" + std::string(activation.name), file, line)
      .Summary("an activation of numbers that are widened and rounded again")
      .Match(Cast(activation.matched(wide, alpha, beta), {.to = narrow}))
      .Where(DTypeIs(x, narrow))
      .Replace(activation.made(x, alpha, beta));
}

}  // namespace

RuleSet ActivationCastRules() {
  RuleSet rules;
  for (const FusedActivation& activation : FusedActivations()) {
    rules.push_back(ActivationInF32("f16", DType::kF16, activation));
    rules.push_back(ActivationInF32("bf16", DType::kBF16, activation));
  }
  return rules;
}

}  // namespace tenon::pattern
