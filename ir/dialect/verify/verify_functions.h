// Verify functions (VerifyFn in ir/core/context/op_info.h). They emit nothing; the verifier adds
// the location to their message.
#ifndef TENON_IR_DIALECT_VERIFY_VERIFY_FUNCTIONS_H_
#define TENON_IR_DIALECT_VERIFY_VERIFY_FUNCTIONS_H_

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// True if a value of type `from` may be passed where `to` is declared. Equal types may. So may
// tensors of one element type whose ranks and constant extents do not contradict each other.
bool CompatibleTypes(Type from, Type to);

// func
absl::Status VerifyFunc(Operation& op);
absl::Status VerifyReturn(Operation& op);
absl::Status VerifyCall(Operation& op);
// Compares the arguments and results of a call, of any dialect, with the type of the function.
absl::Status CheckCall(const Operation& call, const Operation& function);

// cf
absl::Status VerifyCondBr(Operation& op);

// core
absl::Status VerifyGetParameter(Operation& op);

// ctl
absl::Status VerifyIf(Operation& op);
absl::Status VerifyFor(Operation& op);
absl::Status VerifyWhile(Operation& op);
absl::Status VerifyCondition(Operation& op);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_VERIFY_VERIFY_FUNCTIONS_H_
