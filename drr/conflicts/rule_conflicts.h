// Conflicts between rules of a set.
#ifndef TENON_DRR_CONFLICTS_RULE_CONFLICTS_H_
#define TENON_DRR_CONFLICTS_RULE_CONFLICTS_H_

#include <vector>

#include "absl/status/status.h"
#include "drr/compile/compiled.h"

namespace tenon::drr {

// Returns InvalidArgument for a rule that is never reached because an earlier one matches all its
// programs, and for rules whose rewriting never ends. Each finding is proved from the rules or
// shown by a program, which the message contains. Rules that match some programs in common are no
// conflict. `rules` are all rules of `set`.
absl::Status FindConflicts(const CompiledRules& set, const std::vector<const CompiledRule*>& rules,
                           Context& context);

}  // namespace tenon::drr

#endif  // TENON_DRR_CONFLICTS_RULE_CONFLICTS_H_
