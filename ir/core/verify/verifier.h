// Checking that IR is well-formed.
#ifndef TENON_IR_CORE_VERIFY_VERIFIER_H_
#define TENON_IR_CORE_VERIFY_VERIFIER_H_

#include <string>

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// Checks `op` and everything in it: operands, attributes, traits and result types, terminators and
// successors, symbols, dominance, isolation, nesting, and each op's own rules. Result types must
// agree with the shape functions in element type, rank and constant dimensions.
//
// Emits a diagnostic for each defect, at most 20, and returns the first one as InvalidArgument.
// Debug builds also check use lists, and abort if these are broken.
absl::Status Verify(Operation* op);
// The same for an op of which others may be changed by other threads. Reads nothing outside of
// `op`: leaves out the own rules of ops with a symbol reference among their inherent attributes.
// Sets `left_out` to true if there are such ops.
absl::Status VerifyWithin(Operation* op, bool& left_out);

// Checks that operands and results have one element type if a trait of `op` asks for it. Returns a
// message without a location, or an empty string.
std::string CheckElementTypes(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFY_VERIFIER_H_
