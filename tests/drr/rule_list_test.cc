// Rules that are compiled as programs need them.
#include "drr/compile/rule_list.h"

#include <array>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "drr/rewrite/driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "patterns/shared_rules.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

// May a rule match in a program of these operations alone?
bool MayMatch(const Rule& rule, const std::vector<std::string>& program) {
  const drr::RuleList list({rule});
  drr::NeededOps ops;
  for (const std::string& op : program) list.Note(HashOpName(op), ops);
  return list.MayMatch(0, ops);
}

TEST(RuleList, ARuleNeedsEveryOperationOfItsSource) {
  const Val x("x");
  const Rule rule = Rule("r").Match(Add(Relu(x), Tanh(x))).Replace(Gelu(x));
  EXPECT_TRUE(MayMatch(rule, {"ten.add", "ten.tanh", "ten.relu", "ten.mul"}));
  EXPECT_FALSE(MayMatch(rule, {"ten.add", "ten.relu"}));
  EXPECT_FALSE(MayMatch(rule, {}));
}

TEST(RuleList, OfAlternativesItNeedsWhatAllHave) {
  const Val x("x"), y("y");
  const Rule rule =
      Rule("r").Match(Add(AnyOf(Relu(Exp(x)), Tanh(Exp(x)), Exp(x)), y)).Replace(Mul(x, y));
  EXPECT_TRUE(MayMatch(rule, {"ten.add", "ten.exp"}));
  EXPECT_FALSE(MayMatch(rule, {"ten.add", "ten.relu", "ten.tanh"}));
}

TEST(RuleList, ItNeedsNothingThatMayBeAbsent) {
  const Val x("x"), w("w"), b("b");
  const Rule rule =
      Rule("r").Match(Relu(nn::Conv(x, w, Maybe(Neg(b)), {.strides = {1, 1}}))).Replace(Relu(x));
  EXPECT_TRUE(MayMatch(rule, {"ten.relu", "nn.conv"}));
  EXPECT_FALSE(MayMatch(rule, {"ten.relu", "ten.neg"}));
}

TEST(RuleList, OrdersByBenefitAndKnowsTheRoots) {
  const Val x("x");
  const drr::RuleList list({Rule("a").Match(Relu(Exp(x))).Replace(x),
                            Rule("b").Match(AnyOf(Tanh(x), Relu(x))).Replace(x),
                            Rule("c").Match(Relu(x)).Replace(x).Benefit(2)});
  EXPECT_EQ(list.rules()[0].name(), "c");
  EXPECT_EQ(list.rules()[2].name(), "b");
  EXPECT_EQ(list.RulesAt(HashOpName("ten.relu")), (std::vector<uint16_t>{0, 1, 2}));
  EXPECT_EQ(list.RulesAt(HashOpName("ten.tanh")), (std::vector<uint16_t>{2}));
  EXPECT_TRUE(list.RulesAt(HashOpName("ten.exp")).empty());
}

// What a rule makes, others may need: neither is there at the beginning.
TEST(RuleList, SeesOperationsThatRulesMake) {
  Context context;
  RegisterAllDialects(context);
  const Val x("x");
  auto rules = std::make_shared<const drr::RuleList>(
      RuleSet{Rule("second").Match(Relu(Abs(x))).Replace(Abs(x)),
              Rule("first").Match(Relu(Exp(x))).Replace(Relu(Abs(x))).Lowers("exponentials")});
  const auto compiled = drr::CompiledRules::OnDemand(rules, context);
  auto module = ParseModule(context, R"(
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>):
  %e = "ten.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %r = "ten.relu"(%e) : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%r) : (tensor<2xf32>) -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  PassContext services;
  std::map<std::string, int64_t, std::less<>> counts;
  services.rule_counts = &counts;
  ASSERT_TRUE(drr::ApplyRules(compiled, module->get(), services).ok());
  EXPECT_EQ(counts["first"], 1);
  EXPECT_EQ(counts["second"], 1);
  EXPECT_THAT(Print(**module), HasSubstr("ten.abs"));
}

TEST(RuleList, AnOperationThatTheContextLacksIsAnError) {
  Context context;  // without dialects
  const Val x("x");
  auto rules = std::make_shared<const drr::RuleList>(
      RuleSet{Rule("r").Match(Relu(Relu(x))).Replace(Relu(x))});
  const auto compiled = drr::CompiledRules::OnDemand(rules, context);
  EXPECT_THAT(std::string(compiled.Get(0).status().message()),
              HasSubstr("op 'ten.relu' is not registered"));
  RegisterAllDialects(context);
  EXPECT_TRUE(compiled.Get(0).ok());
}

TEST(SharedRules, AreMadeOnceAndServeThreadsAndContexts) {
  std::vector<std::thread> threads;
  std::array<std::map<std::string_view, const drr::RuleList*>, 4> seen;
  for (auto& mine : seen) {
    threads.emplace_back([&mine] {
      Context context;
      RegisterAllDialects(context);
      for (const Family& family : Families()) {
        const auto list = SharedRulesOf(family);
        mine[family.name] = list.get();
        const auto rules = drr::CompiledRules::OnDemand(list, context);
        for (size_t i = 0; i < list->rules().size(); ++i)
          EXPECT_TRUE(rules.Get(static_cast<uint16_t>(i)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : seen) EXPECT_EQ(other, seen[0]);
}

TEST(SharedRules, OneSetServesThreads) {
  Context context;
  RegisterAllDialects(context);
  const auto rules = drr::CompiledRules::OnDemand(SharedRulesOf(Families()[0]), context);
  std::array<const drr::CompiledRule*, 4> seen{};
  std::vector<std::thread> threads;
  for (const drr::CompiledRule*& mine : seen) {
    threads.emplace_back([&] {
      for (size_t i = rules.list().rules().size(); i-- > 0;)
        mine = *rules.Get(static_cast<uint16_t>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const drr::CompiledRule* other : seen) EXPECT_EQ(other, seen[0]);
}

}  // namespace
}  // namespace tenon::pattern
