// Evaluation of one op for ShapeData.
#ifndef TENON_IR_DIALECT_SHAPES_SHAPE_EVALUATION_H_
#define TENON_IR_DIALECT_SHAPES_SHAPE_EVALUATION_H_

#include <optional>

#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// Returns the elements of the result of `op`, computed from those of its operands in `data`.
// Returns nullopt if nothing is known, or if the result is too large or of another element type.
// Requires an op with one result.
std::optional<ShapeElements> EvaluateElements(const ShapeData& data, Operation& op);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_SHAPE_EVALUATION_H_
