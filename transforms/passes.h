// The passes of this folder.
#ifndef TENON_TRANSFORMS_PASSES_H_
#define TENON_TRANSFORMS_PASSES_H_

#include <vector>

#include "drr/rule/rule.h"
#include "pass/pass.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

// One function per line of passes.def, defined in the file of the pass.
#define TENON_PASS(id, name, summary) PassInfo id##PassInfo();
#include "transforms/passes.def"
#undef TENON_PASS

// Registers all of them. `fuse` and `final-rules` apply `rules` in addition to, and before, the
// files of PassContext::rule_files. Errors are those of PassRegistry::Register, such as
// AlreadyExists.
absl::Status RegisterTransformPasses(PassRegistry& registry,
                                     const std::vector<drr::Rule>& rules = {});

PassInfo FusePassInfo(HostRules rules);        // `fuse` with the rules of a host
PassInfo FinalRulesPassInfo(HostRules rules);  // `final-rules` with the rules of a host

}  // namespace tenon

#endif  // TENON_TRANSFORMS_PASSES_H_
