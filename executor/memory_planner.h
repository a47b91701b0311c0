// Places buffers in one arena so that those alive at the same time do not overlap.
#ifndef TENON_EXECUTOR_MEMORY_PLANNER_H_
#define TENON_EXECUTOR_MEMORY_PLANNER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

inline constexpr int64_t kArenaAlignment = 64;

// A plan's offsets and sums fit into 64 bits if SumOfBytes is not more than this.
inline constexpr int64_t kMaxPlannedBytes = int64_t{1} << 62;

// A buffer that is alive from instruction `first` to instruction `last`, both included. In the
// arena it takes its size rounded up to kArenaAlignment.
struct BufferLifetime {
  int64_t size = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per buffer, multiples of kArenaAlignment
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  // MaxLiveBytes
  int64_t sum_bytes = 0;   // SumOfBytes
};

struct MemoryPlanOptions {
  // Work of what follows when no greedy order reaches the bound; 0: greedy alone. A count and not a
  // time, so that the same buffers have the same plan on every machine. The default is about a
  // quarter of a second.
  int64_t search_steps = int64_t{1} << 25;
};

// Greedy in several orders; if none of them reaches MaxLiveBytes, a search along time
// (memory_sweep.h), then orders that learn from what came too late, and then an exact search
// (memory_search.h). The same input gives the same plan.
// REQUIRES: SumOfBytes(buffers) <= kMaxPlannedBytes, here and below.
MemoryPlan PlanMemory(std::span<const BufferLifetime> buffers,
                      const MemoryPlanOptions& options = {});

// A plan of all buffers that keeps the places of the first ones, if that takes no more room than
// another one; `offsets` are theirs.
MemoryPlan ExtendMemoryPlan(std::span<const BufferLifetime> buffers,
                            std::span<const int64_t> offsets);

// Empty if the plan is valid for the buffers; otherwise what is wrong with it.
std::string CheckMemoryPlan(std::span<const BufferLifetime> buffers, const MemoryPlan& plan);

// The largest sum of rounded sizes alive at one instruction: no plan can be smaller.
int64_t MaxLiveBytes(std::span<const BufferLifetime> buffers);

// What an arena without reuse would take; INT64_MAX if that is more.
int64_t SumOfBytes(std::span<const BufferLifetime> buffers);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_PLANNER_H_
