// The automaton finds every rule that matches, and few others.
#include "drr/automaton/automaton.h"

#include <limits>
#include <random>
#include <string>

#include "drr/check/instance.h"
#include "drr/match/matcher.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AutomatonTest : public ::testing::Test {
 protected:
  AutomatonTest() { RegisterAllDialects(context_); }

  CompiledRules Rules(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_);
    EXPECT_TRUE(rules.ok()) << rules.status();
    auto compiled =
        CompiledRules::Create(*std::move(rules), context_, CompiledRules::Together::kKnown);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return *std::move(compiled);
  }
  // The names of the rules that may match at the last operation of the function but its return.
  std::vector<std::string> Candidates(const CompiledRules& rules, const std::string& body) {
    auto module = ParseModule(context_, R"(
"func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>):
)" + body + R"(
  "func.return"(%o) : (tensor<4x8xf32>) -> ()
}) : () -> ()
)");
    EXPECT_TRUE(module.ok()) << module.status();
    Operation* last = nullptr;
    (*module)->Walk([&](Operation* op) {
      if (op->num_results() > 0) last = op;
    });
    const Automaton* automaton = rules.AutomatonAt(last->id());
    std::vector<std::string> names;
    if (automaton == nullptr) return names;
    Automaton::Scratch scratch;
    for (const uint16_t rule : automaton->Find(last, scratch))
      names.push_back(rules.list().rules()[rule].name());
    return names;
  }

  Context context_;
};

// Programs of every built-in rule: whatever matches somewhere is a candidate there.
TEST_F(AutomatonTest, EveryMatchIsACandidate) {
  std::mt19937_64 random(1);
  Matcher matcher(context_);
  Automaton::Scratch scratch;
  int matches = 0, candidates = 0, attempts = 0;
  for (const Family& family : Families()) {
    auto rules = CompiledRules::Create(RulesOf(family), context_, CompiledRules::Together::kKnown);
    ASSERT_TRUE(rules.ok()) << rules.status();
    for (uint16_t r = 0; r < rules->list().rules().size(); ++r) {
      for (int i = 0; i < 12; ++i) {
        std::string why;
        const auto plan =
            InstancePlan::Make(**rules->Get(r), context_, random, drr::kNone, -1, &why);
        if (!plan) continue;
        const auto instance = plan->Build(i % 2 == 0 ? DType::kF32 : DType::kF16);
        if (!instance) continue;
        instance->module->Walk([&](Operation* op) {
          const std::vector<uint16_t>& at = rules->list().RulesAt(op->id());
          const Automaton* automaton = rules->AutomatonAt(op->id());
          ASSERT_EQ(automaton == nullptr, at.empty());
          if (automaton == nullptr) return;
          const auto found = automaton->Find(op, scratch);
          const std::vector<uint16_t> may(found.begin(), found.end());
          candidates += static_cast<int>(may.size());
          for (const uint16_t number : at) {
            ++attempts;
            if (!matcher.Match(**rules->Get(number), op)) continue;
            ++matches;
            EXPECT_TRUE(std::binary_search(may.begin(), may.end(), number))
                << rules->list().rules()[number].name() << " at " << op->name() << " in\n"
                << Print(*instance->module);
          }
        });
      }
    }
  }
  EXPECT_GT(matches, 1000);
  EXPECT_LT(candidates - matches, attempts / 8);
}

TEST_F(AutomatonTest, NumbersAreFoundWithTheirTolerance) {
  std::string text;
  for (const char* number : {"0.3", "0.30001", "0.5", "1e30", "-0.3"})
    text += fmt::format("rule n{} {{ match mul(x, splat({})) replace x }}\n", number, number);
  const CompiledRules rules = Rules(text);
  const auto at = [&](const std::string& number) {
    return Candidates(rules, fmt::format(R"(
  %c = "core.constant"() <{{value = dense<{}> : tensor<f32>}}> : () -> tensor<f32>
  %o = "ten.mul"(%c, %x) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>)",
                                         number));
  };
  EXPECT_THAT(at("0.3"), ElementsAre("n0.3"));
  EXPECT_THAT(at("0.300002"), ElementsAre("n0.3"));
  EXPECT_THAT(at("0.30001"), ElementsAre("n0.30001"));
  EXPECT_THAT(at("0.5"), ElementsAre("n0.5"));
  EXPECT_THAT(at("0.500002"), IsEmpty());
  EXPECT_THAT(at("-0.3"), ElementsAre("n-0.3"));
  EXPECT_THAT(at("1.0e30"), ElementsAre("n1e30"));
  EXPECT_THAT(at("0x7F800000"), IsEmpty());
  EXPECT_THAT(at("0x7FC00000"), IsEmpty());
}

