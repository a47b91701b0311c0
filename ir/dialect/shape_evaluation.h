// One step of ShapeData: the elements of an operation's result from those of its operands.
#ifndef TENON_IR_DIALECT_SHAPE_EVALUATION_H_
#define TENON_IR_DIALECT_SHAPE_EVALUATION_H_

#include <optional>

#include "ir/dialect/shape_data.h"

namespace tenon {

// Nothing if the result is no small integer or boolean tensor, or if nothing can be said about it.
// REQUIRES: one result.
std::optional<ShapeElements> EvaluateElements(const ShapeData& data, Operation& op);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_EVALUATION_H_
