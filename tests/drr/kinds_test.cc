// The kinds of the values that terms have, and of those that attributes and conditions take.
#include <string>

#include "drr/compile/compiled.h"
#include "drr/rewrite/driver.h"
#include "drr/rule/term_kinds.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/drr/why_refused.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KindsTest : public ::testing::Test {
 protected:
  KindsTest() { RegisterAllDialects(context_); }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_); }
  // add(x, mul(y, splat(n))) {...} becomes my.made with this attribute.
  static std::string Making(const std::string& attribute) {
    return "op my.made(x: float, y: float) {k: i64 = 2, f: f32 = 0.5, s: string = \"a\", "
           "l: i64s = {1}, d?: dims, b: bool = false, t: type = f32} -> elementwise\n"
           "rule r { match add(x, mul(y, splat(n))) replace my.made(x, y) {" +
           attribute + "} where n < 1e38 }";
  }
  // What the rule makes of the number, as text; "nothing" if it does not fire.
  std::string Made(const std::string& attribute, double number, const std::string& shape = "4x3") {
    auto rules = ParseRules(Making(attribute), "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    auto set = CompiledRules::Create(*std::move(rules), context_);
    if (!set.ok()) return std::string(set.status().message());
    const std::string type = "tensor<" + shape + "xf32>";
    auto module = ParseModule(
        context_,
        fmt::format("func.func() <{{function_type = ({0}, {0}) -> {0}, sym_name = \"f\"}}> ({{\n"
                    "^bb0(%x: {0}, %y: {0}):\n"
                    "  %n = core.constant() <{{value = dense<{1:.6e}> : tensor<f32>}}> : () -> "
                    "tensor<f32>\n"
                    "  %m = ten.mul(%y, %n) : ({0}, tensor<f32>) -> {0}\n"
                    "  %r = ten.add(%x, %m) : ({0}, {0}) -> {0}\n"
                    "  func.return(%r) : ({0}) -> ()\n}}) : () -> ()\n",
                    type, number));
    if (!module.ok()) return std::string(module.status().message());
    const auto result = ApplyRules(*set, module->get(), pass_);
    if (!result.ok()) return std::string(result.status().message());
    if (result->rewrites == 0) return "nothing";
    const std::string text = Print(**module);
    const size_t begin = text.find("my.made"), end = text.find("}>", begin);
    return text.substr(begin, end - begin);
  }
  Context context_;
  PassContext pass_;
};

TEST_F(KindsTest, WholeNumbersBecomeIntegers) {
  for (const char* term : {"n", "n * 1", "floor(n)", "integer(n)", "max(n, 1)", "rank(x) + 1"})
    EXPECT_THAT(Made(fmt::format("k = {}", term), 3), HasSubstr("k = 3 : i64")) << term;
  EXPECT_THAT(Made("l = {integer(n), 1}", 3), HasSubstr("l = array<i64: 3, 1>"));
  EXPECT_THAT(Made("l = shape(x)", 3), HasSubstr("l = array<i64: 4, 3>"));
  EXPECT_THAT(Made("f = rank(x)", 3), HasSubstr("f = 2.0"));
}

// No attribute falls back to its default.
TEST_F(KindsTest, WhatIsNoValueIsNotTheDefault) {
  EXPECT_EQ(Made("k = n", 2.5), "nothing");
  EXPECT_EQ(Made("k = n", 1e30), "nothing");
  EXPECT_EQ(Made("k = integer(n)", 2.5), "nothing");
  EXPECT_EQ(Made("k = if(n > 2, 5)", 1), "nothing");
  EXPECT_EQ(Made("l = shape(x)", 3, "?x3"), "nothing");
  EXPECT_EQ(Made("k = dim(x, 0)", 3, "?x3"), "nothing");
  EXPECT_THAT(Made("d = shape(x)", 3, "4x3"), HasSubstr("#core.dims<4, 3>"));
}