TEST_F(AutomatonTest, RulesDifferInAttributesDepthAndConditions) {
  const CompiledRules rules = Rules(R"(
rule perm-10 { match tanh(transpose(x) {perm = {1, 0}}) replace x }
rule perm-01 { match tanh(transpose(x) {perm = {0, 1}}) replace x }
rule last { match tanh(softmax(x) {axis = -1}) replace x }
rule last-but-one { match tanh(softmax(x) {axis = -2}) replace x }
rule deep { match tanh(exp(exp(x))) replace x }
rule rank-3 { match tanh(exp(x)) where rank(x) == 3 replace x }
rule rank-2 { match tanh(exp(x)) where rank(x) == 2 replace x }
rule half { match tanh(exp(x)) where dtype(x) == f16 || dtype(x) == bf16 replace x }
rule wide { match tanh(exp(x)) where dim(x, 1) == 8 replace x }
rule twice { match tanh(add(x, x)) replace x }
rule once { match tanh(add(exp(x), _y)) replace x }
)");
  const auto at = [&](const std::string& ops) {
    return Candidates(rules, ops + R"(
  %o = "ten.tanh"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>)");
  };
  EXPECT_THAT(
      at(R"(%a = "nn.softmax"(%x) <{axis = 1 : i64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
      ElementsAre("last"));
  EXPECT_THAT(
      at(R"(%a = "nn.softmax"(%x) <{axis = 0 : i64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
      ElementsAre("last-but-one"));
  EXPECT_THAT(at(R"(%a = "ten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
              ElementsAre("rank-2", "wide"));
  EXPECT_THAT(at(R"(%b = "ten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = "ten.exp"(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
              ElementsAre("deep", "rank-2", "wide"));
  EXPECT_THAT(
      at(R"(%a = "ten.add"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)"),
      ElementsAre("twice"));
  EXPECT_THAT(
      at(R"(%a = "ten.add"(%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)"),
      IsEmpty());
  EXPECT_THAT(at(R"(%b = "ten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = "ten.add"(%y, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)"),
              ElementsAre("once"));
}

// States grow with the rules, and not with their products.
TEST_F(AutomatonTest, AThousandRulesShareTheirTests) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += fmt::format("rule r{} {{ match add(x, splat({})) replace x }}\n", i, 1000.5 + i);
  const CompiledRules rules = Rules(text);
  const Automaton* automaton = rules.AutomatonAt(HashOpName("ten.add"));
  ASSERT_NE(automaton, nullptr);
  EXPECT_LT(automaton->num_states(), 5000u);
  EXPECT_THAT(Candidates(rules, R"(
  %c = "core.constant"() <{value = dense<1234.5> : tensor<f32>}> : () -> tensor<f32>
  %o = "ten.add"(%x, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>)"),
              ElementsAre("r234"));
}

TEST_F(AutomatonTest, IsAGraphForGraphviz) {
  const CompiledRules rules = Rules(
      "rule double { match add(x, x) replace mul(x, splat(2)) lowers \"sums\" }\n"
      "rule gate { match add(x, splat(0.5)) where rank(x) == 2 replace x }\n");
  const Automaton* automaton = rules.AutomatonAt(HashOpName("ten.add"));
  ASSERT_NE(automaton, nullptr);
  const std::string dot = automaton->ToDot(context_, rules.list());
  EXPECT_EQ(dot, automaton->ToDot(context_, rules.list()));
  EXPECT_THAT(dot, HasSubstr("digraph \"ten.add\" {"));
  EXPECT_THAT(dot, HasSubstr("number of 1?"));
  EXPECT_THAT(dot, HasSubstr("[label=\"0.5\"]"));
  EXPECT_THAT(dot, HasSubstr("double"));
  EXPECT_THAT(dot, HasSubstr("gate"));
}

}  // namespace
}  // namespace tenon::pattern
