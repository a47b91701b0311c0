// Making operations from the names that C gives. Internal.
#ifndef TENON_FRONTENDS_C_CREATE_H_
#define TENON_FRONTENDS_C_CREATE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/c/build.h"
#include "ir/core/operation.h"

namespace tenon::c {

// See tenonOperationCreate.
absl::StatusOr<Operation*> CreateOperation(Context& context, const TenonOperationState& state);

// InvalidArgument if the definition has an attribute `name` for which `value` does not fit.
absl::Status CheckSlot(const OpInfo& info, std::string_view name, Attribute value);

// Checks that `op` can stand before `before`: an operation of the same context, in a block outside
// of `op`.
absl::Status CheckPlace(const Operation& op, const Operation* before);

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_CREATE_H_
