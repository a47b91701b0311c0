// Operations of a GPU program that stay on the host by design.
#ifndef TENON_EXECUTOR_GPU_PLACEMENT_H_
#define TENON_EXECUTOR_GPU_PLACEMENT_H_

#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Returns operations whose values follow from shapes and constants and are small: the session
// computes them once per shape. Also integer work on vectors and scalars, which is how models
// compute bounds and sizes. Requires a block that is not lowered.
absl::flat_hash_set<const Operation*> ChooseHostOps(Block& block);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_PLACEMENT_H_
