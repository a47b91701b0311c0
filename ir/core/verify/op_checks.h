// Checks of one registered operation against its definition. Internal to ir/core.
#ifndef TENON_IR_CORE_VERIFY_OP_CHECKS_H_
#define TENON_IR_CORE_VERIFY_OP_CHECKS_H_

#include <string>

#include "ir/core/operation.h"

namespace tenon {

// Returns what is wrong with `op` by itself: counts, groups, types of operands and results,
// attributes, traits and, with `own_rules`, its own rules. Empty if nothing is wrong; then no
// memory is allocated unless a shape function runs.
std::string CheckOperation(Operation& op, bool own_rules);

// Empty if `value` fits the definition. Otherwise returns what it must be, such as "a 64-bit
// integer such as 3 : i64".
std::string CheckAttribute(const AttrDef& def, Attribute value);

// Runs the shape function of the operation, which must have one. Returns its error, or
// InvalidArgument "<op>: <message>" if it does not give one type for each result.
absl::Status RunShapeFunction(const InferContext& context, ResultTypes& results);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFY_OP_CHECKS_H_
