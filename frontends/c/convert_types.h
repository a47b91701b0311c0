// Element types and lists of handles from C. Internal.
#ifndef TENON_FRONTENDS_C_CONVERT_TYPES_H_
#define TENON_FRONTENDS_C_CONVERT_TYPES_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "frontends/c/types.h"
#include "ir/base/dtype.h"
#include "ir/core/type.h"

namespace tenon::c {

// InvalidArgument for a number that is no element type.
absl::Status ReadDType(TenonDType dtype, DType& out);
// Appends the types, all of `context`. `what` names the argument.
absl::Status ReadTypes(const TenonType* types, size_t count, const Context& context,
                       std::string_view what, std::vector<Type>& out);

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_CONVERT_TYPES_H_
