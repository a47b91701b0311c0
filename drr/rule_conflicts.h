// Rules that stand in each other's way, or in their own.
#ifndef TENON_DRR_RULE_CONFLICTS_H_
#define TENON_DRR_RULE_CONFLICTS_H_

#include <vector>

#include "absl/status/status.h"
#include "drr/compiled.h"

namespace tenon::drr {

// Rules that are never reached, since one before them matches whatever they match, and rules whose
// rewriting never ends. Both are proved from the rules or shown by a program, which the error has
// as text; rules that match some programs in common are in order. `rules`: all of `set`.
absl::Status FindConflicts(const CompiledRules& set, const std::vector<const CompiledRule*>& rules,
                           Context& context);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_CONFLICTS_H_
