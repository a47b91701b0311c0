// Checks of the definitions that come with a dialect or a file. Internal to ir/core/context.
#ifndef TENON_IR_CORE_CONTEXT_DEFINITION_CHECKS_H_
#define TENON_IR_CORE_CONTEXT_DEFINITION_CHECKS_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

// Behind the name that is none.
inline constexpr std::string_view kIdentifierHint =
    "(expected a letter or '_', then letters, digits, '_', '$' and '.')";

// True for identifiers joined by dots.
bool IsDottedName(std::string_view name);

// InvalidArgument if the definition of an op of `dialect` is wrong.
absl::Status CheckDefinition(Context& context, const Dialect& dialect, const OpDef& def);

// Adds types or attributes of a dialect to `to`; `what` is "type" or "attribute". InvalidArgument
// for a wrong definition, AlreadyExists for a name that `to` has.
absl::Status AddDefs(Context& context, const Dialect& dialect, const char* what,
                     const std::vector<ParametricDef>& defs, DialectDefs& to);

// Adds an op that CheckDefinition accepts.
void AddOp(OpDef def, Context& context);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_DEFINITION_CHECKS_H_
