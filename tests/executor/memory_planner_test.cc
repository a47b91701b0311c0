#include "executor/memory/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "executor/memory/memory_search.h"
#include "executor/memory/memory_sweep.h"
#include "tests/sanitizers.h"

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

// A rectangle of time and memory cut into buffers, straight across a piece each time: a plan of
// exactly the whole height exists, and every byte of it is taken at all times.
std::vector<BufferLifetime> CutToPieces(unsigned seed, size_t pieces, int time, int64_t height) {
  struct Piece {
    int first, stop;
    int64_t low, high;
  };
  std::mt19937 random(seed);
  std::vector<Piece> cut = {{0, time, 0, height}};
  while (cut.size() < pieces) {
    Piece& piece = cut[random() % cut.size()];
    Piece other = piece;
    if (random() % 2 == 0) {
      if (piece.stop - piece.first < 2) continue;
      piece.stop = other.first =
          piece.first + 1 +
          static_cast<int>(random() % static_cast<unsigned>(piece.stop - piece.first - 1));
    } else {
      if (piece.high - piece.low < 2) continue;
      piece.high = other.low =
          piece.low + 1 + random() % static_cast<uint64_t>(piece.high - piece.low - 1);
    }
    cut.push_back(other);
  }
  std::vector<BufferLifetime> buffers;
  for (const Piece& piece : cut) {
    buffers.push_back({(piece.high - piece.low) * kArenaAlignment, piece.first, piece.stop - 1});
  }
  std::shuffle(buffers.begin(), buffers.end(), random);
  return buffers;
}

TEST(MemoryPlanner, SearchReachesTheBoundWhereGreedyDoesNot) {
  int greedy_missed = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<BufferLifetime> buffers = CutToPieces(seed, 36, 30, 100);
    const MemoryPlan plan = PlanMemory(buffers);
    EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
    EXPECT_EQ(plan.arena_bytes, 100 * kArenaAlignment) << seed;
    greedy_missed +=
        PlanMemory(buffers, {.search_steps = 0}).arena_bytes > plan.arena_bytes ? 1 : 0;
  }
  EXPECT_GT(greedy_missed, 10) << "the cases are too easy to say anything";
}

// Swin-T's larger buffers: four units that must be free together, twice, between residuals of one
// unit that live from one to the other.
TEST(MemoryPlanner, LearnsFromWhatCameTooLate) {
  std::vector<BufferLifetime> buffers = {
      {2, 1, 14},  {2, 3, 5},   {2, 5, 7},   {6, 7, 8},   {2, 8, 9},   {2, 9, 11},  {2, 11, 13},
      {2, 13, 18}, {8, 14, 15}, {2, 15, 16}, {2, 16, 29}, {2, 18, 20}, {6, 20, 23}, {2, 23, 24},
      {2, 24, 26}, {2, 26, 28}, {2, 28, 32}, {8, 29, 30}, {2, 32, 35}, {3, 40, 41}, {4, 47, 48}};
  for (BufferLifetime& b : buffers) b.size *= kArenaAlignment;
  EXPECT_GT(PlanMemory(buffers, {.search_steps = 0}).arena_bytes, MaxLiveBytes(buffers));
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
  EXPECT_EQ(plan.arena_bytes, MaxLiveBytes(buffers));
}

// Layers of a decoder whose attention and linear layers read the same norm: beside the residual and
// two more of 3 units, queries, keys and values with their scratch of 4 units fill the arena, and
// where they were 12 units must be free together right after. One small buffer lives throughout.
TEST(MemoryPlanner, SweepIsNoHarderWithMoreLayers) {
  for (int layers : {3, 6, 24}) {
    std::vector<BufferLifetime> buffers = {{1, 18, 12 * layers + 8}, {3, 8, 20}, {3, 8, 23}};
    for (int layer = 0; layer < layers; ++layer) {
      const int t = 12 * layer;
      for (const auto& [size, first, last] : std::vector<std::tuple<int, int, int>>{{3, 12, 17},
                                                                                    {3, 14, 18},
                                                                                    {3, 16, 19},
                                                                                    {3, 17, 19},
                                                                                    {3, 18, 19},
                                                                                    {3, 19, 22},
                                                                                    {4, 19, 19},
                                                                                    {12, 20, 21},
                                                                                    {3, 21, 32},
                                                                                    {3, 23, 35}}) {
        buffers.push_back({size, t + first, t + last});
      }
    }
    for (BufferLifetime& b : buffers) b.size *= kArenaAlignment;
    const MemoryPlan plan = PlanMemory(buffers);
    EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
    EXPECT_EQ(plan.arena_bytes, MaxLiveBytes(buffers)) << layers;
    MemoryPlan swept;
    swept.arena_bytes = MaxLiveBytes(buffers);
    ASSERT_TRUE(SweepMemoryPlan(buffers, swept.arena_bytes, 1 << 20, swept.offsets)) << layers;
    EXPECT_EQ(CheckMemoryPlan(buffers, swept), "");
  }
}

