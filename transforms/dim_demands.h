// What an operation demands of the extents of its operands: it fails where they are otherwise.
#ifndef TENON_TRANSFORMS_DIM_DEMANDS_H_
#define TENON_TRANSFORMS_DIM_DEMANDS_H_

#include <functional>

#include "ir/core/operation.h"
#include "ir/dialect/shape_data.h"

namespace tenon {

struct DimDemand {
  enum class Kind : uint8_t {
    kEqual,       // a == b
    kBroadcast,   // a == b, or one of them is 1
    kNonNegative  // a >= 0
  };
  Kind kind;
  DimExpr a, b;  // known; b is null for kNonNegative
};

using DemandSink = std::function<void(const DimDemand&)>;

// Demands that hold in every run in which `op` succeeds.
void ForEachDemand(Operation& op, const DemandSink& sink);

// Demands of the values of an index computed from extents, which hold where `op` has anything to
// look up. `data` knows the operation's function.
void ForEachIndexDemand(Operation& op, const ShapeData& data, const DemandSink& sink);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_DIM_DEMANDS_H_
