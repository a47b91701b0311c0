// Analysis of fuse-elementwise: elementwise operations and row ops of a block that can run as one.
#ifndef TENON_TRANSFORMS_GROUPS_ELEMENTWISE_GROUPS_H_
#define TENON_TRANSFORMS_GROUPS_ELEMENTWISE_GROUPS_H_

#include <array>
#include <string>
#include <vector>

#include "ir/base/pointwise.h"
#include "ir/core/block.h"

namespace tenon {

// Operations in the order of the block. All results have the shape of the group, or one element for
// each of its rows.
struct ElementwiseGroup {
  std::vector<Operation*> steps;
  // With row ops: the groups without them that can be replaced in the place of the whole.
  std::vector<std::vector<Operation*>> parts = {};
};

// Operations that one more, which reads them, did not join.
struct GroupMiss {
  std::vector<Operation*> steps;
  Operation* reader;
  Operation* at;  // what is in the way
  std::string reason;
};

// Returns the groups of two and more operations. Any or all of them can be replaced by one
// operation: nothing that a group reads depends on its results. `rows` allows row ops (row_ops.h).
// Requires a valid block. `misses`, if not null, receives elementwise operations that are kept
// apart although one reads the other.
std::vector<ElementwiseGroup> FindElementwiseGroups(Block& block, bool rows,
                                                    std::vector<GroupMiss>* misses = nullptr);

// Floats that one group makes of bytes, with a zero point and a scale, and another reads: the other
// gets those steps too, and reads the bytes, a quarter of the memory. Steps without users are
// erased, and groups of fewer than two steps left out. True if the block has changed; the groups
// can be replaced as before.
bool ReadBytesAgain(std::vector<ElementwiseGroup>& groups);

// Reads the parameters of a step from the attributes of `op`. False if one cannot stand in a body.
bool ReadStepParams(const Operation& op, PointwiseOp kind, std::array<double, 3>& params);

// True if the value is a constant of one element that a body can hold as a number. Its rank must
// not exceed `rank`.
bool IsNumber(Value value, int64_t rank, PointwiseConstant& number);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_GROUPS_ELEMENTWISE_GROUPS_H_
