// Which operations of a function that is lowered for a GPU stay on the host on purpose.
#ifndef TENON_EXECUTOR_GPU_PLACEMENT_H_
#define TENON_EXECUTOR_GPU_PLACEMENT_H_

#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Those whose values follow from shapes and constants alone, as long as they are small (the session
// computes them once for each shape), and integer work on vectors and scalars, which is how models
// compute bounds and extents. REQUIRES: not lowered yet.
absl::flat_hash_set<const Operation*> ChooseHostOps(Block& block);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_PLACEMENT_H_
