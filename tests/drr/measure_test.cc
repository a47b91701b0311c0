// What rules lower is measured.
#include "drr/rule/measure.h"

#include <string>
#include <vector>

#include "drr/check/check.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/measuring.h"
#include "drr/rewrite/rewriter.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/block.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "patterns/families.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() { RegisterAllDialects(context_); }
  // The printed measure of a rule, or the mistake.
  std::string Lowers(const std::string& text) {
    const auto rules =
        ParseRules("rule r { match neg(x) replace neg(x) lowers " + text + " }", "x.drr", context_);
    return rules.ok() ? ToString((*rules)[0].lowers()) : std::string(rules.status().message());
  }
  // What the check says of a rule that lowers this; empty for a right rule.
  std::string Check(const std::string& rule) {
    const auto rules = ParseRules("rule r { " + rule + " }", "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    ReferenceEvaluator evaluator(MakeKernelRegistry());
    const CheckReport report = CheckRule((*rules)[0], context_, evaluator);
    return report.failures.empty() ? ""
                                   : report.failures[0].substr(0, report.failures[0].find(":\n"));
  }
  Context context_;
};

TEST_F(MeasureTest, HasANotation) {
  for (const std::string text :
       {"ops(ten.div)", "ops(ten.div, nn.softmax)", "before(ten.neg, ten.mul)",
        "before({ten.neg, ten.abs}, {ten.mul, ten.add})", "elements", "bytes", "\"words\"",
        "ops(axes(ten.transpose), operands(ten.concat))", "ops(negatives(ten.mul), reads(nn.conv))",
        "before(exchanges(ten.transpose), operand(ten.matmul, 1))",
        "ops(nn.softmax {axis = -2}, ten.reshape {rank = 3})",
        "before({ten.neg, axes(ten.reshape {rank = 3})}, {operand(ten.mul, 0), ten.add})",
        "ops(fused.attention {out_layout = \"bshd\"})"})
    EXPECT_EQ(Lowers(text), text);
  EXPECT_EQ(Lowers("ops(div)"), "ops(ten.div)");
  EXPECT_EQ(ToString(OpsBefore({"ten.neg"}, {"ten.mul"})), "before(ten.neg, ten.mul)");
  EXPECT_THAT(Lowers("ops(dif)"),
              HasSubstr("x.drr:1:49: there is no op 'dif'; did you mean 'div'?"));
  EXPECT_THAT(Lowers("operations"),
              HasSubstr("expected ops(…), before(…), elements, bytes or a text in quotes"));
  EXPECT_THAT(Lowers("before(neg)"), HasSubstr("expected ',', got ')'"));
  EXPECT_THAT(Lowers("ops(neg {axis = 1})"),
              HasSubstr("x.drr:1:54: ten.neg has no attribute 'axis'"));
  EXPECT_THAT(Lowers("ops(exchanges(neg))"), HasSubstr("ten.neg has no attribute 'perm'"));
  EXPECT_THAT(Lowers("ops(reshape {rank = x})"), HasSubstr("expected a whole number, got 'x'"));
  EXPECT_THAT(Lowers("before(neg, operand(mul, -1))"), HasSubstr("there is no operand -1"));
  EXPECT_THAT(Lowers("before(neg, axes(mul))"), HasSubstr("there is no op 'axes'"));
}

