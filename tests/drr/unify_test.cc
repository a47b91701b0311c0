// Repeated variables agree, whatever they are; operations of a match are different ones.
#include <string>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class UnifyTest : public ::testing::Test {
 protected:
  UnifyTest() { RegisterAllDialects(context_); }

  // How often the rule fires in a function of four matrices whose body is this; -1 and the message
  // in why_ when something is wrong.
  int64_t Fires(const Rule& rule, const std::string& body) {
    auto compiled = CompiledRules::Create({rule}, context_);
    if (!compiled.ok()) return Wrong(compiled.status());
    auto module = ParseModule(
        context_,
        "func.func() <{function_type = (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, "
        "tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = \"f\"}> ({\n^bb0(%a: tensor<2x3xf32>, "
        "%b: tensor<2x3xf32>, %c: tensor<2x3xf32>, %d: tensor<2x3xf32>):\n" +
            body + "}) : () -> ()\n");
    if (!module.ok()) return Wrong(module.status());
    PassContext pass;
    const auto result = ApplyRules(*compiled, module->get(), pass);
    if (!result.ok()) return Wrong(result.status());
    if (const absl::Status verified = Verify(module->get()); !verified.ok()) return Wrong(verified);
    return result->rewrites;
  }
  int64_t Fires(const std::string& rule, const std::string& body) {
    auto rules = ParseRules(rule, "x.drr", context_);
    if (!rules.ok()) return Wrong(rules.status());
    return Fires((*rules)[0], body);
  }

  int64_t Wrong(const absl::Status& status) {
    ADD_FAILURE() << status;
    return -1;
  }

  Context context_;
};

std::string Op(const std::string& result, const std::string& op, const std::string& operands,
               const std::string& attrs = "") {
  int count = 0;
  for (char c : operands) count += c == '%' ? 1 : 0;
  std::string types;
  for (int i = 0; i < count; ++i) types += i == 0 ? "tensor<2x3xf32>" : ", tensor<2x3xf32>";
  return fmt::format("  {} = {}({}){} : ({}) -> tensor<2x3xf32>\n", result, op, operands, attrs,
                     types);
}
std::string ReturnOf(const std::string& value) {
  return "  func.return(" + value + ") : (tensor<2x3xf32>) -> ()\n";
}
std::string Concat(const std::string& result, const std::string& operands) {
  int count = 0;
  for (char c : operands) count += c == '%' ? 1 : 0;
  std::string types;
  for (int i = 0; i < count; ++i) types += i == 0 ? "tensor<2x3xf32>" : ", tensor<2x3xf32>";
  return fmt::format("  {} = ten.concat({}) <{{axis = 0 : i64}}> : ({}) -> tensor<{}x3xf32>\n",
                     result, operands, types, 2 * count);
}
std::string Sum(const std::string& left, const std::string& right, int rows) {
  return fmt::format(
      "  %s = ten.add({0}, {1}) : (tensor<{2}x3xf32>, tensor<{2}x3xf32>) -> tensor<{2}x3xf32>\n"
      "  %e = ten.slice(%s) <{{axes = array<i64: 0>, starts = #core.dims<0>, ends = #core.dims<2>, "
      "steps = array<i64: 1>}}> : (tensor<{2}x3xf32>) -> tensor<2x3xf32>\n",
      left, right, rows);
}

TEST_F(UnifyTest, VariadicVariables) {
  const std::string rule =
      "rule r { match add(concat(each xs) {axis = 0}, concat(each xs) {axis = 0})\n"
      "replace relu(concat(xs) {axis = 0}) }";
  const auto fires = [&](const std::string& first, const std::string& second, int rows) {
    return Fires(
        rule, Concat("%l", first) + Concat("%r", second) + Sum("%l", "%r", rows) + ReturnOf("%e"));
  };
  EXPECT_EQ(fires("%a, %b", "%a, %b", 4), 1);
  EXPECT_EQ(fires("%a, %b", "%a, %c", 4), 0);
  EXPECT_EQ(fires("%a, %b", "%c, %d", 4), 0);
  EXPECT_EQ(fires("%a, %b", "%b, %a", 4), 0);
  EXPECT_EQ(fires("%a, %b, %c", "%a, %b, %c", 6), 1);
  EXPECT_EQ(fires("%a, %b, %c", "%a, %b, %d", 6), 0);
}

