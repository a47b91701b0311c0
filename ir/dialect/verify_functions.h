// Checks of operations beyond arity, kinds, traits and shape functions. They emit nothing: the
// verifier adds the location to the message.
#ifndef TENON_IR_DIALECT_VERIFY_FUNCTIONS_H_
#define TENON_IR_DIALECT_VERIFY_FUNCTIONS_H_

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// May a value of type `from` be passed where `to` is declared? Equal types may; so may tensors of
// one element type, and of one rank unless either is unranked, whose extents do not contradict each
// other.
bool CompatibleTypes(Type from, Type to);

// func
absl::Status VerifyFunc(Operation& op);
absl::Status VerifyReturn(Operation& op);
absl::Status VerifyCall(Operation& op);

// ctl
absl::Status VerifyIf(Operation& op);
absl::Status VerifyFor(Operation& op);
absl::Status VerifyWhile(Operation& op);
absl::Status VerifyCondition(Operation& op);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_VERIFY_FUNCTIONS_H_
