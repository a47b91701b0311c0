// Labels find every rule that matches, and few others, also while the program changes.
#include "drr/automaton/labels.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "drr/check/instance.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/bench/scaling_rules.h"

namespace tenon::pattern {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LabelsTest : public ::testing::Test {
 protected:
  LabelsTest() { RegisterAllDialects(context_); }

  CompiledRules Compile(std::vector<Rule> rules) {
    auto compiled =
        CompiledRules::Create(std::move(rules), context_, CompiledRules::Together::kKnown);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return *std::move(compiled);
  }
  CompiledRules Rules(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_);
    EXPECT_TRUE(rules.ok()) << rules.status() << "\n" << text;
    return Compile(*std::move(rules));
  }
  static Labels LabelsOf(const CompiledRules& rules) {
    auto table = std::make_shared<PatternTable>();
    for (uint16_t i = 0; i < rules.list().rules().size(); ++i) table->Add(i, **rules.Get(i));
    table->Finish();
    return Labels(std::move(table));
  }
  OwnedOp Program(const std::string& body, const std::string& type) {
    auto module = ParseModule(context_, fmt::format(R"(
"func.func"() <{{function_type = (tensor<4x8xf32>, tensor<4x8xf32>) -> {}, sym_name = "f"}}> ({{
^bb0(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>):
{}
  "func.return"(%o) : ({}) -> ()
}}) : () -> ()
)",
                                                    type, body, type));
    EXPECT_TRUE(module.ok()) << module.status();
    return *std::move(module);
  }
  // The names of the rules that may match at the last operation but the return.
  std::vector<std::string> Candidates(const CompiledRules& rules, const std::string& body,
                                      const std::string& type = "tensor<4x8xf32>") {
    const OwnedOp module = Program(body, type);
    Operation* last = nullptr;
    module->Walk([&](Operation* op) {
      if (op->num_results() > 0) last = op;
    });
    Labels labels = LabelsOf(rules);
    std::vector<std::string> names;
    const auto found = labels.Find(last);
    EXPECT_TRUE(found.has_value());
    for (const uint16_t rule : *found) names.push_back(rules.list().rules()[rule].name());
    return names;
  }
  struct Counts {
    int matches = 0, candidates = 0, attempts = 0;
  };
  // Checks every rule at every operation.
  void Check(const CompiledRules& rules, Labels& labels, Operation& module, Counts& counts) {
    Matcher matcher(context_);
    module.Walk([&](Operation* op) {
      const auto found = labels.Find(op);
      if (!found) return;
      const std::vector<uint16_t> may(found->begin(), found->end());
      EXPECT_TRUE(std::is_sorted(may.begin(), may.end()));
      counts.candidates += static_cast<int>(may.size());
      for (const uint16_t number : rules.list().RulesAt(op->id())) {
        ++counts.attempts;
        if (!matcher.Match(**rules.Get(number), op)) continue;
        ++counts.matches;
        EXPECT_TRUE(std::binary_search(may.begin(), may.end(), number))
            << rules.list().rules()[number].name() << " at " << op->name() << " in\n"
            << Print(module);
      }
    });
  }
  // Programs that each rule matches.
  void CheckInstances(const CompiledRules& rules, int each, Counts& counts) {
    std::mt19937_64 random(1);
    Labels labels = LabelsOf(rules);
    for (uint16_t r = 0; r < rules.list().rules().size(); ++r) {
      for (int i = 0; i < each; ++i) {
        std::string why;
        const auto plan =
            InstancePlan::Make(**rules.Get(r), context_, random, drr::kNone, -1, &why);
        if (!plan) continue;
        const auto instance = plan->Build(i % 2 == 0 ? DType::kF32 : DType::kF16);
        if (!instance) continue;
        labels.Forget();
        Check(rules, labels, *instance->module, counts);
      }
    }
  }

  Context context_;
};

TEST_F(LabelsTest, EveryMatchOfABuiltInRuleIsACandidate) {
  Counts counts;
  for (const Family& family : Families()) CheckInstances(Compile(RulesOf(family)), 12, counts);
  EXPECT_GT(counts.matches, 1000);
  EXPECT_LT(counts.candidates - counts.matches, counts.attempts / 10);
}

