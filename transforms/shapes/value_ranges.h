// Ranges of the elements of integer tensors.
#ifndef TENON_TRANSFORMS_SHAPES_VALUE_RANGES_H_
#define TENON_TRANSFORMS_SHAPES_VALUE_RANGES_H_

#include <optional>

#include "ir/core/value.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// Both ends are elements, if there are any, so that an index out of its table is certain. Neither
// is Unknown.
struct ValueRange {
  DimExpr least, greatest;
};

// Returns nullopt if the range is not certain. `data` covers the function of `value`.
std::optional<ValueRange> RangeOfValues(Value value, const ShapeData& data);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_VALUE_RANGES_H_
