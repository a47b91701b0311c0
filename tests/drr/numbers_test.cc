// The numbers of a rule: constants that it may compute, and what it may give up without a proof.
#include <ctime>
#include <string>

#include "drr/check/check.h"
#include "drr/rewrite/constant_guard.h"
#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/rule_log.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class NumbersTest : public ::testing::Test {
 protected:
  NumbersTest() : evaluator_(MakeKernelRegistry()) {
    RegisterAllDialects(context_);
    pass_.evaluator = &evaluator_;
  }

  // "fires", or where the rule nearly matches a function of %x with these operations.
  std::string Apply(const Rule& rule, const std::string& type, const std::string& body) {
    auto compiled = CompiledRules::Create({rule}, context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module =
        ParseModule(context_, "func.func() <{function_type = (" + type + ") -> " + type +
                                  ", sym_name = \"f\"}> ({\n^bb0(%x: " + type + "):\n" + body +
                                  "  func.return(%r) : (" + type + ") -> ()\n}) : () -> ()\n");
    if (!module.ok()) return std::string(module.status().message());
    RuleLog log;
    log.wanted = [](std::string_view) { return true; };
    EXPECT_TRUE(FindMisses(*compiled, module->get(), pass_, log).ok());
    const auto result = ApplyRules(*compiled, module->get(), pass_);
    if (!result.ok()) return std::string(result.status().message());
    return result->rewrites > 0 ? "fires" : ExplainText(log, rule.name());
  }

  // x * a * b for numbers of a type, or for four of them
  std::string Scaled(const std::string& dtype, const std::string& a, const std::string& b,
                     bool four = false) {
    const std::string type = "tensor<4x" + dtype + ">";
    const std::string number = four ? type : "tensor<" + dtype + ">";
    const std::string operands = " : (" + type + ", " + number + ") -> " + type + "\n";
    const auto constant = [&](const std::string& name, const std::string& value) {
      return "  " + name + " = core.constant() <{value = dense<" + value + "> : " + number +
             "}> : () -> " + number + "\n";
    };
    Val x("x"), p = Const("p"), q = Const("q");
    return Apply(
        Rule("scale").Match(Mul(Mul(x, p), q)).Replace(Mul(x, Mul(p, q))).Lowers("products"), type,
        constant("%a", a) + constant("%b", b) + "  %m = ten.mul(%x, %a)" + operands +
            "  %r = ten.mul(%m, %b)" + operands);
  }

  Rule RootOfPower() {
    Val x("x");
    return Rule("root")
        .Match(Pow(x, Splat(0.5)))
        .IgnoresInfinity(If(
            "x is never negative", [](Value) { return false; }, x))
        .Replace(Sqrt(x))
        .Lowers("powers");
  }
  std::string Power(const Rule& rule) {
    return Apply(rule, "tensor<4xf32>",
                 "  %h = core.constant() <{value = dense<5.0e-01> : tensor<f32>}> : () -> "
                 "tensor<f32>\n  %r = ten.pow(%x, %h) : (tensor<4xf32>, tensor<f32>) -> "
                 "tensor<4xf32>\n");
  }

  // A chain of operations, each with the number 2 if it is a power, the last one %r.
  static std::string Chain(const std::vector<std::string>& ops, int length,
                           const std::string& from = "%x") {
    std::string text =
        "  %two = core.constant() <{value = dense<2.0> : tensor<f32>}> : () -> "
        "tensor<f32>\n";
    std::string last = from;
    for (int i = 0; i < length; ++i) {
      const std::string& op = ops[static_cast<size_t>(i) % ops.size()];
      const std::string name = i + 1 == length ? "%r" : "%v" + std::to_string(i);
      text += "  " + name + " = " + op + "(" + last + (op == "ten.pow" ? ", %two" : "") +
              ") : (tensor<4xf32>" + (op == "ten.pow" ? ", tensor<f32>" : "") +
              ") -> tensor<4xf32>\n";
      last = name;
    }
    return text;
  }
  static Rule Square() {
    Val x("x");
    return Rule("square").Match(Pow(x, Splat(2))).Replace(Mul(x, x)).Lowers("powers");
  }

  Context context_;
  ReferenceEvaluator evaluator_;
  PassContext pass_;
};

