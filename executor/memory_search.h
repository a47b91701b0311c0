// Exact search for a placement of buffers in an arena of given size.
#ifndef TENON_EXECUTOR_MEMORY_SEARCH_H_
#define TENON_EXECUTOR_MEMORY_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/memory_planner.h"

namespace tenon {

enum class MemorySearchResult : uint8_t {
  kFound,
  kImpossible,  // no plan of this size exists
  kGaveUp,      // the steps were used up
};

// Looks for offsets with which all buffers lie within `capacity` bytes, for at most `steps` units
// of work (one: a buffer looked at once). kFound fills `offsets`, one per buffer.
//
// The search goes through canonical plans only: buffers are placed in the order of their offsets,
// each directly on top of what has been placed below it. It leaves a branch when
//  - at some time the room above what is placed, less what no waiting buffer can reach, is smaller
//    than the sum of the waiting buffers that are alive then, or
//  - a waiting buffer fits entirely below the place that is tried: the same plan with that buffer
//    moved down is found elsewhere.
// Parts that no waiting buffer connects in time are solved one after the other. These ideas are
// those of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning", ASPLOS 2023.
MemorySearchResult SearchMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity,
                                    int64_t steps, std::vector<int64_t>& offsets);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_SEARCH_H_
