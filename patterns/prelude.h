// What every file of rules starts with: the rule language and the pattern functions of all
// dialects.
#ifndef TENON_PATTERNS_PRELUDE_H_
#define TENON_PATTERNS_PRELUDE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "drr/rule.h"
#include "patterns/families.h"
#include "patterns/ops.h"

// Rules are written in this namespace: ops of ten and nn by their bare names, those of fused with
// the dialect's.
namespace tenon::pattern {
using namespace drr;  // NOLINT(google-build-using-namespace)
using namespace ten;  // NOLINT(google-build-using-namespace)
using namespace nn;   // NOLINT(google-build-using-namespace)
}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_PRELUDE_H_
