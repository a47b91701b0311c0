// How thoroughly the tests check rules.
#ifndef TENON_TESTS_RULES_THOROUGHNESS_H_
#define TENON_TESTS_RULES_THOROUGHNESS_H_

#include "drr/check/check.h"

namespace tenon::drr {

// Sanitizers look for mistakes of the check itself and take ten times as long: there a few programs
// of each rule do. The verdicts over all of them are those of builds without sanitizers.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kWholeCheck = false;
#else
inline constexpr bool kWholeCheck = true;
#endif

// The defaults of the check, or what does under sanitizers.
inline CheckOptions TestedThoroughness() {
  CheckOptions options;
  if (!kWholeCheck) options.matches = 3, options.edges = 96;
  return options;
}

}  // namespace tenon::drr

#endif  // TENON_TESTS_RULES_THOROUGHNESS_H_