TEST_F(LabelsTest, EveryMatchOfARuleOfABenchmarkIsACandidate) {
  for (int kind = 0; kind <= bench_rules::kAll; ++kind) {
    SCOPED_TRACE(bench_rules::kNames[kind]);
    Counts counts;
    CheckInstances(Rules(bench_rules::RuleTexts(static_cast<bench_rules::Kind>(kind), 60)), 2,
                   counts);
    // No small program has the extents, permutations and axes that these rules want.
    static constexpr bench_rules::Kind kLarge[] = {bench_rules::kAttributes,
                                                   bench_rules::kConditions, bench_rules::kTypes,
                                                   bench_rules::kVariadics};
    const bool large = std::find(std::begin(kLarge), std::end(kLarge), kind) != std::end(kLarge);
    EXPECT_TRUE(large || counts.matches > 10) << counts.matches;
  }
}

// Rules of parts at random, whose parts are alike, on programs of each other.
TEST_F(LabelsTest, EveryMatchOfARandomRuleIsACandidate) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::function<std::string(int)> part = [&](int depth) -> std::string {
    if (depth == 0 || pick(5) == 0) {
      const char* leaves[] = {"x", "y", "_z", "const _c", "splat(2)", "splat(0.3)", "splat(_s)"};
      std::string leaf = leaves[pick(7)];
      if (leaf == "_z") leaf += std::to_string(random() % 1000000);
      if (leaf == "splat(_s)") leaf = "splat(any)";
      if (leaf == "const _c") leaf = fmt::format("const _c{}", random() % 1000000);
      return leaf;
    }
    switch (pick(7)) {
      case 0:
      case 1:
        return fmt::format("add({}, {})", part(depth - 1), part(depth - 1));
      case 2:
        return fmt::format("mul({}, {})", part(depth - 1), part(depth - 1));
      case 3:
        return fmt::format("sub({}, {})", part(depth - 1), part(depth - 1));
      case 4:
        return fmt::format("softmax({}) {{axis = {}}}", part(depth - 1), pick(2) - 1);
      case 5:
        return fmt::format("any({} | {})", part(depth - 1), part(depth - 1));
      default:
        return fmt::format("exp({})", part(depth - 1));
    }
  };
  Counts counts;
  for (int set = 0; set < 20; ++set) {
    std::vector<Rule> rules;
    for (int i = 0; i < 40; ++i) {
      static constexpr const char* kConditions[] = {"", "where rank(x) == 2",
                                                    "where rank(x) >= 1 || dtype(x) == f16",
                                                    "where float(x)", "where dim(x, 0) >= 2"};
      const std::string text =
          fmt::format("rule r{} {{ match add({}, mul({}, x)) {} replace x }}\n", i, part(3),
                      part(2), kConditions[pick(5)]);
      auto parsed = ParseRules(text, "x.drr", context_);
      if (!parsed.ok()) continue;
      // Some are wrong, such as those of which nothing is left to compute.
      if (!CompiledRules::Create(*parsed, context_, CompiledRules::Together::kKnown).ok()) continue;
      rules.insert(rules.end(), parsed->begin(), parsed->end());
    }
    CheckInstances(Compile(std::move(rules)), 2, counts);
  }
  EXPECT_GT(counts.matches, 300);
}

TEST_F(LabelsTest, NoRuleOfABenchmarkIsACandidateInItsProgram) {
  for (const bool varied : {false, true}) {
    const OwnedOp module = bench_rules::MakeProgram(context_, 2000, varied);
    for (int kind = 0; kind <= bench_rules::kAll; ++kind) {
      SCOPED_TRACE(bench_rules::kNames[kind]);
      const CompiledRules rules =
          Rules(bench_rules::RuleTexts(static_cast<bench_rules::Kind>(kind), 200));
      Labels labels = LabelsOf(rules);
      size_t candidates = 0;
      module->Walk([&](Operation* op) {
        if (const auto found = labels.Find(op)) candidates += found->size();
      });
      EXPECT_EQ(candidates, 0u);
      EXPECT_LT(labels.num_labels(), 1000u);
      EXPECT_LT(labels.num_steps(), 2000u);
    }
  }
}

