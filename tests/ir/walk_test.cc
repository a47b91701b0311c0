#include "ir/core/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/block.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::ElementsAre;

// As codegen makes them.
class SourceOp : public OpHandle {
 public:
  using OpHandle::OpHandle;
  static constexpr OpId kId = HashOpName("t.source");
};

class WalkTest : public ::testing::Test {
 protected:
  // module { region { source, isolated { source } }, source }
  WalkTest() {
    region_ = ir_.Add(ir_.body, "t.region", {}, {}, 1);
    Block* block = region_->region().AddBlock();
    ir_.Add(block, "t.source", {}, {ir_.f32()});
    Operation* isolated = ir_.Add(block, "t.isolated", {}, {}, 1);
    ir_.Add(isolated->region().AddBlock(), "t.source", {}, {ir_.f32()});
    ir_.Add(ir_.body, "t.source", {}, {ir_.f32()});
  }
  std::vector<std::string> Names(WalkResult at_isolated) {
    std::vector<std::string> names;
    WalkOps(ir_.module.get(), [&](Operation* op) {
      names.emplace_back(op->name());
      return op->name() == "t.isolated" ? at_isolated : WalkResult::kAdvance;
    });
    return names;
  }
  TestIr ir_;
  Operation* region_;
};

TEST_F(WalkTest, VisitsOuterOpsFirst) {
  EXPECT_THAT(Names(WalkResult::kAdvance), ElementsAre("builtin.module", "t.region", "t.source",
                                                       "t.isolated", "t.source", "t.source"));
}

TEST_F(WalkTest, SkipLeavesRegionsOut) {
  EXPECT_THAT(Names(WalkResult::kSkip),
              ElementsAre("builtin.module", "t.region", "t.source", "t.isolated", "t.source"));
}

TEST_F(WalkTest, InterruptStops) {
  EXPECT_THAT(Names(WalkResult::kInterrupt),
              ElementsAre("builtin.module", "t.region", "t.source", "t.isolated"));
}

TEST_F(WalkTest, VisitsOneClass) {
  int found = 0;
  EXPECT_TRUE(WalkOps<SourceOp>(ir_.module.get(), [&](SourceOp) { ++found; }));
  EXPECT_EQ(found, 3);
  EXPECT_FALSE(WalkOps<SourceOp>(ir_.module.get(), [&](SourceOp) {
    --found;
    return WalkResult::kInterrupt;
  }));
  EXPECT_EQ(found, 2);
}

TEST_F(WalkTest, TheVisitedOpMayBeErased) {
  int visited = 0;
  WalkOps(ir_.module.get(), [&](Operation* op) {
    ++visited;
    if (op->name() != "t.region") return WalkResult::kAdvance;
    op->Erase();
    return WalkResult::kSkip;
  });
  EXPECT_EQ(visited, 3);
  WalkOpsInside(ir_.module.get(), [&](Operation* op) {
    if (op->block() != nullptr) op->Erase();
    return WalkResult::kAdvance;
  });
  EXPECT_TRUE(ir_.body->empty());
}

TEST_F(WalkTest, InsideFirstStopsToo) {
  std::vector<std::string> names;
  EXPECT_FALSE(WalkOpsInside(ir_.module.get(), [&](Operation* op) {
    names.emplace_back(op->name());
    return op->name() == "t.isolated" ? WalkResult::kInterrupt : WalkResult::kAdvance;
  }));
  EXPECT_THAT(names, ElementsAre("t.source", "t.source", "t.isolated"));
}

TEST_F(WalkTest, DeepNestingNeedsNoStack) {
  Block* block = ir_.body;
  for (int i = 0; i < 20000; ++i)
    block = ir_.Add(block, "t.region", {}, {}, 1)->region().AddBlock();
  int64_t visited = 0;
  const auto count = [&](Operation*) {
    ++visited;
    return WalkResult::kAdvance;
  };
  WalkOps(ir_.module.get(), count);
  WalkOpsInside(ir_.module.get(), count);
  EXPECT_EQ(visited, 2 * (20000 + 6));
}

}  // namespace
}  // namespace tenon
