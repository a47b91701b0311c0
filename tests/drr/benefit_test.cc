// The benefit of rules, at one operation and at different ones that overlap.
#include <map>
#include <string>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "pass/rewrite_step.h"

namespace tenon::drr {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Counts = std::map<std::string, int64_t, std::less<>>;

// Applies the rules to `ops`, which compute %o from %x.
// `denied`: a rule none of whose steps is allowed.
Counts Apply(const std::string& text, const std::vector<std::string>& ops,
             const std::string& denied = "") {
  Context context;
  RegisterAllDialects(context);
  auto rules = ParseRules(text, "x.drr", context);
  EXPECT_TRUE(rules.ok()) << rules.status();
  auto compiled =
      CompiledRules::Create(*std::move(rules), context, CompiledRules::Together::kKnown);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  std::string body;
  for (size_t i = 0; i < ops.size(); ++i)
    body +=
        fmt::format("  %{} = \"{}\"(%{}) : (tensor<4xf32>) -> tensor<4xf32>\n", i + 1, ops[i], i);
  auto module = ParseModule(context, fmt::format(R"(
"func.func"() <{{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f"}}> ({{
^bb0(%0: tensor<4xf32>):
{}  "func.return"(%{}) : (tensor<4xf32>) -> ()
}}) : () -> ()
)",
                                                 body, ops.size()));
  EXPECT_TRUE(module.ok()) << module.status();
  PassContext pass;
  Counts counts;
  pass.rule_counts = &counts;
  if (!denied.empty())
    pass.allow_rewrite = [&](const RewriteStep& step) { return step.name != denied; };
  EXPECT_TRUE(ApplyRules(*compiled, module->get(), pass).ok());
  return counts;
}

const std::vector<std::string> kFour = {"ten.exp", "ten.tanh", "ten.exp", "ten.tanh"};

TEST(BenefitTest, AChainOfFourWinsOverTwoOfTwo) {
  const Counts counts = Apply(R"(
rule two { match tanh(exp(x)) replace neg(x) benefit 2 }
rule four { match tanh(exp(tanh(exp(x)))) replace relu(x) benefit 4 }
)",
                              kFour);
  EXPECT_THAT(counts, ElementsAre(Pair("four", 1)));
}

TEST(BenefitTest, TheFirstRootWinsAmongEqualBenefits) {
  const Counts counts = Apply(R"(
rule two { match tanh(exp(x)) replace neg(x) }
rule four { match tanh(exp(tanh(exp(x)))) replace relu(x) }
)",
                              kFour);
  EXPECT_THAT(counts, ElementsAre(Pair("two", 2)));
}

// The root that is visited first has the shortest chain.
TEST(BenefitTest, ARepeatedStepTakesTheLongestChain) {
  EXPECT_THAT(Apply("rule erfs { match repeat(erf, x, 2, 6) replace neg(x) }",
                    std::vector<std::string>(11, "ten.erf")),
              ElementsAre(Pair("erfs", 2)));
  // Steps of two operations.
  std::vector<std::string> ops;
  for (int i = 0; i < 7; ++i) ops.insert(ops.end(), {"ten.exp", "ten.tanh"});
  EXPECT_THAT(Apply("pattern step(y) = tanh(exp(y))\n"
                    "rule steps { match repeat(step, x, 1, 4) replace neg(x) }",
                    ops),
              ElementsAre(Pair("steps", 2)));
}

// The longest match that is refused hides no shorter one.
TEST(BenefitTest, AChainThatIsTooLongEndsWhereItMay) {
  EXPECT_THAT(Apply("rule erfs { match repeat(erf, x, 2, 6) as n where n <= 3 replace neg(x) }",
                    std::vector<std::string>(8, "ten.erf")),
              ElementsAre(Pair("erfs", 3)));
}

TEST(BenefitTest, TheHighestOfThreeOverlappingRulesWins) {
  const Counts counts = Apply(R"(
rule two { match tanh(exp(x)) replace neg(x) benefit 1 }
rule middle { match exp(tanh(exp(x))) replace sqrt(x) benefit 2 }
rule four { match tanh(exp(tanh(exp(x)))) replace relu(x) benefit 3 }
)",
                              kFour);
  EXPECT_THAT(counts, ElementsAre(Pair("four", 1)));
}

// Each of two roots finds the other one, where the better rule is denied.
TEST(BenefitTest, ADeniedRuleGivesWay) {
  const Counts counts =
      Apply(R"(
rule three { match tanh(exp(tanh(x))) replace neg(x) benefit 1 }
rule four { match tanh(exp(tanh(exp(x)))) replace relu(x) benefit 2 }
)",
            {"ten.exp", "ten.tanh", "ten.exp", "ten.tanh", "ten.exp", "ten.tanh"}, "four");
  EXPECT_THAT(counts, ElementsAre(Pair("three", 1)));
}

TEST(BenefitTest, WhatDoesNotOverlapDoesNotMatter) {
  const Counts counts = Apply(R"(
rule two { match tanh(exp(x)) replace neg(x) benefit 1 }
rule roots { match sqrt(sqrt(x)) replace relu(x) benefit 5 }
)",
                              {"ten.exp", "ten.tanh", "ten.sqrt", "ten.sqrt"});
  EXPECT_THAT(counts, ElementsAre(Pair("roots", 1), Pair("two", 1)));
}

}  // namespace
}  // namespace tenon::drr
