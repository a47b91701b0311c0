// Between which numbers the elements of an integer tensor lie.
#ifndef TENON_TRANSFORMS_VALUE_RANGES_H_
#define TENON_TRANSFORMS_VALUE_RANGES_H_

#include <optional>

#include "ir/core/value.h"
#include "ir/dialect/shape_data.h"

namespace tenon {

// Both ends are among the elements, if there are any: an index beyond its table is then certain,
// not possible. Known.
struct ValueRange {
  DimExpr least, greatest;
};

// nullopt where that is not certain. `data` knows the function of `value`.
std::optional<ValueRange> RangeOfValues(Value value, const ShapeData& data);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_VALUE_RANGES_H_
