// A number that tells whether a pass has changed IR. Internal to pass.
#ifndef TENON_PASS_IR_FINGERPRINT_H_
#define TENON_PASS_IR_FINGERPRINT_H_

#include <cstdint>

#include "ir/core/operation.h"

namespace tenon {

// Returns a hash of `op` and of everything in it: which operations there are, in which order, with
// which operands, types, attributes, successors and locations. Operations and values count with
// their addresses, so it tells changes within one run of a program and nothing else. An operation
// that is replaced by an equal one is a change. Takes some nanoseconds for each operation.
uint64_t IrFingerprint(const Operation& op);

}  // namespace tenon

#endif  // TENON_PASS_IR_FINGERPRINT_H_
