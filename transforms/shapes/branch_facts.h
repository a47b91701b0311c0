// Extents that a branch of ctl.if demands of values from outside.
#ifndef TENON_TRANSFORMS_SHAPES_BRANCH_FACTS_H_
#define TENON_TRANSFORMS_SHAPES_BRANCH_FACTS_H_

#include <cstdint>
#include <span>
#include <string>

#include "ir/core/block.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// What RefineBranch did.
struct RefinedBranch {
  bool changed = false;
  int64_t captures = 0;  // values that the branch reads through a new reshape
};

// Uses the demands of a branch on extents of values from outside. A demand holds only if the branch
// runs, so the types of those values stay. The branch reads a reshape of them instead, which fails
// if the demand does not hold. Demands that no reshape can check are ignored. Symbols in `kept` are
// not replaced.
RefinedBranch RefineBranch(Region& branch, std::span<const std::string> kept,
                           const ShapeData& data);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_BRANCH_FACTS_H_
