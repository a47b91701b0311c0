// Operations, types and attributes that files declare while a Context is in use, beside those of
// registered dialects.
#ifndef TENON_IR_CORE_CONTEXT_DECLARED_OPS_H_
#define TENON_IR_CORE_CONTEXT_DECLARED_OPS_H_

#include "absl/status/status.h"
#include "ir/core/context/context.h"

namespace tenon {

// Adds one op. Its dialect, the name before the first dot, is made with the first op; dialects of
// RegisterDialect take no further ops. A second equal definition changes nothing, so that several
// files may declare one op. Not thread-safe, except for a second equal definition.
//
// AlreadyExists if the dialect belongs to RegisterDialect, if the name or its hash is taken by
// another definition, or if the Context has made an unregistered op of this name. InvalidArgument
// as for RegisterDialect. On error nothing is added.
absl::Status DeclareOp(OpDef def, Context& context);

// Adds a type under the same rules. AlreadyExists also if another definition has
// the name. InvalidArgument for a wrong name or parameter.
absl::Status DeclareType(ParametricDef def, Context& context);
// The same for an attribute.
absl::Status DeclareAttribute(ParametricDef def, Context& context);

// True for an op that DeclareOp has added.
bool IsDeclared(const OpInfo& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_DECLARED_OPS_H_
