// Analyses: made once, kept through passes that preserve them, dropped by all others.
#include "pass/analysis_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/pass_manager.h"
#include "tests/pass/small_dialects.h"

namespace tenon {
namespace {

using testing::ElementsAre;

// The number of ops in an op. Counts how often it is made.
struct OpCount {
  explicit OpCount(Operation* op) {
    op->WalkPreOrder([&](Operation*) { return ++ops > 0; });
    ++made;
  }
  int ops = 0;
  inline static int made = 0;
};

// Keeps a reference to another analysis.
struct Twice {
  Twice(Operation* op, AnalysisManager& manager) : count(manager.Get<OpCount>(op)) {}
  int ops() const { return 2 * count.ops; }
  OpCount& count;
};

// Knows itself what makes it stale.
struct SymbolOf {
  explicit SymbolOf(Operation* op) : name(SymbolName(*op)) {}
  bool IsInvalidated(const PreservedAnalyses& preserved) const { return !preserved.Has<OpCount>(); }
  std::string name;
};

// Needs nothing of the op.
struct Plain {
  int number = 7;
};

class AnalysisManagerTest : public testing::Test {
 protected:
  AnalysisManagerTest() {
    RegisterSmallDialects(context_);
    absl::StatusOr<OwnedOp> module = ParseModule(context_, FunctionsText(3, 3));
    EXPECT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    OpCount::made = 0;
  }
  Operation* Function(std::string_view name) { return LookupSymbol(module_.get(), name); }
  absl::Status Run(std::string_view pipeline) {
    PassManager manager(registry_);
    const absl::Status added = manager.AddPipeline(pipeline);
    if (!added.ok()) return added;
    PassContext context;
    return manager.Run(module_.get(), context).status();
  }
  // A pass that asks for the number of ops and then changes the IR, preserving what it is given.
  void AddChange(std::string name, std::string anchor, PreservedAnalyses preserved) {
    AddPass(registry_, std::move(name), std::move(anchor),
            [preserved](Operation* op, PassContext& context) -> absl::StatusOr<PassResult> {
              context.analyses->Get<OpCount>(op);
              op->SetAttr("t.seen", Attribute::I64(op->context(), ++changes));
              return PassResult{.changed = true, .preserved = preserved};
            });
  }