// With something before or behind, the number that an Each takes follows from its first use.
TEST_F(UnifyTest, VariadicVariablesBesideOthers) {
  const auto fires = [&](const std::string& first, const std::string& second, int operands) {
    return Fires(
        "rule r { match add(concat(each xs, y) {axis = 0}, concat(z, each xs) {axis = 0})\n"
        "replace relu(concat(xs, y) {axis = 0}) where same_type(y, z) }",
        Concat("%l", first) + Concat("%r", second) + Sum("%l", "%r", 2 * operands) +
            ReturnOf("%e"));
  };
  EXPECT_EQ(fires("%a, %b, %c", "%d, %a, %b", 3), 1);
  EXPECT_EQ(fires("%a, %b, %c", "%d, %a, %c", 3), 0);
  EXPECT_EQ(fires("%a, %b", "%c, %a", 2), 1);
  EXPECT_EQ(fires("%a, %b", "%c, %b", 2), 0);
}

TEST_F(UnifyTest, OperationsAreDifferent) {
  const std::string rule = "rule r { match mul(relu(x), relu(y)) replace relu(mul(x, y)) ";
  const std::string two = Op("%r", "ten.relu", "%a") + Op("%s", "ten.relu", "%b") +
                          Op("%m", "ten.mul", "%r, %s") + ReturnOf("%m");
  const std::string one =
      Op("%r", "ten.relu", "%a") + Op("%m", "ten.mul", "%r, %r") + ReturnOf("%m");
  EXPECT_EQ(Fires(rule + "}", two), 1);
  EXPECT_EQ(Fires(rule + "}", one), 0);
  EXPECT_EQ(Fires(rule + "may coincide lowers \"x\" }", two), 1);
  EXPECT_EQ(Fires(rule + "may coincide lowers \"x\" }", one), 1);
  // Of some operations alone, in text and in C++.
  const std::string three = Op("%r", "ten.relu", "%a") + Op("%m", "ten.mul", "%r, %r") +
                            Op("%p", "ten.add", "%m, %r") + ReturnOf("%p");
  const std::string some =
      "rule r { let p = relu(x) let q = relu(y) match add(mul(p, q), relu(z))\n"
      "replace add(mul(x, y), z) lowers \"x\" ";
  EXPECT_EQ(Fires(some + "}", three), 0);
  EXPECT_EQ(Fires(some + "may coincide (p, q) }", three), 0);
  EXPECT_EQ(Fires(some + "may coincide }", three), 1);
  Val x("x"), y("y");
  const Val p = Relu(x), q = Relu(y);
  const auto made = [&] { return Rule("r").Match(Mul(p, q)).Replace(Relu(Mul(x, y))).Lowers("x"); };
  EXPECT_EQ(Fires(made(), one), 0);
  EXPECT_EQ(Fires(made().MayCoincide({p, q}), one), 1);
  EXPECT_EQ(Fires(made().MayCoincide(), one), 1);
}

// One part used twice is one operation, and two parts are not.
TEST_F(UnifyTest, SharedPartsAreOneOperation) {
  const std::string rule = "rule r { let p = relu(x) match mul(p, p) replace mul(x, x) }";
  EXPECT_EQ(
      Fires(rule, Op("%r", "ten.relu", "%a") + Op("%m", "ten.mul", "%r, %r") + ReturnOf("%m")), 1);
  EXPECT_EQ(Fires(rule, Op("%r", "ten.relu", "%a") + Op("%s", "ten.relu", "%a") +
                            Op("%m", "ten.mul", "%r, %s") + ReturnOf("%m")),
            0);
}

TEST_F(UnifyTest, TheOtherOrderIsTriedWhereOperationsWouldBeOne) {
  // Both orders fit the outer sum; in the first, two parts would be one operation.
  const std::string rule =
      "rule r { match add(mul(relu(x), tanh(y)), relu(z)) replace add(mul(x, y), z) }";
  const std::string body = Op("%r", "ten.relu", "%a") + Op("%t", "ten.tanh", "%b") +
                           Op("%s", "ten.relu", "%c") + Op("%m", "ten.mul", "%t, %r") +
                           Op("%p", "ten.add", "%s, %m") + ReturnOf("%p");
  EXPECT_EQ(Fires(rule, body), 1);
}

