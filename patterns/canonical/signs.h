// Rules about signs. Private to patterns.
#ifndef TENON_PATTERNS_CANONICAL_SIGNS_H_
#define TENON_PATTERNS_CANONICAL_SIGNS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

RuleSet SignRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_CANONICAL_SIGNS_H_
