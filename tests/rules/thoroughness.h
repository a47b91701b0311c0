// How thoroughly the tests check rules.
#ifndef TENON_TESTS_RULES_THOROUGHNESS_H_
#define TENON_TESTS_RULES_THOROUGHNESS_H_

#include "drr/check/check.h"
#include "tests/sanitizers.h"

namespace tenon::drr {

// Whether the verdicts are over all programs of a rule. Under sanitizers a few do.
inline constexpr bool kWholeCheck = !kUnderSanitizers;

// The defaults of the check. Under sanitizers one program of each alternative and of two element
// types, with fewer numbers at the edges.
inline CheckOptions TestedThoroughness() {
  CheckOptions options;
  if (kWholeCheck) return options;
  options.matches = 1;
  options.edges = 32;
  options.dtypes = {DType::kF32, DType::kI64};
  return options;
}

}  // namespace tenon::drr

#endif  // TENON_TESTS_RULES_THOROUGHNESS_H_
