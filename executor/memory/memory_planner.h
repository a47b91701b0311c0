// Placing buffers in an arena so that buffers that are alive together do not overlap.
#ifndef TENON_EXECUTOR_MEMORY_MEMORY_PLANNER_H_
#define TENON_EXECUTOR_MEMORY_MEMORY_PLANNER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

inline constexpr int64_t kArenaAlignment = 64;

// Offsets and sums of a plan fit into 64 bits if SumOfBytes is at most this.
inline constexpr int64_t kMaxPlannedBytes = int64_t{1} << 62;

// A buffer that is alive from instruction `first` to `last`, both included. `size` is in bytes; in
// the arena it is rounded up to kArenaAlignment.
struct BufferLifetime {
  int64_t size = 0;
  int first = 0;
  int last = 0;
};

// A placement of buffers. Sizes are in bytes.
struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per buffer, multiples of kArenaAlignment
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  // MaxLiveBytes
  int64_t sum_bytes = 0;   // SumOfBytes
};

struct MemoryPlanOptions {
  // Steps of search if no greedy order reaches the bound; 0: greedy only. It counts work and not
  // time, so that equal buffers have equal plans on every machine. The default takes about a
  // quarter of a second.
  int64_t search_steps = int64_t{1} << 25;
};

// Tries several greedy orders, and fewer of them for more than 5,000 buffers. If none reaches
// MaxLiveBytes, it searches along time (memory_sweep.h), then tries orders that place late buffers
// earlier, and last searches exactly (memory_search.h). Equal input gives equal plans. Requires
// SumOfBytes(buffers) <= kMaxPlannedBytes, as do the functions below.
MemoryPlan PlanMemory(std::span<const BufferLifetime> buffers,
                      const MemoryPlanOptions& options = {});

// Returns a plan that keeps `offsets`, those of the first buffers, if another plan would not be
// smaller. Of more than 16,000 buffers it keeps none.
MemoryPlan ExtendMemoryPlan(std::span<const BufferLifetime> buffers,
                            std::span<const int64_t> offsets);

// Returns what is wrong with the plan; empty if it is valid.
std::string CheckMemoryPlan(std::span<const BufferLifetime> buffers, const MemoryPlan& plan);

// Returns the largest sum of rounded sizes at one instruction. No plan can be smaller.
int64_t MaxLiveBytes(std::span<const BufferLifetime> buffers);

// Returns the size of an arena without reuse; INT64_MAX if it is larger.
int64_t SumOfBytes(std::span<const BufferLifetime> buffers);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_MEMORY_PLANNER_H_