TEST_F(NumbersTest, ConstantsOfAResultAreFiniteAndNormal) {
  EXPECT_EQ(Scaled("f32", "2.0", "3.0"), "fires");
  EXPECT_EQ(Scaled("f32", "0.0", "1.0e-30"), "fires");
  EXPECT_THAT(Scaled("f32", "1.0e+30", "1.0e+30"), HasSubstr("is infinite or NaN"));
  EXPECT_THAT(Scaled("f32", "1.0e-30", "1.0e-9"), HasSubstr("is subnormal"));
  EXPECT_THAT(Scaled("f32", "1.0e-30", "-1.0e-30"), HasSubstr("is too small for its type"));
  EXPECT_THAT(Scaled("f16", "1.0e+03", "1.0e+03"), HasSubstr("is infinite or NaN"));
  EXPECT_THAT(Scaled("f16", "1.0e-03", "1.0e-03"), HasSubstr("subnormal"));
  EXPECT_EQ(Scaled("bf16", "1.0e+03", "1.0e+03"), "fires");
  EXPECT_THAT(Scaled("f64", "1.0e+200", "1.0e+200"), HasSubstr("is infinite or NaN"));
  // What the program has already it may keep.
  EXPECT_EQ(Scaled("f32", "0xFF800000", "2.0"), "fires");
  EXPECT_EQ(Scaled("f32", "1.0e-40", "2.0"), "fires");
}

TEST_F(NumbersTest, ConstantsFollowFromChainsOfAnyLength) {
  std::vector<std::string> ops(100000, "ten.sin");
  ops.push_back("ten.pow");
  const int length = static_cast<int>(ops.size());
  EXPECT_EQ(Apply(Square(), "tensor<4xf32>", Chain(ops, length)), "fires");
  // The same where all of it is constant.
  std::fill(ops.begin(), ops.end() - 1, "ten.neg");
  const std::string large =
      "  %c = core.constant() <{value = dense<1.0e+30> : tensor<4xf32>}> : "
      "() -> tensor<4xf32>\n";
  EXPECT_THAT(Apply(Square(), "tensor<4xf32>", large + Chain(ops, length, "%c")),
              HasSubstr("is infinite or NaN"));
}

TEST_F(NumbersTest, EachRewriteOfAChainTakesAsLong) {
  const auto cost = [&](int length) {
    const std::string text = Chain({"ten.pow", "ten.sin"}, length);
    const std::clock_t start = std::clock();
    EXPECT_EQ(Apply(Square(), "tensor<4xf32>", text), "fires");
    return std::clock() - start;
  };
  cost(1000);
  EXPECT_LT(cost(32000), cost(4000) * 24);
}

// What the guard knows of a value follows its operands.
TEST_F(NumbersTest, ValuesBecomeConstants) {
  auto module = ParseModule(
      context_,
      "func.func() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = \"f\"}> ({\n"
      "^bb0(%x: tensor<f32>):\n"
      "  %c = core.constant() <{value = dense<1.0e+30> : tensor<f32>}> : () -> tensor<f32>\n"
      "  %v = ten.neg(%x) : (tensor<f32>) -> tensor<f32>\n"
      "  %w = ten.abs(%v) : (tensor<f32>) -> tensor<f32>\n"
      "  %r = ten.mul(%w, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
      "  func.return(%r) : (tensor<f32>) -> ()\n}) : () -> ()\n");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Operation*> ops;
  module->get()->Walk([&](Operation* op) {
    if (op->num_results() == 1) ops.push_back(op);
  });
  ASSERT_EQ(ops.size(), 4u);
  drr::ConstantGuard guard(&evaluator_);
  EXPECT_EQ(guard.Check(*ops[3]), "");
  guard.Replaced(ops[1]->result(), ops[0]->result());
  ops[1]->result().ReplaceAllUsesWith(ops[0]->result());
  EXPECT_THAT(guard.Check(*ops[3]), HasSubstr("is infinite or NaN"));
  // And back.
  ops[2]->set_operand(0, ops[1]->result());
  guard.Modified(ops[2]);
  EXPECT_EQ(guard.Check(*ops[3]), "");
}

