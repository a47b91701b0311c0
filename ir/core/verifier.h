// Checks that IR is well formed.
#ifndef TENON_IR_CORE_VERIFIER_H_
#define TENON_IR_CORE_VERIFIER_H_

#include <string>

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// Checks `op` and everything below it: operand and attribute kinds, traits, types against shape
// functions' dtype and rank, terminators and successors, symbol uniqueness, use lists, dominance,
// isolation, nesting, and each op's own rules. Emits a diagnostic per defect (at most 20) and
// returns the first as Status.
absl::Status Verify(Operation* op);

// What is wrong with the element types of the operands and results of `op`, where its traits want
// one for all; empty if nothing is.
std::string CheckElementTypes(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFIER_H_