TEST(MemoryPlanner, SweepFindsNoPlanWhereThereIsNone) {
  const std::vector<BufferLifetime> buffers = {{60, 0, 4}, {0, 0, 9}, {128, 2, 3}, {64, 4, 5}};
  MemoryPlan plan;
  plan.arena_bytes = 192;
  EXPECT_FALSE(SweepMemoryPlan(buffers, 128, 1 << 20, plan.offsets));
  EXPECT_FALSE(SweepMemoryPlan(buffers, 192, 0, plan.offsets));
  ASSERT_TRUE(SweepMemoryPlan(buffers, 192, 1 << 20, plan.offsets));
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
  ASSERT_TRUE(SweepMemoryPlan({}, 0, 1 << 20, plan.offsets));
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(MemoryPlanner, SweepIsRightOnCutRectangles) {
  int found = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<BufferLifetime> buffers = CutToPieces(seed, 60, 60, 20);
    MemoryPlan plan;
    plan.arena_bytes = 20 * kArenaAlignment;
    if (!SweepMemoryPlan(buffers, plan.arena_bytes, 1 << 22, plan.offsets)) continue;
    EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
    ++found;
  }
  EXPECT_GT(found, 30);
}

// The least arena over all orders of stacking: each buffer on top of those that it meets.
int64_t LeastArena(std::span<const BufferLifetime> buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t least = SumOfBytes(buffers);
  do {
    std::vector<int64_t> end(buffers.size(), 0);
    int64_t arena = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const BufferLifetime& b = buffers[order[k]];
      int64_t begin = 0;
      for (size_t j = 0; j < k; ++j) {
        const BufferLifetime& other = buffers[order[j]];
        if (b.first <= other.last && other.first <= b.last) begin = std::max(begin, end[order[j]]);
      }
      end[order[k]] = begin + b.size;
      arena = std::max(arena, end[order[k]]);
    }
    least = std::min(least, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(MemoryPlanner, SearchIsExact) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    std::vector<BufferLifetime> buffers(7);
    for (BufferLifetime& b : buffers) {
      b.first = static_cast<int>(random() % 6);
      b.last = b.first + static_cast<int>(random() % 4);
      b.size = kArenaAlignment * static_cast<int64_t>(1 + random() % 4);
    }
    const int64_t least = LeastArena(buffers);
    EXPECT_EQ(PlanMemory(buffers).arena_bytes, least) << seed;
    std::vector<int64_t> offsets;
    constexpr int64_t kSteps = 1 << 20;
    EXPECT_EQ(SearchMemoryPlan(buffers, least, kSteps, offsets), MemorySearchResult::kFound);
    EXPECT_EQ(CheckMemoryPlan(buffers, {offsets, least}), "") << seed;
    EXPECT_EQ(SearchMemoryPlan(buffers, least - kArenaAlignment, kSteps, offsets),
              MemorySearchResult::kImpossible)
        << seed;
  }
}

TEST(MemoryPlanner, FindsTheLeastWhereTheBoundCannotBeReached) {
  std::vector<BufferLifetime> buffers = {{3, 6, 7}, {1, 3, 6}, {4, 0, 1}, {1, 3, 4}, {1, 4, 6},
                                         {3, 1, 3}, {1, 4, 5}, {2, 2, 5}, {2, 5, 6}};
  for (BufferLifetime& b : buffers) b.size *= kArenaAlignment;
  EXPECT_EQ(MaxLiveBytes(buffers), 7 * kArenaAlignment);
  EXPECT_EQ(LeastArena(buffers), 8 * kArenaAlignment);
  EXPECT_EQ(PlanMemory(buffers).arena_bytes, 8 * kArenaAlignment);
}

