#include "ir/core/verify/dominance.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/ir/test_ir.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

using test::TestIr;

// A region whose block i ends in a jump to `edges[i]`.
struct Graph {
  explicit Graph(const std::vector<std::vector<unsigned>>& edges) {
    Operation* op = ir.Add(ir.body, "x.region", {}, {}, 1);
    for (size_t i = 0; i < edges.size(); ++i) blocks.push_back(op->region().AddBlock());
    for (size_t i = 0; i < edges.size(); ++i) {
      std::vector<Block*> successors;
      for (unsigned to : edges[i]) successors.push_back(blocks[to]);
      ir.Add(blocks[i], "x.jump", {}, {}, 0, successors);
    }
  }
  TestIr ir;
  std::vector<Block*> blocks;
};

// a dominates b if b cannot be reached from the entry without a.
bool Reaches(const std::vector<std::vector<unsigned>>& edges, unsigned target, unsigned without) {
  if (without == 0) return false;
  std::vector<unsigned> work = {0};
  std::set<unsigned> seen = {0};
  while (!work.empty()) {
    unsigned at = work.back();
    work.pop_back();
    if (at == target) return true;
    for (unsigned to : edges[at]) {
      if (to != without && seen.insert(to).second) work.push_back(to);
    }
  }
  return false;
}

TEST(DominanceTest, AgreesWithTheDefinitionOnRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    unsigned n = 2 + random() % 9;
    std::vector<std::vector<unsigned>> edges(n);
    for (auto& out : edges) {
      for (unsigned k = random() % 4; k > 0; --k) out.push_back(random() % n);
    }
    Graph graph(edges);
    DominanceInfo dominance;
    for (unsigned b = 0; b < n; ++b) {
      bool reachable = Reaches(edges, b, n);
      EXPECT_EQ(dominance.IsReachable(graph.blocks[b]), reachable);
      for (unsigned a = 0; a < n; ++a) {
        bool expected = a == b || !reachable || !Reaches(edges, b, a);
        EXPECT_EQ(dominance.BlockDominates(graph.blocks[a], graph.blocks[b]), expected)
            << a << " " << b;
      }
    }
  }
}

TEST(DominanceTest, ValuesAcrossRegions) {
  TestIr ir;
  Operation* before = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  Operation* region = ir.Add(ir.body, "x.region", {}, {ir.f32()}, 1);
  Block* inner = region->region().AddBlock();
  Value argument = inner->AddArgument(ir.f32());
  Operation* use = ir.Add(inner, "x.use", {}, {ir.f32()});
  Operation* after = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  DominanceInfo dominance;
  EXPECT_TRUE(dominance.ValueDominates(before->result(), use));
  EXPECT_TRUE(dominance.ValueDominates(argument, use));
  EXPECT_FALSE(dominance.ValueDominates(after->result(), use));
  EXPECT_FALSE(dominance.ValueDominates(region->result(), use));  // not inside of its own op
  EXPECT_FALSE(dominance.ValueDominates(use->result(), after));   // not outside of its region
  EXPECT_FALSE(dominance.ValueDominates(use->result(), use));
}

// Shapes on which simple algorithms are quadratic.
// In quadratic time this would take hours.
TEST(DominanceTest, LargeGraphsTakeLinearTime) {
  constexpr unsigned kBlocks = kUnderSanitizers ? 50'000 : 500'000;
  std::vector<std::vector<unsigned>> chain(kBlocks), ladder(kBlocks);
  for (unsigned i = 0; i + 1 < kBlocks; ++i) {
    chain[i] = {kBlocks - 1, i + 1};                       // every block may leave
    ladder[i] = {i + 1, 1 + (i * 7919U) % (kBlocks - 1)};  // and jump back
  }
  for (const auto* edges : {&chain, &ladder}) {
    Graph graph(*edges);
    DominanceInfo dominance;
    EXPECT_TRUE(dominance.BlockDominates(graph.blocks[0], graph.blocks.back()));
  }
}

}  // namespace
}  // namespace tenon
