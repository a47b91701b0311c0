// Operations that the text of rules declares.
#include "ir/core/context/declared_ops.h"

#include <string>

#include "drr/compile/compiled.h"
#include "drr/text/text.h"
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

class DeclaredOpsTest : public ::testing::Test {
 protected:
  DeclaredOpsTest() { RegisterAllDialects(context_); }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_); }
  Context context_;
};

TEST_F(DeclaredOpsTest, RulesMakeAndMatchThem) {
  EXPECT_EQ(Why(R"drr(
op my.gated(x: float, w: float, bias?: float) {alpha: f32 = 1, mode: {"a", "b"} = "a"} -> same_as(x)
rule make-gated {
  match   mul(x, sigmoid(matmul(x, const w)))
  replace my.gated(x, w, none) {alpha = 2.0}
}
rule add-bias {
  match   my.gated(add(x, const b), w, none) {alpha = a}
  replace my.gated(x, w, b) {alpha = a, mode = "b"}
})drr"),
            "accepted");
  const OpInfo* op = context_.FindOp("my.gated");
  ASSERT_NE(op, nullptr);
  EXPECT_TRUE(IsDeclared(*op));
  EXPECT_FALSE(IsDeclared(*context_.FindOp("ten.relu")));
  EXPECT_TRUE(op->Has(Trait::kPure));
}

TEST_F(DeclaredOpsTest, OneDeclarationAlone) {
  const auto declare = [&](std::string_view text, drr::DeclaredResult result =
                                                      drr::DeclaredResult::kInText) -> std::string {
    const absl::StatusOr<const OpInfo*> op = drr::ParseOp(text, "f", context_, result);
    return op.ok() ? std::string((*op)->name()) : std::string(op.status().message());
  };
  EXPECT_EQ(declare("my.one(x: float) -> same_as(x) idempotent \"a text\""), "my.one");
  EXPECT_EQ(declare("my.two(x, y) commutative", drr::DeclaredResult::kFunction), "my.two");
  EXPECT_THAT(declare("my.three(x: flot) -> elementwise"),
              HasSubstr("f:1:13: 'flot' is no element"));
  EXPECT_THAT(declare("my.three(x)"), HasSubstr("f:1:12: expected '->' before the end"));
  EXPECT_THAT(declare("my.three(x) -> elementwise rule"),
              HasSubstr("f:1:28: expected commutative"));
  EXPECT_THAT(declare("my.three(x) -> elementwise op my.four(x) -> elementwise"),
              HasSubstr("or the end of the declaration, got 'op'"));
  EXPECT_THAT(declare("my.three(x) -> elementwise", drr::DeclaredResult::kFunction),
              HasSubstr("f:1:13: '->' stands beside a shape function"));
  EXPECT_EQ(context_.FindOp("my.three"), nullptr);
}

// The program is not to blame for element types that no program has.
TEST_F(DeclaredOpsTest, ElementTypesThatTheyNeverHaveAreRefused) {
  const std::string op = "op my.half(x: f16 | f32, y: int) -> same_as(x)\n";
  const auto where = [&](const std::string& match, const std::string& condition) {
    return Why(op + "rule r { match " + match + " where " + condition + " replace relu(x) }");
  };
  const std::string half = "relu(my.half(x, _y))";
  EXPECT_EQ(where(half, "dtype(x) == f16"), "accepted");
  EXPECT_EQ(where(half, "float(x)"), "accepted");
  EXPECT_EQ(where(half, "!dtype(x) == f16"), "accepted");
  EXPECT_THAT(where(half, "dtype(x) == f64"),
              HasSubstr("rule 'r': no program matches, since 'x' cannot have any element type: "
                        "operand 'x' of my.half is a tensor of f16 | f32, and the rule wants "
                        "dtype(x) == f64"));
  EXPECT_THAT(where(half, "!float(x)"), HasSubstr("and the rule wants !float(x)"));
  EXPECT_THAT(where(half, "!dtype(x) == f16 && !dtype(x) == f32"),
              HasSubstr("'x' cannot have any element type"));
  // What one operation takes, and another one, which shares the type of its operands.
  EXPECT_THAT(where("relu(my.half(x, _y))", "dtype(_y) == f32"),
              HasSubstr("operand 'y' of my.half"));
  EXPECT_THAT(Why("op my.same(x: f16) -> same_as(x) same_dtype\n"
                  "rule r { match add(my.same(x), y) where dtype(y) == f32 replace sub(x, y) }"),
              HasSubstr("cannot have any element type"));
  // An operand that may be absent proves nothing.
  EXPECT_EQ(
      Why("op my.opt(x: f16, y?: f16) -> same_as(x)\n"
          "rule r { match relu(my.opt(x, maybe(y))) where !dtype(y) == f16 replace relu(x) }"),
      "accepted");
}

TEST_F(DeclaredOpsTest, DeclarationsPrintAsTheyRead) {
  for (const std::string text : {
           "op my.a(x) -> same_as(x)\n",
           "op my.b(x: float, w: f16 | f32, bias?, each more: int) {alpha: f32 = 1.5, axes: i64s = "
           "{0, 1}, axis?: i64, deep: bool = true, kind: type, mode: {\"a\", \"b\"} = \"b\", name: "
           "string} -> elementwise: i1 \"what it does\"\n",
           "op my.l(x: !acme.ledger, y: f32) -> same_as(x): !acme.ledger\n",
           "op my.c(a: number, b: number) -> elementwise commutative same_dtype\n",
       }) {
    const auto rules = ParseRules(text, "x.drr", context_);
    ASSERT_TRUE(rules.ok()) << rules.status();
    EXPECT_EQ(DeclarationText(*context_.FindOp(text.substr(3, 4))), text);
    // The same again is no conflict.
    EXPECT_EQ(Why(text), "accepted");
  }
}

