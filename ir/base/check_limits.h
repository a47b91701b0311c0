// Limits that a caller gives.
#ifndef TENON_IR_BASE_CHECK_LIMITS_H_
#define TENON_IR_BASE_CHECK_LIMITS_H_

#include "absl/status/status.h"
#include "ir/base/limits.h"

namespace tenon {

// InvalidArgument, with the field and the range, if a limit is out of range.
absl::Status CheckLimits(const Limits& limits);

}  // namespace tenon

#endif  // TENON_IR_BASE_CHECK_LIMITS_H_
