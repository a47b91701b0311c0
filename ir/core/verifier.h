// Checks that IR is well formed.
#ifndef TENON_IR_CORE_VERIFIER_H_
#define TENON_IR_CORE_VERIFIER_H_

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// Levels of regions in each other. Valid IR has no more, so that what walks it may recurse.

// Checks `op` and everything below it: operand and attribute kinds, traits, types against shape
// functions' dtype and rank, terminators and successors, symbol uniqueness, use lists, dominance,
// isolation, nesting, and each op's own rules. Emits a diagnostic per defect (at most 20) and
// returns the first as Status.
absl::Status Verify(Operation* op);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFIER_H_
