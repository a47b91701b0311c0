// No match, explanation or check takes exponential time: what can be found is found, and what
// cannot is an error that names the rule.
#include <string>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "pass/rule_log.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() { RegisterAllDialects(context_); }

  // "3 times", or the message of what is wrong; tells where the rule nearly matches, too.
  std::string Apply(const Rule& rule, const std::string& text) {
    auto compiled = CompiledRules::Create({rule}, context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module = ParseModule(context_, text);
    if (!module.ok()) return std::string(module.status().message());
    RuleLog log;
    log.wanted = [](std::string_view) { return true; };
    const absl::Status told = FindMisses(*compiled, module->get(), PassContext(), log);
    PassContext pass;
    const auto result = ApplyRules(*compiled, module->get(), pass);
    EXPECT_EQ(told.ok(), result.ok()) << told;
    if (!result.ok()) return std::string(result.status().message());
    return fmt::format("{} times", result->rewrites);
  }
  std::string Apply(const std::string& rule, const std::string& text) {
    auto rules = ParseRules(rule, "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    return Apply((*rules)[0], text);
  }
  std::string Register(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    auto set = CompiledRules::Create(*std::move(rules), context_);
    return set.ok() ? "accepted" : std::string(set.status().message());
  }

  Context context_;
};

constexpr char kTensor[] = "tensor<2x3xf32>";

std::string Function(int arguments, const std::string& body, const std::string& result) {
  std::string types, names;
  for (int i = 0; i < arguments; ++i) {
    types += fmt::format("{}{}", i > 0 ? ", " : "", kTensor);
    names += fmt::format("{}%x{}: {}", i > 0 ? ", " : "", i, kTensor);
  }
  return fmt::format(
      "func.func() <{{function_type = ({0}) -> {1}, sym_name = \"f\"}}> ({{\n^bb0({2}):\n{3}"
      "  func.return({4}) : ({1}) -> ()\n}}) : () -> ()\n",
      types, kTensor, names, body, result);
}
std::string Line(const std::string& result, const std::string& op, const std::string& a,
                 const std::string& b = "") {
  return b.empty() ? fmt::format("  {0} = {1}({2}) : ({3}) -> {3}\n", result, op, a, kTensor)
                   : fmt::format("  {0} = {1}({2}, {3}) : ({4}, {4}) -> {4}\n", result, op, a, b,
                                 kTensor);
}

// Sums of 32 leaves in a tree, as a rule and as a program.
std::string TreeRule(const std::string& rest) {
  std::string lets, parts[32];
  int next = 0;
  for (int i = 0; i < 32; ++i) parts[i] = fmt::format("x{}", i);
  for (int width = 32; width > 1; width /= 2) {
    for (int i = 0; i < width / 2; ++i) {
      const std::string name = fmt::format("s{}", next++);
      lets += fmt::format("let {} = add({}, {})\n", name, parts[2 * i], parts[2 * i + 1]);
      parts[i] = name;
    }
  }
  return "rule tree {\n" + lets + "match " + parts[0] + "\n" + rest + "}\n";
}
std::string TreeProgram(const std::string& more, const std::string& first = "%x0") {
  std::string body, parts[32];
  int next = 0;
  for (int i = 0; i < 32; ++i) parts[i] = i == 0 ? first : fmt::format("%x{}", i);
  for (int width = 32; width > 1; width /= 2) {
    for (int i = 0; i < width / 2; ++i) {
      const std::string name = fmt::format("%s{}", next++);
      body += Line(name, "ten.add", parts[2 * i], parts[2 * i + 1]);
      parts[i] = name;
    }
  }
  return Function(32, body + more, more.empty() ? parts[0] : "%end");
}

std::string Leaves(const std::string& separator) {
  std::string text;
  for (int i = 0; i < 32; ++i) text += fmt::format("{}x{}", i > 0 ? separator : "", i);
  return text;
}

TEST_F(BudgetTest, ATreeOfSumsMatches) {
  EXPECT_EQ(
      Apply(TreeRule("replace add(add(x0, x31), relu(concat(" + Leaves(", ") + ") {axis = 0}))"),
            TreeProgram("")),
      "0 times");  // the result has another shape: it is refused, once
  EXPECT_EQ(Apply(TreeRule("where float(x31) replace concat(x0) {axis = 0}"
                           " keep s0 where " +
                           Leaves(") && float(").insert(0, "float(") + ")"),
                  TreeProgram("")),
            "1 times");
}

// What fails for one leaf fails in each of the 2^31 orders of the sums.
TEST_F(BudgetTest, ConditionsThatNoOrderMeets) {
  EXPECT_EQ(Apply(TreeRule("where rank(x31) == 7 && " + Leaves(") && float(").insert(0, "float(") +
                           ") replace concat(x0) {axis = 0}"),
                  TreeProgram("")),
            "0 times");
}

TEST_F(BudgetTest, UsesOutside) {
  const std::string more = Line("%t", "ten.tanh", "%s5") + Line("%end", "ten.mul", "%s30", "%t");
  EXPECT_EQ(Apply(TreeRule("where " + Leaves(") && float(").insert(0, "float(") +
                           ") replace concat(x0) {axis = 0}"),
                  TreeProgram(more)),
            "0 times");
}

// Each sum is of the two before it: 2^30 ways lead down.
TEST_F(BudgetTest, ChainsThatManyWaysLeadDown) {
  std::string body = Line("%s1", "ten.add", "%x0", "%x1") + Line("%s2", "ten.add", "%s1", "%x1");
  for (int i = 3; i <= 40; ++i)
    body += Line(fmt::format("%s{}", i), "ten.add", fmt::format("%s{}", i - 1),
                 fmt::format("%s{}", i - 2));
  Val last("last");
  Val chain = Tanh(last);
  for (int i = 0; i < 31; ++i) chain = Add(chain, Val("_x"));
  EXPECT_EQ(Apply(Rule("chain").Match(Relu(chain)).Keep(chain).Replace(Tanh(last)).Lowers("sums"),
                  Function(2, body + Line("%end", "ten.relu", "%s40"), "%end")),
            "0 times");
}

// No order makes the leaves one type: there is no shorter way to find that than to try them all.
TEST_F(BudgetTest, WhatCannotBeFoundIsAnError) {
  std::string program = TreeProgram("");
  const size_t at = program.find("%x31: tensor<2x3xf32>");
  program.replace(at, std::string("%x31: tensor<2x3xf32>").size(), "%x31: tensor<3xf32>");
  const size_t type = program.find(", tensor<2x3xf32>) ->");
  program.replace(type, std::string(", tensor<2x3xf32>) ->").size(), ", tensor<3xf32>) ->");
  const size_t use = program.find("%x31)");
  const size_t operands = program.find("tensor<2x3xf32>) ->", use);
  program.replace(operands, std::string("tensor<2x3xf32>").size(), "tensor<3xf32>");
  const std::string told = Apply(
      TreeRule("where same_type(" + Leaves(", ") + ") replace concat(x0) {axis = 0}"), program);
  EXPECT_THAT(told, HasSubstr("rule 'tree' (x.drr:1) is not decided here in 131072 steps"));
}

// Written out, these graphs have 2^35 parts and more.
TEST_F(BudgetTest, PartsThatAreSharedOften) {
  const auto chain = [](const std::string& first, const std::string& step, int length,
                        const std::string& rest) {
    std::string text = "rule chain {\nlet a0 = " + first + "\n";
    for (int i = 1; i <= length; ++i) {
      std::string part = step;
      for (size_t at = part.find('@'); at != std::string::npos; at = part.find('@'))
        part.replace(at, 1, fmt::format("a{}", i - 1));
      text += fmt::format("let a{} = {}\n", i, part);
    }
    return text + rest + "\n}\n";
  };
  std::string body = Line("%s0", "ten.tanh", "%x0");
  for (int i = 1; i <= 35; ++i)
    body += Line(fmt::format("%s{}", i), "ten.add", fmt::format("%s{}", i - 1),
                 fmt::format("%s{}", i - 1));
  const std::string program = Function(1, body + Line("%end", "ten.relu", "%s35"), "%end");
  const std::string end = "match relu(a35) replace neg(x)";
  EXPECT_EQ(Apply(chain("tanh(x)", "add(@, @)", 35, end), program), "1 times");
  EXPECT_EQ(Apply(chain("exp(x)", "add(@, @)", 35, end), program), "0 times");
  for (const char* step : {"any(add(@, @) | mul(@, @))", "any(@ | add(@, @))"}) {
    EXPECT_THAT(Apply(chain("exp(x)", step, 35, end + " lowers \"x\""), program),
                HasSubstr("alternatives of alternatives combine in too many ways"));
  }
  const std::string short_end = "match relu(a12) replace neg(x)";
  EXPECT_EQ(Apply(chain("tanh(x)", "any(mul(@, @) | add(@, @))", 12, short_end),
                  Function(1, body + Line("%end", "ten.relu", "%s12"), "%end")),
            "1 times");
  EXPECT_EQ(Apply(chain("exp(x)", "any(mul(@, @) | add(@, @))", 12, short_end),
                  Function(1, body + Line("%end", "ten.relu", "%s12"), "%end")),
            "0 times");
  EXPECT_EQ(Apply(chain("tanh(x)", "(@ let n = 1)", 150,
                        "match neg(a150) replace nn.softmax(x) {axis = n}"),
                  program),
            "0 times");
  // Alternatives that are one, and roots beside each other.
  EXPECT_NE(Register(chain("tanh(x)", "any(@ | @)", 150, "match neg(a150) replace neg(x)")), "");
  EXPECT_NE(Register(chain("tanh(x)", "any((@ let n = 1) | (@ let n = 2))", 60,
                           "match neg(a60) replace nn.softmax(x) {axis = n}")),
            "");
  EXPECT_EQ(Register(chain("tanh(_y)", "add(@, @)", 60,
                           "match relu(x), mul(a60, x)\nreplace neg(x), exp(x)")),
            "accepted");
  EXPECT_THAT(Register(chain("tanh(y)", "add(@, @)", 60,
                             "match relu(x), mul(a60, exp(z))\nreplace neg(x), exp(z)")),
              HasSubstr("is not connected with the first one"));
}

TEST_F(BudgetTest, PartsOneInTheOther) {
  Val x("x");
  Val chain = x;
  for (int i = 0; i < 5000; ++i) chain = Neg(chain);
  EXPECT_THAT(Apply(Rule("deep").Match(Relu(chain)).Replace(Neg(x)), Function(1, "", "%x0")),
              HasSubstr("rule 'deep': nested too deeply (expected at most 200 parts"));
}

TEST_F(BudgetTest, DimensionsThatAreSharedOnce) {
  Val x("x");
  Dim a("A");
  const Rule rule = Rule("dims")
                        .Match(Reshape(Relu(x), {.shape = {a, AnyDim()}}))
                        .Where(ShapeIs(x, {a + a}))
                        .Replace(Reshape(Tanh(x), {.shape = {a, 2}}))
                        .Lowers("relus");
  const std::string program =
      "func.func() <{function_type = (tensor<6xf32>) -> tensor<3x2xf32>, sym_name = \"f\"}> ({\n"
      "^bb0(%x: tensor<6xf32>):\n  %r = ten.relu(%x) : (tensor<6xf32>) -> tensor<6xf32>\n"
      "  %s = ten.reshape(%r) <{shape = #core.dims<3, 2>}> : (tensor<6xf32>) -> tensor<3x2xf32>\n"
      "  func.return(%s) : (tensor<3x2xf32>) -> ()\n}) : () -> ()\n";
  EXPECT_EQ(Apply(rule, program), "1 times");
}

TEST_F(BudgetTest, DimensionsThatAreSharedOften) {
  Val x("x");
  Dim a("A");
  Dim sum = a;
  for (int i = 0; i < 60; ++i) sum = sum + sum;
  const Rule rule =
      Rule("dims").Match(Relu(Neg(x))).Where(ShapeIs(x, {a})).Replace(Reshape(x, {.shape = {sum}}));
  EXPECT_THAT(Apply(rule, Function(1, "", "%x0")),
              HasSubstr("a dimension expression has more than 1000 terms"));
}

// Each attempt is bounded, and so are all of a rule in a function together.
TEST_F(BudgetTest, NearMissesOfManyPlaces) {
  std::string lets = "rule sums {\n let a0 = add(x, x)\n";
  for (int i = 1; i < 40; ++i) lets += fmt::format(" let a{0} = add(a{1}, a{1})\n", i, i - 1);
  auto rules = ParseRules(lets + " match a39\n replace x\n}\n", "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto compiled = CompiledRules::Create(*std::move(rules), context_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  std::string body;
  for (int i = 2; i <= 300; ++i)
    body += Line(fmt::format("%x{}", i), "ten.add", fmt::format("%x{}", i - 1), "%x1");
  auto module = ParseModule(context_, Function(2, body, "%x300"));
  ASSERT_TRUE(module.ok()) << module.status();
  int warnings = 0;
  const ScopedDiagnosticHandler count(context_, [&](const Diagnostic& diagnostic) {
    EXPECT_THAT(diagnostic.message, HasSubstr("was cut off at"));
    ++warnings;
  });
  RuleLog log;
  log.wanted = [](std::string_view) { return true; };
  for (int times = 0; times < 3; ++times)
    ASSERT_TRUE(FindMisses(*compiled, module->get(), PassContext(), log).ok());
  EXPECT_EQ(warnings, 1);
  EXPECT_THAT(log.cut_off, ::testing::ElementsAre("sums"));
}

}  // namespace
}  // namespace tenon::pattern
