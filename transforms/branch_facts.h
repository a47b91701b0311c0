// What a branch of ctl.if demands of the extents of the values that it reads from around it.
#ifndef TENON_TRANSFORMS_BRANCH_FACTS_H_
#define TENON_TRANSFORMS_BRANCH_FACTS_H_

#include <cstdint>
#include <span>
#include <string>

#include "ir/core/block.h"
#include "ir/dialect/shape_data.h"

namespace tenon {

struct RefinedBranch {
  bool changed = false;
  int64_t captures = 0;  // values that are read through a reshape now
};

// What a branch demands of extents that inputs bind holds in that branch only, so the types of
// what it reads from outside stay. It reads a reshape instead, which fails where the demand does.
// A demand that no such reshape checks is not believed: what the branch computes from it would be
// wrong before the operation that demands it runs, or where none is left.
// `kept`: symbols that stay as they are.
RefinedBranch RefineBranch(Region& branch, std::span<const std::string> kept,
                           const ShapeData& data);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_BRANCH_FACTS_H_
