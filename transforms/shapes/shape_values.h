// Integer tensors whose elements are dimension expressions.
#ifndef TENON_TRANSFORMS_SHAPES_SHAPE_VALUES_H_
#define TENON_TRANSFORMS_SHAPES_SHAPE_VALUES_H_

#include "absl/status/statusor.h"
#include "ir/core/builder.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// Returns a value of `type` with these elements: a core.constant if all are numbers, otherwise a
// core.dims with the reshape and cast that `type` needs.
absl::StatusOr<Value> MakeShapeValue(OpBuilder& builder, Location location, Type type,
                                     const ShapeElements& elements);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_SHAPE_VALUES_H_
