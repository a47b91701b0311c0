// Exact search for a placement of buffers in an arena of a given size.
#ifndef TENON_EXECUTOR_MEMORY_MEMORY_SEARCH_H_
#define TENON_EXECUTOR_MEMORY_MEMORY_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/memory/memory_planner.h"

namespace tenon {

enum class MemorySearchResult : uint8_t {
  kFound,
  kImpossible,  // no plan of this size exists
  kGaveUp,      // the steps did not suffice
};

// Looks for offsets with which all buffers lie within `capacity` bytes. Takes at most `steps` units
// of work, one per look at a buffer. Fills `offsets` if the result is kFound.
//
// The search considers canonical plans only: buffers are placed in order of their offsets, each
// directly on top of the ones below. It leaves a branch in two cases:
// - At some time the waiting buffers that are alive need more than the room above the placed
//   buffers, less what no waiting buffer can reach.
// - A waiting buffer fits entirely below the tried place: the plan with that buffer moved down is
//   found elsewhere.
// Parts that no waiting buffer connects in time are solved separately. Source: Moffitt,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS
// 2023.
MemorySearchResult SearchMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity,
                                    int64_t steps, std::vector<int64_t>& offsets);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_MEMORY_SEARCH_H_