TEST_F(KindsTest, TermsOfOtherKindsAreRefusedWhereTheyStand) {
  const std::string at = "x.drr:2:68: ";
  EXPECT_EQ(Why(Making("k = shape(x)")), at + "expected an integer, got a list of integers");
  EXPECT_EQ(Why(Making("k = dtype(x)")), at + "expected an integer, got an element type");
  EXPECT_EQ(Why(Making("k = op(x)")), at + "expected an integer, got a text");
  EXPECT_EQ(Why(Making("k = float(x)")), at + "expected an integer, got true or false");
  EXPECT_EQ(Why(Making("k = {n}")), at + "expected an integer, got a list of numbers");
  EXPECT_EQ(Why(Making("l = {n}")), at + "expected a list of integers, got a list of numbers");
  EXPECT_EQ(Why(Making("l = rank(x)")), at + "expected a list of integers, got an integer");
  EXPECT_EQ(Why(Making("s = n")), at + "expected a text, got a number");
  EXPECT_EQ(Why(Making("b = rank(x)")), at + "expected true or false, got an integer");
  EXPECT_EQ(Why(Making("t = shape(x)[0]")), at + "expected an element type, got an integer");
  EXPECT_EQ(Why(Making("f = \"a\"")), at + "expected a number, got a text");
  EXPECT_EQ(Why(Making("k = x")), at + "expected an integer, got a value of the graph");
  for (const char* right : {"k = n", "k = only(shape(x))", "f = rank(x) / 2.0", "b = rank(x) == 2",
                            "t = dtype(x)", "l = take(shape(x), 1)", "d = {dim(x, 0), 1}",
                            "s = attribute(x, \"mode\")", "k = if(rank(x) == 1, 2, 3)"})
    EXPECT_EQ(Why(Making(right)), "accepted") << right;
  // Variables have the kind of the attribute that binds them, also in C++.
  EXPECT_EQ(Why("rule r { match transpose(transpose(x) {perm = p}) {perm = any} "
                "replace gelu(x) {approximate = p} }"),
            "x.drr:1:95: expected a text, got a list of integers");
  Val x("x");
  const Rule rule = Rule("r")
                        .Match(LeakyRelu(Relu(x), {.alpha = Term(2.0) * RankOf(x)}))
                        .Replace(LeakyRelu(x, {.alpha = ShapeOf(x)}));
  EXPECT_THAT(std::string(CompiledRules::Create({rule}, context_).status().message()),
              HasSubstr("'alpha' is shape(x) (expected a number, got a list of integers)"));
}

// An attribute that is absent in the match is absent in the result, unless it has a default there.
TEST_F(KindsTest, AbsentIsAValueWhereThereIsNoDefault) {
  const std::string ops =
      "op my.opt(x: float) {k?: i64} -> elementwise\n"
      "op my.def(x: float) {k: i64 = 7} -> elementwise\n";
  const auto made = [&](const std::string& op) {
    auto rules =
        ParseRules(ops + "rule r { match my.opt(neg(x)) {k = k} replace " + op + "(x) {k = k} }",
                   "x.drr", context_);
    EXPECT_TRUE(rules.ok()) << rules.status();
    auto set = CompiledRules::Create(*std::move(rules), context_);
    EXPECT_TRUE(set.ok()) << set.status();
    const std::string type = "(tensor<4xf32>) -> tensor<4xf32>";
    auto module = ParseModule(context_, "func.func() <{function_type = " + type +
                                            ", sym_name = \"f\"}> ({\n^bb0(%x: tensor<4xf32>):\n"
                                            "  %n = ten.neg(%x) : " +
                                            type + "\n  %r = my.opt(%n) : " + type +
                                            "\n  func.return(%r) : (tensor<4xf32>) -> ()\n"
                                            "}) : () -> ()\n");
    EXPECT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(ApplyRules(*set, module->get(), pass_).ok());
    return Print(**module);
  };
  EXPECT_THAT(made("my.opt"), Not(HasSubstr("ten.neg")));
  EXPECT_THAT(made("my.def"), HasSubstr("ten.neg"));
}

// Dimensions in a list of integers are matched as in one of dimensions.
TEST_F(KindsTest, ListsOfIntegersBindDimensions) {
  auto rules = ParseRules(
      "rule r { match transpose(neg(x)) {perm = {A, B}} where shape(x) == {N, B + 4} "
      "replace transpose(x) {perm = {A, B}} }",
      "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto set = CompiledRules::Create(*std::move(rules), context_);
  ASSERT_TRUE(set.ok()) << set.status();
  for (const int extent : {4, 5}) {
    auto module = ParseModule(
        context_,
        fmt::format("func.func() <{{function_type = (tensor<3x{0}xf32>) -> tensor<{0}x3xf32>, "
                    "sym_name = \"f\"}}> ({{\n^bb0(%x: tensor<3x{0}xf32>):\n"
                    "  %n = ten.neg(%x) : (tensor<3x{0}xf32>) -> tensor<3x{0}xf32>\n"
                    "  %r = ten.transpose(%n) <{{perm = array<i64: 1, 0>}}> : (tensor<3x{0}xf32>) "
                    "-> tensor<{0}x3xf32>\n"
                    "  func.return(%r) : (tensor<{0}x3xf32>) -> ()\n}}) : () -> ()\n",
                    extent));
    ASSERT_TRUE(module.ok()) << module.status();
    const auto result = ApplyRules(*set, module->get(), pass_);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->rewrites, extent == 4 ? 1 : 0);
  }
}