// The last condition alone would hold for all of them.
TEST_F(LabelsTest, AllConditionsOnANumberCount) {
  const CompiledRules rules = Rules(R"(
rule low { match add(x, splat(c)) where c > 1 && c < 2 replace x }
rule high { match add(x, splat(c)) where 2 < c && 9 >= c replace x }
rule negative { match add(x, splat(c)) where c >= -3 && c <= -1 && c < 9 replace x }
rule computed { match add(x, splat(c)) where c * 2 > 3 && c < 9 replace x }
rule one { match add(x, splat(c)) where c == 1.5 && c < 9 replace x }
rule outside { match add(x, splat(c)) where (c < 1 || c > 8) && c < 10 replace x }
)");
  const auto at = [&](const char* number) {
    return Candidates(
        rules,
        fmt::format(
            R"(%c = "core.constant"() <{{value = dense<{}> : tensor<f32>}}> : () -> tensor<f32>
 %o = "ten.add"(%x, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>)",
            number));
  };
  EXPECT_THAT(at("0.5"), ElementsAre("outside"));
  EXPECT_THAT(at("1.5"), ElementsAre("low", "one"));
  EXPECT_THAT(at("1.75"), ElementsAre("low", "computed"));
  EXPECT_THAT(at("2.0"), ElementsAre("computed"));
  EXPECT_THAT(at("0x7FC00000"), IsEmpty());  // NaN
  EXPECT_THAT(at("9.0"), ElementsAre("high", "outside"));
  EXPECT_THAT(at("-1.0"), ElementsAre("negative", "outside"));
  EXPECT_THAT(at("-4.0"), ElementsAre("outside"));
  EXPECT_THAT(at("100.0"), IsEmpty());
}

TEST_F(LabelsTest, AsksForTypesNumbersAttributesAndEqualOperands) {
  const CompiledRules rules = Rules(R"(
rule twice { match add(x, x) replace x }
rule deep { match add(exp(exp(x)), _y) replace x }
rule rank-3 { match add(exp(x), _y) where rank(x) == 3 replace x }
rule wide { match add(exp(x), _y) where dim(x, 1) > 6 && dim(x, 1) < 9 replace x }
rule narrow { match add(exp(x), _y) where dim(x, 1) < 6 replace x }
rule half { match add(exp(x), _y) where dtype(x) == f16 || dtype(x) == bf16 replace x }
rule last { match add(softmax(x) {axis = -1}, _y) replace x }
rule odd { match add(softmax(x) {axis = a}, _y) where a % 2 == 1 replace x }
rule first { match add(softmax(x) {axis = a}, _y) where a == 0 replace x }
rule small { match add(x, splat(c)) where c < 1 replace x }
rule third { match add(x, splat(0.3)) replace x }
)");
  const auto at = [&](const std::string& ops, const std::string& a, const std::string& b,
                      const std::string& types = "tensor<4x8xf32>, tensor<4x8xf32>") {
    return Candidates(rules, fmt::format("{}\n %o = \"ten.add\"({}, {}) : ({}) -> tensor<4x8xf32>",
                                         ops, a, b, types));
  };
  const std::string exp = R"(%a = "ten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>)";
  EXPECT_THAT(at("", "%x", "%y"), IsEmpty());
  EXPECT_THAT(at("", "%x", "%x"), ElementsAre("twice"));
  EXPECT_THAT(at(exp, "%a", "%y"), ElementsAre("wide"));
  EXPECT_THAT(at(exp, "%x", "%a"), ElementsAre("wide"));
  EXPECT_THAT(
      at(exp + "\n" + R"(%b = "ten.exp"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>)", "%b", "%y"),
      ElementsAre("deep", "wide"));
  const auto softmax = [](int axis) {
    return fmt::format(
        R"(%a = "nn.softmax"(%x) <{{axis = {} : i64}}> : (tensor<4x8xf32>) -> tensor<4x8xf32>)",
        axis);
  };
  EXPECT_THAT(at(softmax(1), "%a", "%y"), ElementsAre("last", "odd"));
  EXPECT_THAT(at(softmax(0), "%y", "%a"), ElementsAre("first"));
  const auto number = [](const std::string& text) {
    return fmt::format(
        "%a = \"core.constant\"() <{{value = dense<{}> : tensor<f32>}}> : () -> tensor<f32>", text);
  };
  const std::string types = "tensor<4x8xf32>, tensor<f32>";
  EXPECT_THAT(at(number("0.5"), "%x", "%a", types), ElementsAre("small"));
  EXPECT_THAT(at(number("0.3000001"), "%x", "%a", types), ElementsAre("small", "third"));
  EXPECT_THAT(at(number("2.0"), "%x", "%a", types), IsEmpty());
}

