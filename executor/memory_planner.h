// Places buffers in one arena so that those alive at the same time do not overlap.
#ifndef TENON_EXECUTOR_MEMORY_PLANNER_H_
#define TENON_EXECUTOR_MEMORY_PLANNER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

inline constexpr int64_t kArenaAlignment = 64;

// A buffer that is alive from instruction `first` to instruction `last`, both included.
struct BufferLifetime {
  int64_t size = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per buffer, multiples of kArenaAlignment
  int64_t arena_bytes = 0;
};

// Greedy by size: the largest buffer first, each into the smallest gap between those it meets. The
// same input gives the same plan.
MemoryPlan PlanMemory(std::span<const BufferLifetime> buffers);

// Empty if the plan is valid for the buffers; otherwise what is wrong with it.
std::string CheckMemoryPlan(std::span<const BufferLifetime> buffers, const MemoryPlan& plan);

// The largest sum of sizes alive at one instruction: no plan can be smaller.
int64_t MaxLiveBytes(std::span<const BufferLifetime> buffers);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_PLANNER_H_
