// How thoroughly the tests check rules.
#ifndef TENON_TESTS_RULES_THOROUGHNESS_H_
#define TENON_TESTS_RULES_THOROUGHNESS_H_

#include "drr/check/check.h"
#include "tests/sanitizers.h"

namespace tenon::drr {

// Whether the verdicts are over all programs of a rule. Under sanitizers a few do.
inline constexpr bool kWholeCheck = !kUnderSanitizers;

// The defaults of the check, or what does under sanitizers.
inline CheckOptions TestedThoroughness() {
  CheckOptions options;
  if (!kWholeCheck) options.matches = 3, options.edges = 96;
  return options;
}

}  // namespace tenon::drr

#endif  // TENON_TESTS_RULES_THOROUGHNESS_H_