// A rule that matches an operand that labels do not keep is a candidate.
TEST_F(LabelsTest, OpsMayHaveManyOperands) {
  std::string names, types;
  for (int i = 0; i < 12; ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", i == 11 ? "%a" : i % 2 == 0 ? "%x" : "%y");
    types += fmt::format("{}tensor<4x8xf32>", i == 0 ? "" : ", ");
  }
  std::string sources[2];
  for (int i = 0; i < 12; ++i) {
    sources[0] += fmt::format("{}_x{}", i == 0 ? "" : ", ", i);
    sources[1] += i == 11 ? ", exp(y)" : fmt::format("{}_x{}", i == 0 ? "" : ", ", i);
  }
  const CompiledRules rules = Rules(
      fmt::format("rule any {{ match concat({}) {{axis = 0}} where rank(_x0) == 2 replace _x0 }}\n"
                  "rule exp {{ match concat({}) {{axis = 0}} replace y }}\n"
                  "rule few {{ match concat(x, exp(_y)) {{axis = 0}} replace x }}\n",
                  sources[0], sources[1]));
  const std::string body = fmt::format(R"(
  %a = "ten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = "ten.concat"({}) <{{axis = 0 : i64}}> : ({}) -> tensor<48x8xf32>)",
                                       names, types);
  EXPECT_THAT(Candidates(rules, body, "tensor<48x8xf32>"), ElementsAre("any", "exp"));
}

// Long chains in which every value has two uses below: labels are found from any place, once each.
TEST_F(LabelsTest, DeepRulesAreSearchedOnce) {
  const CompiledRules rules = Rules(bench_rules::RuleTexts(bench_rules::kNested, 200));
  const OwnedOp module = bench_rules::MakeProgram(context_, 2000, true);
  std::vector<Operation*> ops;
  module->Walk([&](Operation* op) { ops.push_back(op); });
  Labels labels = LabelsOf(rules);
  int unknown = 0, candidates = 0;
  for (size_t i = ops.size(); i-- > 0;) {
    labels.Forget();
    if (ops[i]->num_results() == 0) continue;
    const auto found = labels.Find(ops[i]);
    unknown += found ? 0 : 1;
    candidates += found ? static_cast<int>(found->size()) : 0;
  }
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(candidates, 0);
}

// The driver applies the same rules with labels and without.
TEST_F(LabelsTest, ResultsDoNotDependOnLabels) {
  std::mt19937_64 random(3);
  int rewrites = 0;
  for (const Family& family : Families()) {
    const CompiledRules rules = Compile(RulesOf(family));
    for (uint16_t r = 0; r < rules.list().rules().size(); ++r) {
      std::string why;
      const auto plan = InstancePlan::Make(**rules.Get(r), context_, random, drr::kNone, -1, &why);
      const auto instance = plan ? plan->Build(DType::kF32) : std::nullopt;
      if (!instance) continue;
      const std::string program = Print(*instance->module);
      std::string printed[2];
      for (const int labeled : {0, 1}) {
        auto module = ParseModule(context_, program);
        ASSERT_TRUE(module.ok()) << module.status();
        PassContext pass;
        drr::DriverOptions options;
        options.searches_before_labels = labeled != 0 ? 0 : 1000000;
        const auto result = drr::ApplyRules(rules, module->get(), pass, options);
        ASSERT_TRUE(result.ok()) << result.status();
        rewrites += static_cast<int>(result->rewrites);
        printed[labeled] = Print(**module);
      }
      EXPECT_EQ(printed[0], printed[1]) << program;
    }
  }
  EXPECT_GT(rewrites, 200);
}

}  // namespace
}  // namespace tenon::pattern
