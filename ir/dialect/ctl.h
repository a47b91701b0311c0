// Facts about the ctl ops: what their regions carry, yield and capture.
#ifndef TENON_IR_DIALECT_CTL_H_
#define TENON_IR_DIALECT_CTL_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/operation.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// True for ctl.if, ctl.for and ctl.while, which run their regions.
bool IsStructuredControl(const Operation& op);

// A loop result that stacks one value per iteration along a new axis.
struct LoopScan {
  // The position of the new axis.
  int64_t axis = 0;
  // Whether the last iteration comes first.
  bool reverse = false;
};

// The parts of ctl.for and ctl.while. Their results are the carried values, then the stacked ones.
struct LoopParts {
  unsigned first_init = 0;  // the operand that holds the first initial value
  unsigned num_carried = 0;
  std::vector<LoopScan> scans;
};
// Requires a ctl.for or ctl.while.
LoopParts PartsOfLoop(const Operation& loop);

// Returns the type of `count` values of type `element` stacked along the new axis `axis`. It is
// unranked if `element` is, or if the axis is out of range. Null if `element` is no tensor.
Type StackedType(Type element, DimExpr count, int64_t axis);

// Returns the type of a value that has one type or the other: extents that differ are Unknown. Null
// if the types differ in more than extents.
Type JoinTypes(Type a, Type b);

// Returns the result types of a ctl op, as they follow from what its regions yield. For ctl.if both
// branches must agree; for loops the body must keep the type of the initial value. Extents that do
// not follow are Unknown, and so are those with symbols that only the regions know. A type is null
// if nothing follows.
//
// `count` is the number of iterations of a ctl.for; that of a ctl.while is Unknown. Requires that
// each region ends with its terminator.
std::vector<Type> ControlResultTypes(Operation& op, DimExpr count);

// Returns the number of iterations of a ctl.for; Unknown if it does not follow from `data`.
DimExpr RunsOfLoop(const Operation& loop, const ShapeData& data);

// Returns the values from outside that ops in the regions of `op` use, in order of their first use.
std::vector<Value> CapturedValues(Operation& op);

// Values that an op captures, by the op.
using CapturesByOp = absl::flat_hash_map<const Operation*, std::vector<Value>>;
// Returns what the ops of `block` capture of the results of its ops, in the order of the block. Ops
// that capture none are missing. Takes time in the number of uses, whatever lies in the regions.
CapturesByOp CapturedInBlock(Block& block);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_CTL_H_
