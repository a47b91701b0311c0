// Patterns in C++, beside rules and alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "ir/core/block.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/core/walk.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/ten_ops.h"
#include "pass/rewrite_pattern.h"
#include "pass/rewrite_step.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProgram[] = R"(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = ten.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.neg(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ten.abs(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%2) : (tensor<4xf32>) -> ()
}) : () -> ()
)";

// abs(x) = max(x, -x)
class AbsIsMax : public OpRewritePattern<ten::AbsOp> {
 public:
  explicit AbsIsMax(int benefit = 0) : OpRewritePattern("abs-is-max", benefit) {}
  absl::StatusOr<bool> RewriteOp(ten::AbsOp op, Rewriter& rewriter) const override {
    TENON_ASSIGN_OR_RETURN(ten::NegOp minus, ten::NegOp::Create(rewriter, op->location(), op.x()));
    TENON_RETURN_IF_ERROR(rewriter.ReplaceWith<ten::MaxOp>(op.op(), op.x(), minus.out()).status());
    return true;
  }
};

class PatternTest : public ::testing::Test {
 protected:
  PatternTest() {
    RegisterAllDialects(context_);
    context_.diagnostics().SetHandler(
        [this](const Diagnostic& d) { message_ = FormatDiagnostic(context_, d); });
    module_ = *ParseModule(context_, kProgram);
    services_.rule_counts = &counts_;
  }
  absl::StatusOr<drr::DriverResult> Apply(drr::DriverOptions options = {}) {
    return drr::ApplyPatterns(patterns_, module_.get(), services_, options);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    WalkOps(module_.get(), [&](Operation* op) {
      if (op->info().dialect() == "ten") names.emplace_back(op->name());
      return WalkResult::kAdvance;
    });
    return names;
  }

  Context context_;
  OwnedOp module_;
  PatternSet patterns_;
  PassContext services_;
  std::map<std::string, int64_t, std::less<>> counts_;
  std::string message_;
};

TEST_F(PatternTest, RewritesAndCounts) {
  patterns_.Add<AbsIsMax>();
  const auto result = Apply({.fold = false});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rewrites, 1);
  EXPECT_TRUE(Verify(module_.get()).ok());
  EXPECT_THAT(Names(), ElementsAre("ten.neg", "ten.neg", "ten.neg", "ten.max"));
  EXPECT_EQ(counts_["abs-is-max"], 1);
  EXPECT_FALSE(Apply({.fold = false})->changed);
}

TEST_F(PatternTest, WorksBesideRulesInTheOrderOfBenefits) {
  const auto rules = drr::ParseRules(
      "rule abs-is-relu { match abs(x) replace relu(x) lowers ops(abs) }", "t.rules", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto compiled = drr::CompiledRules::Create(*rules, context_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const int benefit : {0, 1}) {
    module_ = *ParseModule(context_, kProgram);
    PatternSet patterns;
    patterns.Add<AbsIsMax>(benefit);
    const auto result = drr::ApplyRules(*compiled, module_.get(), services_,
                                        {.fold = false, .patterns = &patterns});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Names().back(), benefit == 0 ? "ten.relu" : "ten.max");
  }
}

TEST_F(PatternTest, ChangesOpenFoldsAndDeadOps) {
  // The pattern takes an operand away; the fold of neg(neg(x)) and dead ops follow by themselves.
  patterns_.Add("skip-abs", "ten.abs",
                [](Operation* op, Rewriter& rewriter) -> absl::StatusOr<bool> {
                  rewriter.Replace(op, op->operand(0));
                  return true;
                });
  ASSERT_TRUE(Apply().ok());
  EXPECT_TRUE(Names().empty()) << Print(*module_);
}

TEST_F(PatternTest, AnAnswerThatDoesNotFitIsAnError) {
  patterns_.Add("liar", "ten.abs",
                [](Operation*, Rewriter&) -> absl::StatusOr<bool> { return true; });
  EXPECT_EQ(Apply().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_, HasSubstr("pattern 'liar' has returned true"));
  EXPECT_THAT(message_, HasSubstr(":6:"));  // the place of the op

  PatternSet silent;
  silent.Add("silent", "ten.abs", [](Operation* op, Rewriter& rewriter) -> absl::StatusOr<bool> {
    rewriter.SetAttr(op, "seen", Attribute::Unit(op->context()));
    return false;
  });
  EXPECT_FALSE(drr::ApplyPatterns(silent, module_.get(), services_).ok());
  EXPECT_THAT(message_, HasSubstr("returned false (expected true)"));
}

TEST_F(PatternTest, ErrorsOfPatternsComeBack) {
  patterns_.Add("fails", "ten.abs", [](Operation* op, Rewriter&) -> absl::StatusOr<bool> {
    return EmitError(op->context(), op->location(), "no abs here");
  });
  EXPECT_THAT(std::string(Apply().status().message()), HasSubstr("no abs here"));
}

TEST_F(PatternTest, EndlessRewritingNamesThePattern) {
  patterns_.Add("to-fro", "", [](Operation* op, Rewriter& rewriter) -> absl::StatusOr<bool> {
    if (op->name() != "ten.abs") return false;
    return rewriter.ReplaceWith<ten::AbsOp>(op, op->operand(0)).ok();
  });
  EXPECT_THAT(std::string(Apply().status().message()), HasSubstr("to-fro"));
}

TEST_F(PatternTest, StepsAreAskedForAndOnlyMadeOnesCount) {
  class Watch : public RewriteObserver {
   public:
    void StepBegins(const RewriteStep& step) override { steps.push_back(StepText(step)); }
    std::vector<std::string> steps;
  };
  Watch watch;
  services_.observer = &watch;
  patterns_.Add(
      "looks", "", [](Operation*, Rewriter&) -> absl::StatusOr<bool> { return false; }, 9);
  patterns_.Add<AbsIsMax>();
  ASSERT_TRUE(Apply({.fold = false}).ok());
  EXPECT_EQ(services_.steps, 1);
  ASSERT_EQ(watch.steps.size(), 1);
  EXPECT_THAT(watch.steps[0], HasSubstr("abs-is-max of ten.abs"));

  module_ = *ParseModule(context_, kProgram);
  services_.steps = 0;
  services_.allow_rewrite = [](const RewriteStep& step) { return step.name != "abs-is-max"; };
  EXPECT_FALSE(Apply({.fold = false})->changed);
  services_.allow_rewrite = nullptr;
  services_.disabled_rules = {"abs-is-max"};
  EXPECT_FALSE(Apply({.fold = false})->changed);
}

TEST_F(PatternTest, ErasedRegionsLeaveTheWorklist) {
  module_ = *ParseModule(context_, R"(
func.func() <{function_type = (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%c: tensor<i1>, %x: tensor<4xf32>):
  %0 = ctl.if(%c) ({
    %1 = ten.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = ten.exp(%1) : (tensor<4xf32>) -> tensor<4xf32>
    ctl.yield(%2) : (tensor<4xf32>) -> ()
  }, {
    ctl.yield(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
)");
  patterns_.Add("no-if", "ctl.if", [](Operation* op, Rewriter& rewriter) -> absl::StatusOr<bool> {
    rewriter.Replace(op, op->region(1).front().back()->operand(0));
    return true;
  });
  const auto result = Apply();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rewrites, 1);
  EXPECT_TRUE(Verify(module_.get()).ok());
}

TEST_F(PatternTest, OneNameIsOnePattern) {
  patterns_.Add<AbsIsMax>();
  EXPECT_DEATH(patterns_.Add<AbsIsMax>(), "abs-is-max");
}

}  // namespace
}  // namespace tenon
