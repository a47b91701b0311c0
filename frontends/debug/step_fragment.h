// The part of a program that one step of optimization changes.
#ifndef TENON_FRONTENDS_DEBUG_STEP_FRAGMENT_H_
#define TENON_FRONTENDS_DEBUG_STEP_FRAGMENT_H_

#include <string>
#include <vector>

#include "ir/core/operation.h"
#include "pass/rewrite_step.h"

namespace tenon {

// Returns "rule", "fold" or "pass".
const char* KindName(RewriteStep::Kind kind);

// The nodes of the model from which the matched operations come, that of the anchor first.
std::vector<std::string> NodesOf(const RewriteStep& step);

// Returns a module whose function @main computes what the step replaces, by copies of the matched
// operations. Null if nothing outside of them uses their results. Call it while the step begins.
OwnedOp MakeStepFragment(const RewriteStep& step);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_STEP_FRAGMENT_H_
