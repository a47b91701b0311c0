// Applying sets of rules to a function; shared by the rule passes.
#ifndef TENON_TRANSFORMS_RULES_RULE_PHASE_H_
#define TENON_TRANSFORMS_RULES_RULE_PHASE_H_

#include <vector>

#include "drr/rewrite/driver.h"
#include "pass/pass.h"
#include "patterns/families.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

// Applies `rules` to a fixed point. Records hits and near misses in context.rule_log. Errors are
// those of drr::ApplyRules and drr::FindMisses.
absl::StatusOr<PassResult> ApplyAndLog(const drr::CompiledRules& rules, Operation* op,
                                       PassContext& context);

// Applies each family to a fixed point, in order. Rules of `given` (may be null) are applied before
// the first family. After each family they take turns with it until neither changes anything. So
// they see the model and what each family leaves, but not what a family makes and consumes in
// between. The error names rules of a family and of `given` that undo each other's results.
absl::StatusOr<PassResult> ApplyFamilies(const std::vector<const pattern::Family*>& families,
                                         const drr::CompiledRules* given, Operation* op,
                                         PassContext& context);

// Records in context.rule_log where rules nearly match: those of `given` (may be null) and of all
// families.
absl::Status FindAllMisses(const GivenRules* given, Operation* op, PassContext& context);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULES_RULE_PHASE_H_