TEST_F(UnifyTest, AttributesOfEveryKind) {
  // Numbers, against what an alternative says and against each other.
  const std::string softmax =
      "rule r { match nn.softmax(nn.softmax(x) {axis = a}) {axis = a}\n"
      "replace nn.softmax(x) {axis = a} }";
  const auto softmaxes = [&](int first, int second) {
    return Op("%r", "nn.softmax", "%a", fmt::format(" <{{axis = {} : i64}}>", first)) +
           Op("%s", "nn.softmax", "%r", fmt::format(" <{{axis = {} : i64}}>", second)) +
           ReturnOf("%s");
  };
  EXPECT_EQ(Fires(softmax, softmaxes(1, 1)), 1);
  EXPECT_EQ(Fires(softmax, softmaxes(0, 1)), 0);
  // What alternatives say: texts, numbers.
  const auto lets = [](const std::string& first, const std::string& second) {
    return "rule r { match mul((relu(x) let n = " + first + "), (tanh(y) let n = " + second +
           "))\nreplace gelu(mul(x, y)) {approximate = n} }";
  };
  const std::string body = Op("%r", "ten.relu", "%a") + Op("%t", "ten.tanh", "%b") +
                           Op("%m", "ten.mul", "%r, %t") + ReturnOf("%m");
  EXPECT_EQ(Fires(lets("\"tanh\"", "\"tanh\""), body), 1);
  EXPECT_EQ(Fires(lets("\"tanh\"", "\"none\""), body), 0);
  const auto axes = [](const std::string& first, const std::string& second) {
    return "rule r { match mul((relu(x) let n = " + first + "), (tanh(y) let n = " + second +
           "))\nreplace nn.softmax(mul(x, y)) {axis = n} lowers \"x\" }";
  };
  EXPECT_EQ(Fires(axes("1", "1"), body), 1);
  EXPECT_EQ(Fires(axes("1", "0"), body), 0);
  // An alternative's text against an attribute.
  const std::string attribute =
      "rule r { match mul((relu(x) let n = \"tanh\"), gelu(y) {approximate = n})\n"
      "replace gelu(mul(x, y)) {approximate = n} }";
  const auto gelu = [&](const std::string& kind) {
    return Op("%r", "ten.relu", "%a") +
           Op("%g", "nn.gelu", "%b", " <{approximate = \"" + kind + "\"}>") +
           Op("%m", "ten.mul", "%r, %g") + ReturnOf("%m");
  };
  EXPECT_EQ(Fires(attribute, gelu("tanh")), 1);
  EXPECT_EQ(Fires(attribute, gelu("none")), 0);
}

TEST_F(UnifyTest, NumbersOfConstants) {
  const std::string rule =
      "rule r { match add(mul(x, splat(n)), splat(n)) replace relu(x) lowers \"x\" }";
  const auto body = [&](const std::string& first, const std::string& second) {
    return "  %k = core.constant() <{value = dense<" + first +
           "> : tensor<f32>}> : () -> tensor<f32>\n  %l = core.constant() <{value = dense<" +
           second +
           "> : tensor<f32>}> : () -> tensor<f32>\n"
           "  %m = ten.mul(%a, %k) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>\n"
           "  %s = ten.add(%m, %l) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>\n" +
           ReturnOf("%s");
  };
  EXPECT_EQ(Fires(rule, body("2.5", "2.5")), 1);
  EXPECT_EQ(Fires(rule, body("2.5", "3.5")), 0);
  EXPECT_EQ(Fires(rule, body("2.5", "2.75")), 0);
}

TEST_F(UnifyTest, Values) {
  const std::string rule = "rule r { match add(mul(x, y), x) replace mul(x, y) lowers \"x\" }";
  const auto body = [&](const std::string& last) {
    return Op("%m", "ten.mul", "%a, %b") + Op("%s", "ten.add", "%m, " + last) + ReturnOf("%s");
  };
  EXPECT_EQ(Fires(rule, body("%a")), 1);
  EXPECT_EQ(Fires(rule, body("%b")), 1);  // in the other order
  EXPECT_EQ(Fires(rule, body("%c")), 0);
}

TEST_F(UnifyTest, WhatMayCoincideIsChecked) {
  const auto why = [&](const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    auto set = CompiledRules::Create(*std::move(rules), context_);
    return set.ok() ? std::string("accepted") : std::string(set.status().message());
  };
  EXPECT_THAT(why("rule r { match neg(neg(x)) may coincide (tanh(x)) replace x }"),
              HasSubstr("may coincide names ten.tanh(x), which is not part of the match"));
  EXPECT_THAT(why("rule r { let n = neg(x) match neg(n) may coincide (n, x) replace x }"),
              HasSubstr("may coincide names fewer than two operations of the match"));
  EXPECT_THAT(why("rule r { let n = neg(neg(x)) match n, n replace x, abs(x) }"),
              HasSubstr("ten.neg(ten.neg(x)) is matched twice"));
  EXPECT_THAT(why("rule r { match neg(neg(x)) may replace x }"), HasSubstr("expected 'coincide'"));
}

TEST_F(UnifyTest, PrintsAsTextThatReadsBack) {
  auto rules = ParseRules(
      "rule a { match mul(relu(x), relu(y)) may coincide replace relu(mul(x, y)) lowers \"x\" }",
      "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const std::string text = ToString((*rules)[0]);
  EXPECT_THAT(text, HasSubstr("  may coincide\n"));
  auto again = ParseRules(text, "x.drr", context_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToString((*again)[0]), text);
}

}  // namespace
}  // namespace tenon::pattern
