#include "executor/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tenon {
namespace {

using ::testing::HasSubstr;

TEST(MemoryPlanner, ReusesRoom) {
  const std::vector<BufferLifetime> buffers = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_EQ(plan.arena_bytes, 256);
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
}

TEST(MemoryPlanner, FillsTheSmallestGap) {
  // The third fits between the first two only in time; the gap of the first is reused.
  const std::vector<BufferLifetime> buffers = {
      {640, 0, 4}, {320, 0, 1}, {128, 0, 4}, {64, 2, 3}, {256, 2, 3}};
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
  EXPECT_EQ(plan.arena_bytes, MaxLiveBytes(buffers));
}

TEST(MemoryPlanner, EmptyBuffersTakeNoRoom) {
  const std::vector<BufferLifetime> buffers = {{0, 0, 5}, {64, 0, 5}, {0, 1, 2}};
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_EQ(plan.arena_bytes, 64);
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
}

TEST(MemoryPlanner, CheckFindsBadPlans) {
  const std::vector<BufferLifetime> buffers = {{100, 0, 2}, {100, 2, 3}};
  EXPECT_THAT(CheckMemoryPlan(buffers, {{0, 64}, 256}), HasSubstr("overlap"));
  EXPECT_THAT(CheckMemoryPlan(buffers, {{0, 128}, 200}), HasSubstr("not in the arena"));
  EXPECT_THAT(CheckMemoryPlan(buffers, {{0, 130}, 512}), HasSubstr("multiple"));
  EXPECT_THAT(CheckMemoryPlan(buffers, {{0}, 512}), HasSubstr("1 offsets"));
  EXPECT_THAT(CheckMemoryPlan(buffers, {{0, -64}, 512}), HasSubstr("not in the arena"));
  EXPECT_EQ(CheckMemoryPlan(buffers, {{0, 128}, 256}), "");
}

// Every pair checked directly, and against the sweep of CheckMemoryPlan.
TEST(MemoryPlanner, RandomLifetimesNeverOverlap) {
  double worst = 1;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<BufferLifetime> buffers(1 + random() % 60);
    for (BufferLifetime& b : buffers) {
      b.first = static_cast<int>(random() % 50);
      b.last = b.first + static_cast<int>(random() % 8);
      b.size = random() % 10 == 0 ? 0 : 64 * static_cast<int64_t>(1 + random() % 40);
    }
    const MemoryPlan plan = PlanMemory(buffers);
    EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
    for (size_t i = 0; i < buffers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const bool meet =
            buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        const bool apart = plan.offsets[i] + buffers[i].size <= plan.offsets[j] ||
                           plan.offsets[j] + buffers[j].size <= plan.offsets[i];
        EXPECT_TRUE(!meet || apart || buffers[i].size == 0 || buffers[j].size == 0) << seed;
      }
    }
    const int64_t least = MaxLiveBytes(buffers);
    EXPECT_GE(plan.arena_bytes, least);
    if (least > 0)
      worst = std::max(worst, static_cast<double>(plan.arena_bytes) / static_cast<double>(least));
  }
  EXPECT_LT(worst, 1.5) << "the planner wastes memory";
}

}  // namespace
}  // namespace tenon
