// Lists whose items are computed: `each relu(xs)`, and shapes with a rest: `{B, ..., N}`.
#include <string>

#include "drr/check/check.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/drr/why_refused.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MappedTest : public ::testing::Test {
 protected:
  MappedTest() { RegisterAllDialects(context_); }

  std::vector<Rule> Read(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_, Facts());
    if (!rules.ok()) ADD_FAILURE() << rules.status();
    return rules.ok() ? *std::move(rules) : std::vector<Rule>();
  }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_, Facts()); }
  // The program after the rules, or the mistake. Its arguments %a, %b and %c are 2x3 matrices.
  std::string After(const std::string& rules, const std::string& body, const std::string& result) {
    fires_ = -1;
    auto compiled = CompiledRules::Create(Read(rules), context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module = ParseModule(
        context_, fmt::format("func.func() <{{function_type = (tensor<2x3xf32>, tensor<2x3xf32>, "
                              "tensor<2x3xf32>) -> {}, sym_name = \"f\"}}> ({{\n^bb0(%a: "
                              "tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<2x3xf32>):\n{}  "
                              "func.return(%r) : ({}) -> ()\n}}) : () -> ()\n",
                              result, body, result));
    if (!module.ok()) return std::string(module.status().message());
    PassContext pass;
    const auto applied = ApplyRules(*compiled, module->get(), pass);
    if (!applied.ok()) return std::string(applied.status().message());
    if (const absl::Status ok = Verify(module->get()); !ok.ok()) return std::string(ok.message());
    fires_ = applied->rewrites;
    return Print(**module);
  }
  // What the check of rules says; empty for a right rule.
  std::string Check(const std::string& text) {
    ReferenceEvaluator evaluator(MakeKernelRegistry());
    std::string all;
    for (const Rule& rule : Read(text)) {
      const CheckReport report = CheckRule(rule, context_, evaluator);
      for (const std::string& failure : report.failures) all += failure + "\n";
      if (report.ok() != report.failures.empty()) all += "no verdict\n";
    }
    return all;
  }

  Context context_;
  int64_t fires_ = 0;
};

std::string OnMatrix(const std::string& result, const std::string& op, const std::string& x) {
  return fmt::format("  {} = {}({}) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n", result, op, x);
}
std::string JoinOf(const std::string& operands) {
  std::string types;
  int count = 0;
  for (char c : operands) {
    if (c != '%') continue;
    types += count++ == 0 ? "tensor<2x3xf32>" : ", tensor<2x3xf32>";
  }
  return fmt::format("  %r = ten.concat({}) <{{axis = 0 : i64}}> : ({}) -> tensor<{}x3xf32>\n",
                     operands, types, 2 * count);
}

constexpr char kReluBelow[] =
    "rule relu-behind { match concat(each relu(xs)) {axis = a}\n"
    "replace relu(concat(each xs) {axis = a}) lowers \"operations before concatenations\" }";
constexpr char kReluAbove[] =
    "rule relu-before { match tanh(concat(each xs) {axis = a})\n"
    "replace concat(each tanh(xs)) {axis = a} lowers \"operations behind concatenations\" }";

TEST_F(MappedTest, EveryItemMustMatch) {
  const std::string relus = OnMatrix("%x", "ten.relu", "%a") + OnMatrix("%y", "ten.relu", "%b");
  const std::string after = After(kReluBelow, relus + JoinOf("%x, %y"), "tensor<4x3xf32>");
  EXPECT_EQ(fires_, 1);
  EXPECT_THAT(after, HasSubstr("ten.concat(%a, %b)"));
  EXPECT_THAT(after, HasSubstr("ten.relu(%0)"));
  EXPECT_THAT(After(kReluBelow, relus + JoinOf("%x, %y, %c"), "tensor<6x3xf32>"),
              HasSubstr("ten.concat(%x, %y, %c)"));
  EXPECT_EQ(fires_, 0);
  // One item twice.
  EXPECT_THAT(After(kReluBelow, relus + JoinOf("%x, %x"), "tensor<4x3xf32>"),
              HasSubstr("ten.concat(%a, %a)"));
  // An item that is also used elsewhere.
  EXPECT_THAT(After(kReluBelow,
                    relus + "  %l = ten.concat(%x, %y) <{axis = 0 : i64}> : (tensor<2x3xf32>, "
                            "tensor<2x3xf32>) -> tensor<4x3xf32>\n"
                            "  %r = ten.concat(%l, %y) <{axis = 0 : i64}> : (tensor<4x3xf32>, "
                            "tensor<2x3xf32>) -> tensor<6x3xf32>\n",
                    "tensor<6x3xf32>"),
              HasSubstr("ten.concat(%x, %y)"));
  EXPECT_EQ(fires_, 0);
}