// Conditions that no program fulfils.
TEST_F(KindsTest, OperandsOfOtherKindsAreRefused) {
  const auto where = [&](const std::string& condition) {
    return Why("rule r { match mul(relu(x), splat(s)) where " + condition +
               " replace mul(x, splat(s)) }");
  };
  EXPECT_EQ(where("x > 2"),
            "x.drr:1:45: expected a number, got a value of the graph (its elements are known only "
            "of splat(…))");
  EXPECT_EQ(where("2 < x"),
            "x.drr:1:49: expected a number, got a value of the graph (its elements are known only "
            "of splat(…))");
  EXPECT_EQ(where("x == 2"), "x.drr:1:50: expected a value of the graph, got an integer");
  EXPECT_EQ(where("shape(x) > 2"), "x.drr:1:45: expected a number, got a list of integers");
  EXPECT_EQ(where("shape(x) == 2"), "x.drr:1:57: expected a list of integers, got an integer");
  EXPECT_EQ(where("s == \"a\""), "x.drr:1:50: expected a number, got a text");
  EXPECT_EQ(where("s + dtype(x) > 1"), "x.drr:1:49: expected a number, got an element type");
  EXPECT_EQ(where("rank(x) in {\"a\"}"), "x.drr:1:56: expected an integer in the list, got a text");
  EXPECT_EQ(where("abs(s)"), "x.drr:1:45: expected a condition, such as rank(x) == 2, got a value");
  for (const char* right :
       {"s > 2", "s == 2", "x == x", "shape(x) == {B, 2} && B > s", "dim(x, 0) == s",
        "shape(x)[0] >= 2", "dtype(x) in {f16, f32}", "op(x) in {\"ten.relu\"}",
        "attribute(x, \"alpha\") < s", "s in {1, 2.5}", "shape(x) == {1..., 2}"})
    EXPECT_EQ(where(right), "accepted") << right;
}

TEST_F(KindsTest, NamesThatNothingBindsAreToldWhereTheyStand) {
  const auto rule = [&](const std::string& rest) {
    return Why("rule r { match mul(relu(input), splat(s)) " + rest + " }");
  };
  EXPECT_EQ(rule("where rank(inptu) == 2 replace input"),
            "x.drr:1:54: inptu is not part of the match; did you mean 'input'?");
  EXPECT_EQ(rule("where number > 2 replace input"),
            "x.drr:1:49: attribute variable 'number' is not bound by the match");
  EXPECT_EQ(rule("where s > 1 replace mul(input, splat(t))"),
            "x.drr:1:80: attribute variable 't' is not bound by the match; did you mean 's'?");
  EXPECT_EQ(rule("where s > N replace input"),
            "x.drr:1:53: dimension 'N' is not bound by the match");
  EXPECT_EQ(rule("where s > 1 && shape(input) == {1..., N} replace input"),
            "x.drr:1:81: dimension 'N' is not bound by the match");
}

// A term of the match binds nothing: the message says how to write it.
TEST_F(KindsTest, NamesInTermsOfTheMatchAreToldHowToBind) {
  const auto reduced = [&](const std::string& axes, const std::string& rest) {
    return Why("rule r { match neg(neg(reduce_sum(x) {axes = " + axes + "})) " + rest + " }");
  };
  EXPECT_EQ(reduced("{a}", "replace reduce_sum(x) {axes = {a}}"),
            "x.drr:1:47: attribute variable 'a' is not bound by the match: 'axes = {a}' is a term, "
            "which binds nothing (expected 'axes = v', with 'where len(v) == 1' and 'v[0]' in "
            "place of 'a')");
  EXPECT_EQ(reduced("v", "where len(v) == 1 replace reduce_sum(x) {axes = {v[0]}}"), "accepted");
  EXPECT_EQ(reduced("{0, a}", "replace reduce_sum(x) {axes = {0, a}}"),
            "x.drr:1:50: attribute variable 'a' is not bound by the match: 'axes = {0, a}' is a "
            "term, which binds nothing (expected 'axes = v', with 'where len(v) == 2' and 'v[1]' "
            "in place of 'a')");
  EXPECT_EQ(Why("rule r { match neg(neg(cumsum(v) {axis = a + 1})) replace cumsum(v) {axis = a} }"),
            "x.drr:1:42: attribute variable 'a' is not bound by the match: 'axis = a + 1' is a "
            "term, which binds nothing (expected 'axis = vv', with terms of 'vv' in place of 'a')");
  // Bound elsewhere, it is compared.
  EXPECT_EQ(Why("rule r { match neg(neg(reduce_sum(cumsum(x) {axis = a}) {axes = {a}})) "
                "replace reduce_sum(cumsum(x) {axis = a}) {axes = {a}} }"),
            "accepted");
}

TEST_F(KindsTest, MisspeltWordsAreSuggested) {
  EXPECT_THAT(Why("rule r { match relu(x) replce x }"), HasSubstr("did you mean 'replace'?"));
  EXPECT_THAT(Why("rul r { match relu(x) replace x }"), HasSubstr("did you mean 'rule'?"));
  EXPECT_THAT(Why("rule r { match relu(x) replace x lowers opps(relu) }"),
              HasSubstr("did you mean 'ops'?"));
  EXPECT_THAT(Why("op my.a(x, y) -> elementwise comutative"),
              HasSubstr("got 'comutative'; did you mean 'commutative'?"));
  EXPECT_THAT(Why("op my.a(x, y) -> elementwis"), HasSubstr("did you mean 'elementwise'?"));
  EXPECT_THAT(Why("rule r { match leaky_relu(x) {alpha = a} replace x }"),
              HasSubstr("attribute variable 'a' is not used (expected 'any' where any value"));
}

}  // namespace
}  // namespace tenon::pattern