TEST(MemoryPlanner, GivesUpAfterItsSteps) {
  const std::vector<BufferLifetime> buffers = CutToPieces(1, 300, 200, 1000);
  std::vector<int64_t> offsets;
  EXPECT_EQ(SearchMemoryPlan(buffers, MaxLiveBytes(buffers), 10000, offsets),
            MemorySearchResult::kGaveUp);
  const MemoryPlan plan = PlanMemory(buffers, {.search_steps = 10000});
  EXPECT_EQ(CheckMemoryPlan(buffers, plan), "");
  EXPECT_LE(plan.arena_bytes, PlanMemory(buffers, {.search_steps = 0}).arena_bytes);
  EXPECT_EQ(PlanMemory(buffers, {.search_steps = 10000}).offsets, plan.offsets);
}

TEST(MemoryPlanner, BoundCountsWhatBuffersTake) {
  const std::vector<BufferLifetime> buffers = {{1, 0, 1}, {65, 1, 2}, {0, 0, 9}};
  EXPECT_EQ(MaxLiveBytes(buffers), 3 * kArenaAlignment);
  EXPECT_EQ(SumOfBytes(buffers), 3 * kArenaAlignment);
  EXPECT_EQ(PlanMemory(buffers).arena_bytes, 3 * kArenaAlignment);
}

TEST(MemoryPlanner, SumsDoNotOverflow) {
  EXPECT_EQ(SumOfBytes(std::vector<BufferLifetime>(5, {kMaxPlannedBytes / 2, 0, 0})), INT64_MAX);
  EXPECT_EQ(SumOfBytes(std::vector<BufferLifetime>{{INT64_MAX, 0, 0}}), INT64_MAX);
  EXPECT_THAT(
      CheckMemoryPlan(std::vector<BufferLifetime>{{64, 0, 0}}, {{INT64_MAX - 127}, INT64_MAX}),
      HasSubstr("the arena has"));
}

TEST(MemoryPlanner, AllCountsArePlanned) {
  if (kUnderSanitizers)
    GTEST_SKIP() << "8,000 buffers, not 20,000 and 100,000: builds without sanitizers plan all";
}

// The work is bounded also where no order can be tried, or only a few.
TEST(MemoryPlanner, VeryManyBuffers) {
  for (const int count : {8'000, 20'000, 100'000}) {
    if (kUnderSanitizers && count > 8'000) break;
    std::vector<BufferLifetime> alive_together, in_turns;
    for (int i = 0; i < count; ++i) {
      alive_together.push_back({64 + i % 5 * 64, i, count});
      in_turns.push_back({64 + i % 7 * 64, i, i + 1 + i % 3});
    }
    const MemoryPlan together = PlanMemory(alive_together);
    EXPECT_EQ(CheckMemoryPlan(alive_together, together), "");
    EXPECT_EQ(together.arena_bytes, MaxLiveBytes(alive_together));
    const MemoryPlan turns = PlanMemory(in_turns);
    EXPECT_EQ(CheckMemoryPlan(in_turns, turns), "");
    EXPECT_LT(turns.arena_bytes, 2 * MaxLiveBytes(in_turns));
    const MemoryPlan extended = ExtendMemoryPlan(in_turns, std::vector<int64_t>(1, 0));
    EXPECT_EQ(CheckMemoryPlan(in_turns, extended), "");
  }
}

TEST(MemoryPlanner, TheSweepEndsWithItsSteps) {
  // Each layout would hold all buffers, and there are as many layouts as buffers.
  std::vector<BufferLifetime> buffers;
  for (int i = 0; i < 20'000; ++i) buffers.push_back({64, i / 2, 20'000});
  std::vector<int64_t> offsets;
  EXPECT_FALSE(SweepMemoryPlan(buffers, MaxLiveBytes(buffers), 1'000'000, offsets));
}

}  // namespace
}  // namespace tenon