TEST_F(MappedTest, AMissSaysWhichItem) {
  auto compiled = CompiledRules::Create(Read(kReluBelow), context_);
  ASSERT_TRUE(compiled.ok());
  auto module = ParseModule(context_,
                            "func.func() <{function_type = (tensor<2x3xf32>, tensor<2x3xf32>) -> "
                            "tensor<4x3xf32>, sym_name = \"f\"}> ({\n^bb0(%a: tensor<2x3xf32>, %b: "
                            "tensor<2x3xf32>):\n" +
                                OnMatrix("%x", "ten.relu", "%a") +
                                OnMatrix("%y", "ten.tanh", "%b") + JoinOf("%x, %y") +
                                "  func.return(%r) : (tensor<4x3xf32>) -> ()\n}) : () -> ()\n");
  ASSERT_TRUE(module.ok()) << module.status();
  Operation* concat = nullptr;
  (*module)->WalkPreOrder([&](Operation* op) {
    if (op->name() == "ten.concat") concat = op;
    return true;
  });
  Matcher matcher(context_);
  NearMiss miss;
  EXPECT_FALSE(matcher.Match(**compiled->Get(0), concat, &miss));
  EXPECT_THAT(miss.reason, HasSubstr("operand 1 comes from ten.tanh"));
  EXPECT_THAT(miss.reason, HasSubstr("the rule wants ten.relu for each item"));
}

TEST_F(MappedTest, TheResultMapsToo) {
  const std::string after =
      After(kReluAbove,
            "  %l = ten.concat(%a, %b) <{axis = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
            "tensor<4x3xf32>\n  %r = ten.tanh(%l) : (tensor<4x3xf32>) -> tensor<4x3xf32>\n",
            "tensor<4x3xf32>");
  EXPECT_EQ(fires_, 1);
  EXPECT_THAT(after, HasSubstr("ten.tanh(%a)"));
  EXPECT_THAT(after, HasSubstr("ten.tanh(%b)"));
  EXPECT_THAT(after, HasSubstr("ten.concat(%0, %1)"));
}

TEST_F(MappedTest, PartsAreSharedByAllItems) {
  const std::string products =
      "rule r { match concat(each mul(xs, w)) {axis = 0} where same_type(xs, w)\n"
      "replace concat(each sub(xs, w)) {axis = 0} lowers \"products\" }";
  const auto body = [](const std::string& x, const std::string& y) {
    return "  %x = ten.mul(" + x + ") : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n" +
           "  %y = ten.mul(" + y + ") : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n" +
           JoinOf("%x, %y");
  };
  for (const auto& [x, y] : {std::pair("%a, %c", "%b, %c"), std::pair("%a, %c", "%c, %b"),
                             std::pair("%c, %a", "%b, %c"), std::pair("%c, %a", "%c, %b")}) {
    const std::string after = After(products, body(x, y), "tensor<4x3xf32>");
    EXPECT_EQ(fires_, 1) << x << "; " << y;
    EXPECT_THAT(after, HasSubstr("ten.sub(%a, %c)"));
    EXPECT_THAT(after, HasSubstr("ten.sub(%b, %c)"));
  }
  After(products, body("%a, %c", "%b, %b"), "tensor<4x3xf32>");
  EXPECT_EQ(fires_, 0);
}

