// The start of every file of rules: the rule language and the pattern functions of all dialects.
#ifndef TENON_PATTERNS_PRELUDE_H_
#define TENON_PATTERNS_PRELUDE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "drr/rule/rule.h"
#include "drr/rule/words.h"
#include "patterns/facts/facts.h"
#include "patterns/families.h"
#include "patterns/ops.h"

// The namespace of rules. Ops of ten and nn need no qualification in it; ops of fused are written
// `fused::Linear`.
namespace tenon::pattern {
using namespace drr;  // NOLINT(google-build-using-namespace)
using namespace ten;  // NOLINT(google-build-using-namespace)
using namespace nn;   // NOLINT(google-build-using-namespace)
}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_PRELUDE_H_
