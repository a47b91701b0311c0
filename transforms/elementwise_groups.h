// Which elementwise operations of a block may run as one: the analysis of fuse-elementwise.
#ifndef TENON_TRANSFORMS_ELEMENTWISE_GROUPS_H_
#define TENON_TRANSFORMS_ELEMENTWISE_GROUPS_H_

#include <array>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/pointwise.h"

namespace tenon {

// Steps in the order of the block. The results of all have the shape of the group.
struct ElementwiseGroup {
  std::vector<Operation*> steps;
};

// The groups of two steps and more. Any of them may be replaced by one operation, and all of them:
// nothing that a group reads then depends on what it makes. REQUIRES: the block is valid.
std::vector<ElementwiseGroup> FindElementwiseGroups(Block& block);

// The parameters of a step from the op's attributes; false if one has no place in a body.
bool ReadStepParams(const Operation& op, PointwiseOp kind, std::array<double, 3>& params);

// Is the value a constant of one element that becomes a number in a body? Its rank must not add
// axes.
bool IsNumber(Value value, int64_t rank, PointwiseConstant& number);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_ELEMENTWISE_GROUPS_H_