TEST_F(MappedTest, AttributesAreSharedByAllItems) {
  const std::string rule =
      "rule r { match concat(each leaky_relu(xs) {alpha = s}) {axis = 0}\n"
      "replace leaky_relu(concat(each xs) {axis = 0}) {alpha = s} lowers \"activations\" }";
  const auto leaky = [](const std::string& result, const std::string& x, const std::string& s) {
    return "  " + result + " = ten.leaky_relu(" + x + ") <{alpha = " + s +
           " : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>\n";
  };
  After(rule, leaky("%x", "%a", "0.5") + leaky("%y", "%b", "0.5") + JoinOf("%x, %y"),
        "tensor<4x3xf32>");
  EXPECT_EQ(fires_, 1);
  After(rule, leaky("%x", "%a", "0.5") + leaky("%y", "%b", "0.25") + JoinOf("%x, %y"),
        "tensor<4x3xf32>");
  EXPECT_EQ(fires_, 0);
}

TEST_F(MappedTest, ConditionsHoldForEveryItem) {
  const auto rule = [](const std::string& condition) {
    return "rule r { match relu(concat(each xs) {axis = 0}) where " + condition +
           "\nreplace concat(each relu(xs)) {axis = 0} lowers \"operations\" }";
  };
  const auto fires = [&](const std::string& condition) {
    After(rule(condition),
          "  %d = ten.slice(%b) <{axes = array<i64: 0>, starts = #core.dims<0>, ends = "
          "#core.dims<1>, steps = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<1x3xf32>\n"
          "  %l = ten.concat(%a, %d) <{axis = 0 : i64}> : (tensor<2x3xf32>, tensor<1x3xf32>) -> "
          "tensor<3x3xf32>\n  %r = ten.relu(%l) : (tensor<3x3xf32>) -> tensor<3x3xf32>\n",
          "tensor<3x3xf32>");
    return fires_;
  };
  EXPECT_EQ(fires("rank(xs) == 2"), 1);
  EXPECT_EQ(fires("rank(xs) == 3"), 0);
  EXPECT_EQ(fires("dim(xs, 0) == 2"), 0);  // that of the second item is 1
  EXPECT_EQ(fires("shape(xs) == {?, N}"), 1);
  EXPECT_EQ(fires("shape(xs) == {N, ?}"), 0);
  EXPECT_EQ(fires("shape(xs) == {..., N}"), 1);
  EXPECT_EQ(fires("shape(xs) == {N, ...}"), 0);
}

TEST_F(MappedTest, TheCheckRunsThem) {
  EXPECT_EQ(Check(kReluBelow), "");
  EXPECT_EQ(Check(kReluAbove), "");
  EXPECT_EQ(Check("rule r { match concat(each matmul(xs, w)) {axis = 0} where rank(xs) == 2 && "
                  "rank(w) == 2\nreplace matmul(concat(each xs) {axis = 0}, w) lowers \"x\" }"),
            "");
  EXPECT_THAT(Check("rule r { match concat(each relu(xs)) {axis = a}\n"
                    "replace concat(each xs) {axis = a} }"),
              HasSubstr("instead of"));
}

TEST_F(MappedTest, TextReadsBack) {
  for (const std::string& text : {
           std::string(kReluBelow),
           std::string(kReluAbove),
           std::string("rule r { match concat(each sub(w, each neg(xs))) {axis = 0} replace "
                       "concat(each sub(w, abs(xs)), each xs) {axis = 0} lowers \"x\" }"),
           std::string("rule s { match relu(x) where shape(x) == {B, ..., H * N} && shape(x) == "
                       "{..., N} && shape(x) == {B, ...} replace reshape(x) {shape = {B, H, N}} "
                       "lowers \"x\" }"),
       }) {
    const std::vector<Rule> rules = Read(text);
    if (rules.empty()) continue;
    const std::string printed = ToString(rules[0]);
    const std::vector<Rule> again = Read(printed);
    if (again.empty()) continue;
    EXPECT_EQ(ToString(again[0]), printed);
  }
  // The notation in C++ is the same.
  Val xs = Each("xs");
  Attr<int64_t> a("a");
  const Rule same = Rule("relu-behind")
                        .Match(ten::Concat({Each(Relu(xs))}, {.axis = a}))
                        .Replace(Relu(ten::Concat({xs}, {.axis = a})))
                        .Lowers("operations before concatenations");
  EXPECT_EQ(ToString(Read(kReluBelow)[0]), ToString(same));
}

