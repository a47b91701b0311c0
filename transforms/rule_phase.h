// Applies families of rules one after the other: what the rule passes share.
#ifndef TENON_TRANSFORMS_RULE_PHASE_H_
#define TENON_TRANSFORMS_RULE_PHASE_H_

#include <string>
#include <vector>

#include "drr/driver.h"
#include "pass/pass.h"
#include "patterns/families.h"

namespace tenon {

// One run to a fixed point for each family, in order. Rules are compiled on first use for the
// Context of the IR.
class RulePhase {
 public:
  explicit RulePhase(std::vector<const pattern::Family*> families)
      : families_(std::move(families)) {}
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context);

 private:
  std::vector<const pattern::Family*> families_;
  std::vector<drr::CompiledRules> compiled_;
  const Context* compiled_for_ = nullptr;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULE_PHASE_H_