// One element that the program has already excuses no other one.
TEST_F(NumbersTest, EachElementOfAResultIsFiniteAndNormal) {
  const std::string twos = "[2.0, 2.0, 2.0, 2.0]";
  EXPECT_EQ(Scaled("f32", "[1.0e-40, 1.0, 2.0, 3.0]", twos, true), "fires");
  EXPECT_EQ(Scaled("f32", "[0xFF800000, 1.0, 2.0, 3.0]", twos, true), "fires");
  EXPECT_THAT(Scaled("f32", "[1.0e-40, 1.0, 2.0, 1.0e-30]", "[2.0, 2.0, 2.0, 1.0e-9]", true),
              HasSubstr("is subnormal"));
  EXPECT_THAT(Scaled("f16", "[1.0e-7, 1.0, 2.0, 1.0e-3]", "[1.0, 1.0, 1.0, 1.0e-3]", true),
              HasSubstr("is subnormal"));
  EXPECT_THAT(Scaled("f32", "[0x7F800000, 1.0, 2.0, 1.0e+30]", "[2.0, 2.0, 2.0, 1.0e+30]", true),
              HasSubstr("is infinite or NaN"));
  EXPECT_THAT(Scaled("f16", "[0x7C00, 1.0, 2.0, 1.0e+3]", "[2.0, 2.0, 2.0, 1.0e+3]", true),
              HasSubstr("is infinite or NaN"));
  // A subnormal number does not excuse an infinite one.
  EXPECT_THAT(Scaled("f32", "[1.0e-40, 1.0, 2.0, 1.0e+30]", "[2.0, 2.0, 2.0, 1.0e+30]", true),
              HasSubstr("is infinite or NaN"));
}

TEST_F(NumbersTest, NumbersOfAResultAreFiniteAndNormal) {
  Val x("x");
  Attr<float> a("a");
  const auto scaled = [&](double by) {
    return Power(Rule("r")
                     .Match(Pow(x, Splat(a)))
                     .Replace(Mul(x, Splat(Compute([by](double p) { return p * by; }, a))))
                     .Lowers("powers"));
  };
  EXPECT_EQ(scaled(2), "fires");
  EXPECT_EQ(scaled(0), "fires");
  EXPECT_THAT(scaled(1e39), HasSubstr("f32 does not hold the number that the rule computes"));
  EXPECT_THAT(scaled(1e-39), HasSubstr("f32 does not hold the number"));
  EXPECT_THAT(scaled(std::numeric_limits<double>::infinity()),
              HasSubstr("the number that the rule computes is inf"));
}

TEST_F(NumbersTest, WhatIsGivenUpNeedsAProof) {
  EXPECT_THAT(Power(RootOfPower()),
              HasSubstr("the rule ignores infinity and needs a proof that x is never negative "
                        "(--fast-math applies it without one)"));
  pass_.fast_math = true;
  EXPECT_EQ(Power(RootOfPower()), "fires");
}

TEST_F(NumbersTest, WhatIsGivenUpIsTold) {
  Val x("x");
  const Rule rule = Rule("r")
                        .Match(Pow(x, Splat(0.5)))
                        .MayOverflow(Rank(x, 1))
                        .IgnoresSignOfZero()
                        .Replace(Sqrt(x))
                        .Lowers("powers");
  EXPECT_EQ(rule.assumptions(), "may overflow, ignores sign of zero");
  EXPECT_EQ(Rule("s").assumptions(), "");
  EXPECT_THAT(ToString(rule), HasSubstr("\n  may overflow unless rank(x) == 1\n"
                                        "  ignores sign of zero\n"));
}

TEST_F(NumbersTest, TextSaysWhatIsGivenUp) {
  const std::string text =
      "rule root {\n  match   pow(x, splat(0.5))\n  where   float(x)\n"
      "  ignores infinity unless constant(x)\n  may overflow\n  replace sqrt(x)\n"
      "  lowers  \"powers\"\n}\n";
  const auto rules = ParseRules(text, "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ((*rules)[0].assumptions(), "may overflow, ignores infinity");
  // The notation is read back.
  const auto again = ParseRules(ToString((*rules)[0]), "x.drr", context_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToString((*again)[0]), ToString((*rules)[0]));
  // Nothing proves that there is no overflow.
  EXPECT_THAT(Power((*rules)[0]), HasSubstr("the rule"));
  pass_.fast_math = true;
  EXPECT_EQ(Power((*rules)[0]), "fires");
  for (const char* wrong : {"ignores zero", "ignores sign of nothing", "may explode"}) {
    const auto refused = ParseRules(std::string("rule r { match relu(x) ") + wrong + " replace x }",
                                    "x.drr", context_);
    EXPECT_FALSE(refused.ok()) << wrong;
  }
}

// A rule that gives something up is checked with its proof where numbers are at the edges.
TEST_F(NumbersTest, GivenUpIsNotWrong) {
  EXPECT_TRUE(CheckRule(RootOfPower(), context_, evaluator_).ok());
  Val x("x");
  const Rule careless = Rule("root").Match(Pow(x, Splat(0.5))).Replace(Sqrt(x)).Lowers("powers");
  EXPECT_TRUE(CheckRule(careless, context_, evaluator_).wrong());
}

}  // namespace
}  // namespace tenon::pattern
