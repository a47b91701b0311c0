// Applies rules to a function, one set after the other: what the rule passes share.
#ifndef TENON_TRANSFORMS_RULE_PHASE_H_
#define TENON_TRANSFORMS_RULE_PHASE_H_

#include <vector>

#include "drr/driver.h"
#include "pass/pass.h"
#include "patterns/families.h"
#include "transforms/rule_cache.h"

namespace tenon {

// To a fixed point. Tells context.rule_log where rules fired and nearly did.
absl::StatusOr<PassResult> ApplyAndLog(const drr::CompiledRules& rules, Operation* op,
                                       PassContext& context);

// One run to a fixed point for each family, in order. With `given` these rules are applied before
// the first, and behind each family in turn with it, until neither changes anything: they see what
// the model has and what every family leaves, never what one family makes and uses up. The error
// names the rules that a family and `given` keep applying to each other's results.
absl::StatusOr<PassResult> ApplyFamilies(const std::vector<const pattern::Family*>& families,
                                         const drr::CompiledRules* given, Operation* op,
                                         PassContext& context);

// Only says to context.rule_log where rules nearly match: those of `given` (which may be null) and
// of all families.
absl::Status FindAllMisses(const GivenRules* given, Operation* op, PassContext& context);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULE_PHASE_H_
