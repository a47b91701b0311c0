// Search along time for a placement of buffers in an arena of a given size.
#ifndef TENON_EXECUTOR_MEMORY_MEMORY_SWEEP_H_
#define TENON_EXECUTOR_MEMORY_MEMORY_SWEEP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "executor/memory/memory_planner.h"

namespace tenon {

// Looks for offsets with which all buffers lie within `capacity` bytes. Takes at most about `steps`
// units of work, one per look at a living buffer. Returns true and fills `offsets` if it finds a
// plan; false says nothing about whether one exists. Equal input gives equal answers. Requires
// SumOfBytes(buffers) <= kMaxPlannedBytes.
//
// A beam search: buffers are placed in the order in which they begin, each at an end of a gap
// between the living ones. Later buffers depend only on the places of the living, so that many
// layers of a network are no harder than one. Layouts without a gap for a coming buffer are
// dropped. Of the others, those with the largest gaps are kept.
bool SweepMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity, int64_t steps,
                     std::vector<int64_t>& offsets);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_MEMORY_SWEEP_H_