TEST_F(DeclaredOpsTest, MistakesNameThePlace) {
  EXPECT_EQ(Why("\n  op relu(x) -> same_as(x)"),
            "x.drr:2:6: op 'relu' has no dialect (expected one of your own, such as my.relu)");
  EXPECT_EQ(Why("op ten.relu(x) -> same_as(x)"),
            "x.drr:1:4: op 'ten.relu' is an operation of the library (expected a new name)");
  EXPECT_EQ(
      Why("op ten.rella(x) -> same_as(x)"),
      "x.drr:1:4: op 'ten.rella' is in the dialect 'ten', which files cannot extend (expected "
      "a dialect of your own)");
  EXPECT_EQ(Why("op my.x(x) -> same_as(x)\nop my.x(x: float) -> same_as(x)"),
            "x.drr:2:4: op 'my.x' has another definition already (expected the same one, or a new "
            "name)");
  EXPECT_EQ(Why("op my.y(x, y) -> same_as(y)"), "x.drr:1:26: 'y' is not the first operand");
  EXPECT_EQ(Why("op my.y(x?) -> elementwise"),
            "x.drr:1:4: op 'my.y' has no first operand that is always present");
  EXPECT_EQ(Why("op my.y(x, y?, z) -> elementwise"),
            "x.drr:1:4: op 'my.y' requires operand 'z' behind 'y', which may be absent");
  EXPECT_EQ(Why("op my.y(x, x) -> elementwise"), "x.drr:1:4: op 'my.y' has two parts 'x'");
  EXPECT_EQ(Why("op my.y(x: f31) -> elementwise"),
            "x.drr:1:12: 'f31' is no element type (expected tensor, float, int, number or one such "
            "as f32)");
  EXPECT_EQ(Why("op my.y(x) {a: i46} -> elementwise").substr(0, 46),
            "x.drr:1:16: 'i46' is no kind of attribute (exp");
  EXPECT_EQ(Why("op my.y(x) {a: i64 = 1.5} -> elementwise"),
            "x.drr:1:22: expected a whole number, got '1.5'");
  EXPECT_EQ(Why("op my.y(x) {a: i64 = 10000000000000000000000} -> elementwise"),
            "x.drr:1:22: '10000000000000000000000' is too large (expected a whole number of 64 "
            "bits)");
  EXPECT_EQ(Why("op my.y(x) {a: {\"b\"} = \"c\"} -> elementwise"),
            "x.drr:1:24: 'c' is no value of attribute 'a'");
  EXPECT_EQ(Why("op my.y(x) {a?: i64 = 1} -> elementwise"),
            "x.drr:1:21: an attribute has '?' or a default (expected one of them)");
  EXPECT_EQ(Why("op my.y(x) -> elementwise commutative"),
            "x.drr:1:4: op 'my.y' is commutative without two operands that are always present");
  EXPECT_EQ(Why("op my.y(x) -> other"),
            "x.drr:1:15: expected 'elementwise' or 'same_as', got 'other'");
  EXPECT_EQ(context_.FindOp("my.y"), nullptr);
}

TEST_F(DeclaredOpsTest, ProgramsHaveThem) {
  ASSERT_EQ(Why("op my.scale(x: float, s: float, t?) {alpha: f32 = 1, axis: i64} -> same_as(x)"),
            "accepted");
  const auto parse = [&](const std::string& op) {
    return ParseModule(
        context_,
        "func.func() <{function_type = (tensor<2x4xf32>, tensor<4xf32>, tensor<4xi64>)"
        " -> tensor<2x4xf32>, sym_name = \"main\"}> ({\n"
        "^bb0(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %i: tensor<4xi64>):\n  %0 = " +
            op + "\n  func.return(%0) : (tensor<2x4xf32>) -> ()\n}) : () -> ()\n");
  };
  const std::string right =
      "my.scale(%x, %s) <{alpha = 2.0 : f32, axis = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>) "
      "-> tensor<2x4xf32>";
  auto module = parse(right);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(module->get()).ok());
  EXPECT_THAT(Print(**module), HasSubstr("my.scale("));
  for (const std::string wrong : {
           "my.scale(%x) <{axis = 1 : i64}> : (tensor<2x4xf32>) -> tensor<2x4xf32>",
           "my.scale(%x, %i) <{axis = 1 : i64}> : (tensor<2x4xf32>, tensor<4xi64>) -> "
           "tensor<2x4xf32>",
           "my.scale(%x, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>",
           "my.scale(%x, %s) <{axis = 2 : i64}> : (tensor<2x4xf32>, tensor<4xf32>) -> "
           "tensor<2x4xf32>",
           "my.scale(%x, %s) <{axis = 1 : i64, beta = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>) "
           "-> tensor<2x4xf32>",
       }) {
    module = parse(wrong);
    EXPECT_FALSE(module.ok() && Verify(module->get()).ok()) << wrong;
  }
}

}  // namespace
}  // namespace tenon::pattern
