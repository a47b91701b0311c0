// Search along time for a placement of buffers in an arena of given size.
#ifndef TENON_EXECUTOR_MEMORY_SWEEP_H_
#define TENON_EXECUTOR_MEMORY_SWEEP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "executor/memory_planner.h"

namespace tenon {

// Looks for offsets with which all buffers lie within `capacity` bytes, for at most about `steps`
// units of work (one: a living buffer looked at once). True fills `offsets`, one per buffer; false
// says nothing about whether there is such a plan. The same input gives the same answer.
//
// A beam search: buffers get their places in the order in which they begin, each at either end of
// a gap between those that live then. All that matters to later ones is where the living lie, so
// that the layers of a network, however many, are no harder than one of them. Layouts that leave no
// gap for a buffer to come are dropped, and of the others those kept that leave the largest gaps.
// REQUIRES: SumOfBytes(buffers) <= kMaxPlannedBytes.
bool SweepMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity, int64_t steps,
                     std::vector<int64_t>& offsets);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_SWEEP_H_
