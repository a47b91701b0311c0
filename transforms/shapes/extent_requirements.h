// Demands of operations on extents of their operands: an operation fails if they do not hold.
#ifndef TENON_TRANSFORMS_SHAPES_EXTENT_REQUIREMENTS_H_
#define TENON_TRANSFORMS_SHAPES_EXTENT_REQUIREMENTS_H_

#include <functional>

#include "ir/core/operation.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

struct DimDemand {
  enum class Kind : uint8_t {
    kEqual,       // a == b
    kBroadcast,   // a == b, or one of them is 1
    kNonNegative  // a >= 0
  };
  Kind kind;
  DimExpr a, b;  // not Unknown; b is null for kNonNegative
};

using DemandSink = std::function<void(const DimDemand&)>;

// Passes to `sink` the demands that hold in every run in which `op` succeeds.
void ForEachDemand(Operation& op, const DemandSink& sink);

// Passes to `sink` the demands on an index that is computed from extents. They hold where `op`
// looks up at least one element. `data` covers the function of `op`.
void ForEachIndexDemand(Operation& op, const ShapeData& data, const DemandSink& sink);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_EXTENT_REQUIREMENTS_H_