TEST_F(MeasureTest, CountsOperationsPairsAndElements) {
  auto module = ParseModule(
      context_,
      R"(func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2x3xf32>):
  %c = core.constant() <{value = dense<1.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %0 = ten.neg(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = ten.abs(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = ten.mul(%1, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = ten.mul(%2, %c) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return(%3) : (tensor<2x3xf32>) -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Operation*> ops;
  (*module)->WalkPreOrder([&](Operation* op) {
    if (op->num_results() > 0 && op->num_regions() == 0) ops.push_back(op);
    return true;
  });
  ASSERT_EQ(ops.size(), 5u);
  EXPECT_EQ(MeasureOf(OpsOf({"ten.mul"}), ops), 2);
  EXPECT_EQ(MeasureOf(OpsOf({"ten.mul", "ten.neg"}), ops), 3);
  EXPECT_EQ(MeasureOf(OpsBefore({"ten.neg"}, {"ten.mul"}), ops), 3);
  EXPECT_EQ(MeasureOf(OpsBefore({"ten.mul"}, {"ten.mul"}), ops), 1);
  EXPECT_EQ(MeasureOf(OpsBefore({"ten.mul"}, {"ten.neg"}), ops), 0);
  EXPECT_EQ(MeasureOf(ElementsComputed(), ops), 24);
  EXPECT_EQ(MeasureOf(BytesComputed(), ops), 96);
  EXPECT_EQ(MeasureOf(Measure(), ops), std::nullopt);
}

TEST_F(MeasureTest, WeighsOperations) {
  auto module = ParseModule(
      context_,
      R"(func.func() <{function_type = (tensor<2x3x4xf32>) -> tensor<4x6xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2x3x4xf32>):
  %c = core.constant() <{value = dense<-2.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%x, %c) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %1 = nn.softmax(%0) <{axis = 1 : i64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = ten.transpose(%1) <{perm = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %3 = ten.reshape(%2) <{shape = #core.dims<4, 6>}> : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
  %4 = ten.sub(%3, %c) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  func.return(%4) : (tensor<4x6xf32>) -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Operation*> ops;
  (*module)->WalkPreOrder([&](Operation* op) {
    if (op->num_results() > 0 && op->num_regions() == 0 && !op->Has(Trait::kConstantLike))
      ops.push_back(op);
    return true;
  });
  ASSERT_EQ(ops.size(), 5u);
  EXPECT_EQ(MeasureOf(OpsOf({AxesOf("ten.transpose"), AxesOf("ten.reshape")}), ops), 5);
  EXPECT_EQ(MeasureOf(OpsOf({ExchangesOf("ten.transpose")}), ops), 2);
  EXPECT_EQ(MeasureOf(OpsOf({OperandsOf("ten.mul"), OperandsOf("ten.reshape")}), ops), 3);
  EXPECT_EQ(MeasureOf(OpsOf({NegativesOf("ten.mul"), NegativesOf("ten.sub")}), ops), 2);
  EXPECT_EQ(MeasureOf(OpsOf({ReadsOf("ten.mul")}), ops), 25);
  EXPECT_EQ(MeasureOf(OpsOf({MeasuredOp("nn.softmax").With("axis", 1)}), ops), 1);
  EXPECT_EQ(MeasureOf(OpsOf({MeasuredOp("nn.softmax").With("axis", -2)}), ops), 1);
  EXPECT_EQ(MeasureOf(OpsOf({MeasuredOp("nn.softmax").With("axis", -1)}), ops), 0);
  EXPECT_EQ(MeasureOf(OpsOf({MeasuredOp("ten.reshape").With("rank", 2)}), ops), 1);
  EXPECT_EQ(MeasureOf(OpsBefore({ExchangesOf("ten.transpose")}, {"ten.sub"}), ops), 2);
  EXPECT_EQ(MeasureOf(OpsBefore({"core.constant"}, {"ten.sub"}), ops), 2);
  EXPECT_EQ(MeasureOf(OpsBefore({"ten.mul"}, {MeasuredOp("ten.sub").At(1)}), ops), 0);
  EXPECT_EQ(MeasureOf(OpsBefore({"ten.mul"}, {MeasuredOp("ten.sub").At(0)}), ops), 1);
}

// Folding removes what a rule computes with constants alone.
TEST_F(MeasureTest, OperationsOnConstantsThatARuleMakesDoNotCount) {
  const std::string moved = "match add(relu(x), const c) replace relu(add(x, relu(c))) lowers ";
  EXPECT_THAT(Check(moved + "ops(add)"), HasSubstr("it is 1 before and 1 after"));
  EXPECT_THAT(Check(moved + "before(relu, add)"), Not(HasSubstr("does not lower")));
}

// What readers alone understand ends no loop.
TEST_F(MeasureTest, BuiltInRulesLowerNumbers) {
  for (const Rule& rule : AllRules())
    EXPECT_NE(rule.lowers().kind, Measure::Kind::kWords) << rule.name();
}

TEST_F(MeasureTest, TheCheckMeasuresApplications) {
  const std::string quotient =
      "match div(x, splat(2)) where float(x) replace mul(x, splat(0.5)) lowers ";
  EXPECT_EQ(Check(quotient + "ops(div)"), "");
  EXPECT_EQ(Check(quotient + "\"divisions\""), "");
  EXPECT_THAT(
      Check(quotient + "ops(mul)"),
      HasSubstr("rule 'r' (x.drr:1) does not lower ops(ten.mul): it is 0 before and 1 after"));
  EXPECT_THAT(Check(quotient + "elements"), HasSubstr("does not lower elements"));
  const std::string sign =
      "match relu(transpose(x) {perm = p}) replace transpose(relu(x)) {perm = "
      "p} lowers ";
  EXPECT_EQ(Check(sign + "before(transpose, relu)"), "");
  EXPECT_THAT(Check(sign + "before(relu, transpose)"), HasSubstr("does not lower before"));
}

TEST_F(MeasureTest, OperationsOfAMeasureExist) {
  const auto set = CompiledRules::Create(
      {Rule("r").Match(Neg(Val("x"))).Replace(Val("x")).Lowers(OpsOf({"my.op"}))}, context_);
  EXPECT_FALSE(set.ok());
  const Val x("x");
  const Rule other =
      Rule("r").Match(Neg(x)).Replace(x).Lowers(OpsOf({MeasuredOp("ten.neg").With("axis", 1)}));
  EXPECT_THAT(std::string(CompiledRules::Create({other}, context_).status().message()),
              HasSubstr("it lowers a number of ten.neg with 'axis', which is no attribute"));
}

}  // namespace
}  // namespace tenon::pattern
