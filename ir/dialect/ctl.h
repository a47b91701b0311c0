// How values flow into, around and out of the regions of the ctl ops.
#ifndef TENON_IR_DIALECT_CTL_H_
#define TENON_IR_DIALECT_CTL_H_

#include <cstdint>
#include <vector>

#include "ir/core/operation.h"
#include "ir/dialect/shape_data.h"

namespace tenon {

// Does it run its regions: ctl.if, ctl.for, ctl.while?
bool IsStructuredControl(const Operation& op);

// One result of a loop that stacks what the runs of its body yielded.
struct LoopScan {
  int64_t axis = 0;
  bool reverse = false;
};

// What ctl.for and ctl.while carry and stack: results are the carried values, then the stacked
// ones.
struct LoopParts {
  unsigned first_init = 0;  // operand number
  unsigned num_carried = 0;
  std::vector<LoopScan> scans;
};
// REQUIRES: ctl.for or ctl.while.
LoopParts PartsOfLoop(const Operation& loop);

// The type of values of type `element` stacked `count` times along a new axis; an unranked tensor
// if there is no such axis or the rank is not known; null for what is no tensor.
Type StackedType(Type element, DimExpr count, int64_t axis);

// What holds for a value that is of one type or of the other: extents that differ are unknown. Null
// if the types differ in more than extents.
Type JoinTypes(Type a, Type b);

// Types of the results of a ctl op by what its regions yield: for ctl.if what both branches agree
// on, for loops the initial value where the body keeps it. Extents that do not follow, and those
// that mean something inside of the op only, are unknown; so is the number of runs of a ctl.while.
// A type is null if nothing follows. `count`: the number of runs of a ctl.for. REQUIRES:
// terminators.
std::vector<Type> ControlResultTypes(Operation& op, DimExpr count);

// The number of runs of a ctl.for as far as its bounds are known.
DimExpr RunsOfLoop(const Operation& loop, const ShapeData& data);

// Values from around an op that the ops in its regions read, in the order of the first use.
std::vector<Value> CapturedValues(Operation& op);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_CTL_H_