TEST_F(MappedTest, MistakesAreRefused) {
  const auto why = [&](const std::string& body) { return Why("rule r { " + body + " }"); };
  EXPECT_THAT(why("match concat(each xs, each ys, each add(xs, ys)) {axis = 0} replace concat(each "
                  "xs) {axis = 0}"),
              HasSubstr("it has two lists"));
  EXPECT_EQ(
      why("match concat(each add(xs, each ys)) {axis = 0} replace concat(each xs) {axis = 0}"),
      "x.drr:1:77: 'xs' is one value (expected a list)");
  EXPECT_THAT(
      why("match concat(each concat(each xs) {axis = 0}) {axis = 0} replace concat(each xs) "
          "{axis = 0}"),
      HasSubstr("the list stands where any number of operands may stand"));
  EXPECT_THAT(why("let y = relu(xs) match concat(each relu(ys), y) {axis = 0} replace "
                  "concat(each ys) {axis = 0}"),
              HasSubstr("variable 'xs' is not used"));
  EXPECT_THAT(
      why("match concat(each relu(xs)) {axis = 0} replace concat(each tanh(xs)) {axis = 0}"),
      HasSubstr("say with 'lowers'"));
  EXPECT_THAT(why("match concat(each relu(xs)) {axis = 0} replace relu(xs)"),
              HasSubstr("'each' at operand 'x', which is not variadic"));
  EXPECT_THAT(why("match concat(each relu(xs), each ys) {axis = 0} where same_type(xs, ys) replace "
                  "concat(each xs, each ys) {axis = 0}"),
              HasSubstr("asks about more than one list"));
  EXPECT_THAT(why("match concat(each xs) {axis = 0} replace concat(each xs) {axis = rank(xs)} "
                  "lowers \"x\""),
              HasSubstr("reads 'xs', which stands for any number of values"));
  EXPECT_THAT(why("match relu(x) where shape(x) == {..., N, ...} replace x"),
              HasSubstr("'...' once"));
  EXPECT_THAT(why("match relu(x) where rank(x) == 2 replace reshape(x) {shape = {...}}"),
              HasSubstr("stand only in the shape"));
}

TEST_F(MappedTest, ShapesWithARest) {
  const auto fires = [&](const std::string& conditions) {
    After("rule r { match relu(x) where " + conditions + " replace abs(x) lowers \"x\" }",
          OnMatrix("%r", "ten.relu", "%a"), "tensor<2x3xf32>");
    return fires_;
  };
  EXPECT_EQ(fires("shape(x) == {..., N} && N == 3"), 1);
  EXPECT_EQ(fires("shape(x) == {..., N} && N == 2"), 0);
  EXPECT_EQ(fires("shape(x) == {B, ..., N} && B == 2 && N == 3"), 1);
  EXPECT_EQ(fires("shape(x) == {B, ...} && B == 2"), 1);
  EXPECT_EQ(fires("shape(x) == {A, B, ..., C}"), 0);
  EXPECT_EQ(fires("shape(x) == {..., 3}"), 1);
  EXPECT_EQ(fires("shape(x) == {3, ...}"), 0);
  EXPECT_EQ(fires("shape(x) == {...}"), 1);
  EXPECT_EQ(Check("rule r { match sub(x, b) where shape(x) == {..., N} && shape(b) == {N}\n"
                  "replace add(x, neg(b)) lowers \"differences\" }"),
            "");
  // A wrong use of the extents is found.
  EXPECT_THAT(Check("rule r { match relu(x) where shape(x) == {B, ..., N}\n"
                    "replace reshape(x) {shape = {N, B}} lowers \"x\" }"),
              HasSubstr("instead of"));
}

}  // namespace
}  // namespace tenon::pattern
