// Checks of one registered operation against its definition. Internal to ir/core.
#ifndef TENON_IR_CORE_OP_CHECKS_H_
#define TENON_IR_CORE_OP_CHECKS_H_

#include <string>

#include "ir/core/operation.h"

namespace tenon {

// What is wrong with the op by itself: arity, segments, kinds of operands, results and attributes,
// traits, result types, its own rules. Empty if nothing is; no allocation then for ops without a
// shape function to run.
std::string CheckOperation(Operation& op);

// Does the attribute fit? Empty if so, else what it should be ("a 64-bit integer such as 3 : i64").
std::string CheckAttribute(const AttrDef& def, Attribute value);

// Runs the operation's shape function, which there is. An error "<op>: <message>" if it refuses, or
// gives other than one type for each result.
absl::Status RunShapeFunction(const InferContext& context, ResultTypes& results);

}  // namespace tenon

#endif  // TENON_IR_CORE_OP_CHECKS_H_