  inline static int changes = 0;
  Context context_;
  PassRegistry registry_;
  OwnedOp module_;
};

TEST_F(AnalysisManagerTest, IsMadeOnceForEachOperation) {
  AnalysisManager analyses(module_.get());
  EXPECT_EQ(analyses.Find<OpCount>(module_.get()), nullptr);
  EXPECT_EQ(analyses.Get<OpCount>(module_.get()).ops, 13);
  EXPECT_EQ(analyses.Get<OpCount>(Function("f2")).ops, 5);
  EXPECT_EQ(analyses.Get<OpCount>(Function("f2")).ops, 5);
  EXPECT_EQ(analyses.Find<OpCount>(Function("f1")), nullptr);
  EXPECT_EQ(OpCount::made, 2);
  EXPECT_EQ(analyses.Get<Plain>(module_.get()).number, 7);
}

TEST_F(AnalysisManagerTest, AChangeDropsWhatIsAroundAndInside) {
  AnalysisManager analyses(module_.get());
  const auto fill = [&] {
    for (Operation* op : {module_.get(), Function("f0"), Function("f1")}) analyses.Get<OpCount>(op);
  };
  const auto known = [&](Operation* op) { return analyses.Find<OpCount>(op) != nullptr; };
  fill();
  analyses.Invalidate(Function("f0"));
  EXPECT_FALSE(known(module_.get()));
  EXPECT_FALSE(known(Function("f0")));
  EXPECT_TRUE(known(Function("f1")));
  fill();
  analyses.InvalidateAround(Function("f0"), {});
  EXPECT_FALSE(known(module_.get()));
  EXPECT_TRUE(known(Function("f0")));
  fill();
  // Operations inside may be gone, whatever is preserved.
  analyses.Invalidate(module_.get(), PreservedAnalyses::Of<OpCount>());
  EXPECT_TRUE(known(module_.get()));
  EXPECT_FALSE(known(Function("f1")));
  fill();
  analyses.Invalidate(module_.get(), PreservedAnalyses::All());
  EXPECT_TRUE(known(Function("f1")));
}

TEST_F(AnalysisManagerTest, AnAnalysisGoesWithTheOnesThatItRefersTo) {
  AnalysisManager analyses(module_.get());
  Operation* const op = Function("f0");
  EXPECT_EQ(analyses.Get<Twice>(op).ops(), 6);
  analyses.Invalidate(op, PreservedAnalyses::Of<Twice>());
  EXPECT_EQ(analyses.Find<Twice>(op), nullptr);
  EXPECT_EQ(analyses.Get<Twice>(op).ops(), 6);
  analyses.Invalidate(op, PreservedAnalyses::Of<Twice, OpCount>());
  EXPECT_NE(analyses.Find<Twice>(op), nullptr);
  EXPECT_EQ(analyses.Get<SymbolOf>(op).name, "f0");
  analyses.Invalidate(op, PreservedAnalyses::Of<OpCount>());
  EXPECT_NE(analyses.Find<SymbolOf>(op), nullptr);
  EXPECT_EQ(analyses.Find<Twice>(op), nullptr);
}

TEST_F(AnalysisManagerTest, ANestedManagerSharesWhatItsOperationHas) {
  AnalysisManager analyses(module_.get());
  AnalysisManager nested = analyses.Nested(Function("f1"));
  nested.Get<OpCount>(Function("f1"));
  EXPECT_NE(analyses.Find<OpCount>(Function("f1")), nullptr);
  EXPECT_DEATH(nested.Get<OpCount>(module_.get()), "outside");
}

TEST_F(AnalysisManagerTest, PassesKeepWhatTheyPreserve) {
  AddPass(registry_, "look", "func.func", [](Operation* op, PassContext& context) {
    context.analyses->Get<OpCount>(op);
    return absl::StatusOr<PassResult>(PassResult());
  });
  AddChange("keep", "func.func", PreservedAnalyses::Of<OpCount>());
  AddChange("drop", "func.func", {});
  ASSERT_TRUE(Run("look,look,keep,look").ok());  // nothing changed, or it is preserved
  EXPECT_EQ(OpCount::made, 3);
  OpCount::made = 0;
  ASSERT_TRUE(Run("look,drop,look").ok());
  EXPECT_EQ(OpCount::made, 6);
}

TEST_F(AnalysisManagerTest, AModuleLearnsOfChangesInItsFunctions) {
  std::vector<int> seen;
  AddPass(registry_, "module-look", "builtin.module", [&](Operation* op, PassContext& context) {
    context.analyses->Get<OpCount>(op);
    seen.push_back(OpCount::made);
    return absl::StatusOr<PassResult>(PassResult());
  });
  AddPass(registry_, "idle", "func.func",
          [](Operation*, PassContext&) { return absl::StatusOr<PassResult>(PassResult()); });
  AddPass(registry_, "change-f1", "func.func", [](Operation* op, PassContext&) {
    const bool changes = SymbolName(*op) == "f1";
    if (changes) op->SetAttr("t.seen", Attribute::Unit(op->context()));
    return absl::StatusOr<PassResult>(PassResult{changes});
  });
  ASSERT_TRUE(Run("module-look,idle,module-look,change-f1,module-look").ok());
  EXPECT_THAT(seen, ElementsAre(1, 1, 2));
}

TEST(PreservedAnalysesTest, Intersect) {
  PreservedAnalyses both = PreservedAnalyses::All();
  both.Intersect(PreservedAnalyses::Of<OpCount, SymbolOf>());
  EXPECT_TRUE(both.Has<SymbolOf>());
  EXPECT_FALSE(both.all());
  both.Intersect(PreservedAnalyses::All());
  both.Intersect(PreservedAnalyses::Of<OpCount>());
  EXPECT_TRUE(both.Has<OpCount>());
  EXPECT_FALSE(both.Has<SymbolOf>());
}

}  // namespace
}  // namespace tenon
