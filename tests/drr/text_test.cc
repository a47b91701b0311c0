// Rules as text: the same data as the C++ functions build.
#include "drr/text/text.h"

#include <string>

#include "drr/compile/compiled.h"
#include "drr/text/text_lexer.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/drr/why_refused.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class TextTest : public ::testing::Test {
 protected:
  TextTest() { RegisterAllDialects(context_); }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_); }
  Context context_;
};

TEST_F(TextTest, BuildsTheSameRuleAsCpp) {
  auto rules = ParseRules(R"drr(
# Bias and activation of a product.
rule fuse-bias-gelu {
  summary "gelu(linear(x, w) + b)"
  let y = fused.linear(x, const w, none, none)
  match gelu(add(y, b))
  where rank(b) == 1 && float(x)
  replace fused.linear(x, w, b, none) {activation = "gelu"}
}
)drr",
                          "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->size(), 1u);
  Val x("x"), w = Const("w"), b("b");
  Rule same = Rule("fuse-bias-gelu")
                  .Summary("gelu(linear(x, w) + b)")
                  .Match(Gelu(Add(fused::Linear(x, w, {}, {}).As("y"), b)))
                  .Where(Rank(b, 1) && IsFloat(x))
                  .Replace(fused::Linear(x, w, b, {}, {.activation = "gelu"}));
  EXPECT_EQ(ToString((*rules)[0]), ToString(same));
  EXPECT_EQ((*rules)[0].place(), "x.drr:3");
  EXPECT_EQ((*rules)[0].summary(), "gelu(linear(x, w) + b)");
  EXPECT_TRUE(CompiledRules::Create(*std::move(rules), context_).ok());
}

TEST_F(TextTest, StagesAndPlaces) {
  auto rules = ParseRules(
      "rule a { match relu(relu(x)) replace relu(x) }\n"
      "rule b { stage final match abs(abs(x)) replace abs(x) }\n"
      "rule c { stage fusion match neg(neg(x)) replace x }\n",
      "/home/me/patterns/x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ((*rules)[0].stage(), RuleStage::kFusion);
  EXPECT_EQ((*rules)[1].stage(), RuleStage::kFinal);
  EXPECT_EQ((*rules)[2].stage(), RuleStage::kFusion);
  EXPECT_EQ((*rules)[1].place(), "/home/me/patterns/x.drr:2");  // as the user wrote it
  EXPECT_EQ(Why("rule a { stage late match relu(x) replace x }"),
            "x.drr:1:16: expected 'fusion' or 'final', got 'late'");
  EXPECT_EQ(Why("rule a { stage final stage final match relu(x) replace x }"),
            "x.drr:1:22: rule 'a' has a second 'stage'");
  // What waits for the end stands in nobody's way before; otherwise it does.
  EXPECT_EQ(Why("rule a { stage final match relu(x) replace abs(x) lowers \"x\" }\n"
                "rule b { match relu(relu(x)) replace relu(x) }"),
            "accepted");
  EXPECT_THAT(Why("rule a { match relu(x) replace abs(x) lowers \"x\" }\n"
                  "rule b { stage final match relu(relu(x)) replace relu(x) }"),
              HasSubstr("rule 'b' (x.drr:2) is never reached"));
}

TEST_F(TextTest, ConditionsAreJoined) {
  const auto printed = [&](const std::string& conditions) {
    auto rules = ParseRules("rule a { match neg(neg(x)) where " + conditions + " replace x }",
                            "x.drr", context_);
    if (!rules.ok()) return std::string(rules.status().message());
    std::string text;
    for (const auto& node : (*rules)[0].conditions()) text += ToString(*node) + ";";
    return text;
  };
  EXPECT_EQ(printed("rank(x) == 2 || rank(x) == 3 && float(x)"),
            "(rank(x) == 2 || (rank(x) == 3 && float(x)));");
  EXPECT_EQ(printed("(rank(x) == 2 || rank(x) == 3) && float(x)"),
            "(rank(x) == 2 || rank(x) == 3);float(x);");
  EXPECT_EQ(printed("!(rank(x) == 2 || float(x))"), "!(rank(x) == 2 || float(x));");
  EXPECT_EQ(printed("same_type(x, x)"), "same_type(x, x);");
  EXPECT_EQ(printed("rank(x) == 2 | float(x)").substr(0, 24), "x.drr:1:47: expected let");
  EXPECT_THAT(printed("(rank(x) == 2"), HasSubstr("expected ')', got 'replace'"));
  EXPECT_THAT(Why("rule a { match neg(neg(x)) where rank(x) == 2 || shape(x) == {B} replace x }"),
              HasSubstr("asks for a shape inside of || or !"));
  std::string deep, wide = "float(x)";
  for (int i = 0; i < 100000; ++i) {
    deep += "!(";
    wide += " || float(x)";
  }
  EXPECT_THAT(printed(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(printed(wide), HasSubstr("nested too deeply"));
}

TEST_F(TextTest, ReadsComments) {
  EXPECT_EQ(Why("// one\nrule a {  # two\n  match neg(neg(x))  // three #4\n  replace x\n}\n//"),
            "accepted");
}

TEST_F(TextTest, ErrorsNameThePlace) {
  EXPECT_EQ(Why("rule a {\n  match gelu(foo(x))\n}"), "x.drr:2:14: there is no op 'foo'");
  EXPECT_EQ(Why("rule a {\n  match gelu(rellu(x))\n}"),
            "x.drr:2:14: there is no op 'rellu'; did you mean 'relu'?");
  EXPECT_EQ(Why("rule a {\n  match nn.relu(x)\n}"),
            "x.drr:2:9: there is no op 'nn.relu'; did you mean 'ten.relu'?");
  EXPECT_EQ(Why("rule a { match softmax(x) {axes = 1} }"),
            "x.drr:1:28: nn.softmax has no attribute 'axes'; did you mean 'axis'?");
  EXPECT_EQ(Why("rule a { match relu(x, y) }"), "x.drr:1:24: ten.relu has only 1 operand");
  EXPECT_EQ(Why("rule a { match softmax(x, {axis = 1}) }"),
            "x.drr:1:27: attributes stand behind the ')' of nn.softmax");
  EXPECT_EQ(Why("rule a { match add(x) }"), "x.drr:1:16: ten.add needs its operand 'b'");
  EXPECT_EQ(Why("rule a { mach relu(x) }"),
            "x.drr:1:10: expected let, match, where, keep, may, ignores, replace, benefit, stage, "
            "summary, lowers, requires or '}', got 'mach'; did you mean 'match'?");
  EXPECT_THAT(Why("rule a { match relu(x"), HasSubstr("expected ',' or ')' before the end"));
  EXPECT_EQ(Why("rule a { match relu(x {axis = 1}) }"),
            "x.drr:1:23: attributes stand behind the ')' of ten.relu");
  EXPECT_EQ(Why("rule a {\n  summary \"open\n  match relu(x) replace x }"),
            "x.drr:2:11: the text is not closed in its line (expected '\"')");
  EXPECT_EQ(Why("rule a { benefit 1 match relu(x) benefit 2 replace x }"),
            "x.drr:1:34: rule 'a' has a second 'benefit'");
  EXPECT_THAT(Why("rule a { match relu(x) where rnk(x) == 1 }"),
              HasSubstr("there is no condition 'rnk'"));
  EXPECT_THAT(Why("rule a { match relu(relu(x)) replace tanh(y) }"),
              HasSubstr("y in the result is not bound"));
  EXPECT_THAT(Why("rule a { match softmax(relu(x)) {axis = \"one\"} replace x }"),
              HasSubstr("x.drr:1:41: expected an integer, got a text"));
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where rnk(x) == 1 }"),
            "x.drr:1:34: there is no condition 'rnk'; did you mean 'rank'?");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where float(x, x) }"),
            "x.drr:1:34: float has 2 arguments (expected 1)");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where same_type(x) }"),
            "x.drr:1:34: same_type has 1 argument (expected two values or more)");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where dim(x) == 1 }"),
            "x.drr:1:34: dim has 1 argument (expected 2)");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where dtype(x) == float32 }"),
            "x.drr:1:46: expected an element type such as f32, i64 or i1, got 'float32'");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) where rank(x) == -1 }"),
            "x.drr:1:45: expected a number from 0 to 256, got '-1'");
  EXPECT_EQ(Why("rule a { match neg(neg(x)) benefit 99999999999 }"),
            "x.drr:1:36: expected a number from -1000000 to 1000000, got '99999999999'");
  EXPECT_EQ(Why("rule a { match neg(split(x)#99999999999) }"),
            "x.drr:1:29: expected a number from 0 to 65535, got '99999999999'");
  EXPECT_EQ(Why("rule a { match matmul(x, y) {transpose_a = true, transpose_a = false} }"),
            "x.drr:1:50: attribute 'transpose_a' is given twice");
  std::string deep = "rule a { match ";
  for (int i = 0; i < 100000; ++i) deep += "relu(";
  EXPECT_THAT(Why(deep), HasSubstr("nested too deeply"));
  std::string chain = "rule a { let a0 = relu(x)\n";
  for (int i = 1; i < 5000; ++i) chain += fmt::format("let a{} = relu(a{})\n", i, i - 1);
  EXPECT_THAT(Why(chain + "match neg(a4999) replace x }"), HasSubstr("nested too deeply"));
  std::string ways = "rule a { let a0 = relu(x)\n";
  for (int i = 1; i < 60; ++i)
    ways += fmt::format("let a{} = any(neg(a{}) | abs(a{}))\n", i, i - 1, i - 1);
  EXPECT_THAT(Why(ways + "match neg(a59) replace x }"), HasSubstr("combine in too many ways"));
  EXPECT_THAT(Why(std::string("rule a { match \"x") + '\0'),
              HasSubstr("the text is not closed in its line"));
}

// Written out, the last of them has 2^60 variables.
TEST_F(TextTest, PartsThatAreSharedOftenHaveAShortText) {
  Val sum("x");
  for (int i = 0; i < 60; ++i) sum = Add(sum, sum);
  const std::string text = ToString(sum.ref());
  EXPECT_THAT(text, HasSubstr("…"));
  EXPECT_LT(text.size(), size_t{1} << 17);
}

// What a rule asks for and no program can have.
TEST_F(TextTest, ImpossibleGraphsAreRefused) {
  EXPECT_THAT(Why("rule a { match relu(x)#5 replace x }"),
              HasSubstr("1:24: ten.relu has 1 result (expected a number below 1)"));
  EXPECT_THAT(Why("rule a { match neg(relu(x)#1) replace x }"),
              HasSubstr("1:28: ten.relu has 1 result"));
  EXPECT_THAT(Why("rule a { match neg(neg(x)) replace relu(x)#2 }"),
              HasSubstr("1:44: ten.relu has 1 result"));
  EXPECT_THAT(Why("rule a { match neg(neg(x)) replace x#1 }"), HasSubstr("there is no x#1"));
  EXPECT_THAT(Why("rule a { match concat(each x) {axis = 0} replace x }"),
              HasSubstr("each x stands for any number of values, and cannot replace one"));
  EXPECT_THAT(Why("rule a { match neg(neg(x)) keep x replace x }"),
              HasSubstr("x is kept, but it is not the result of an operation"));
  // In conditions, in what is kept, and of alternatives, too.
  for (const char* wrong : {"where rank(r#3) == 7 replace gelu(x)",
                            "where rank(x#1) == 7 replace gelu(x)", "keep r#5 replace gelu(x)"}) {
    EXPECT_THAT(Why(std::string("rule a { let r = relu(x) match tanh(r) ") + wrong + " }"),
                testing::AnyOf(HasSubstr("there is no "), HasSubstr("ten.relu has 1 result ")))
        << wrong;
  }
  EXPECT_THAT(Why("rule a { let r = any(relu(x) | exp(x)) match tanh(r) replace gelu(r#4) }"),
              HasSubstr("#4 (expected a result below 1)"));
  // A variable among alternatives has nothing to keep, and does no harm.
  EXPECT_EQ(
      Why("rule a { let r = any(relu(x) | x) match tanh(r) keep r replace gelu(r) lowers \"x\" }"),
      "accepted");
}

// A compiled rule numbers its parts in 16 bits.
TEST_F(TextTest, RulesOfTooManyPartsAreRefused) {
  std::string conditions = "rank(x) >= 0", dims = "D";
  for (int i = 0; i < 1000; ++i) {
    conditions += " && rank(x) >= 0";
    dims += fmt::format(", D{}", i);
  }
  EXPECT_THAT(Why("rule a { match neg(neg(x)) where " + conditions + " replace x }"),
              HasSubstr("more than 1000 conditions"));
  EXPECT_THAT(Why("rule a { match neg(neg(x)) where (" + conditions + ") || float(x) replace x }"),
              HasSubstr("more than 1000 conditions"));
  EXPECT_THAT(Why("rule a { match neg(reshape(x) {shape = {" + dims + "}}) replace neg(x) }"),
              HasSubstr("more than 1000 dimension expressions"));
}

TEST_F(TextTest, LongWordsAreRefusedAndNotRepeated) {
  const std::string word(1 << 20, 'a'), most(drr::kMaxTokenLength, 'b');
  for (const std::string& text :
       {"rule " + word + " { match neg(neg(x)) replace x }",
        "rule a { match neg(neg(" + word + ")) replace " + word + " }",
        "rule a { match " + word + "(x) replace x }",
        "rule a { match neg(x) where dtype(x) == \"" + word + "\" replace x }",
        "rule a { match neg(x) where rank(x) == " + std::string(1 << 20, '1') + " replace x }"}) {
    const std::string why = Why(text);
    EXPECT_THAT(why, HasSubstr("is too long (expected at most 4096 bytes)"));
    EXPECT_LT(why.size(), 200u);
  }
  EXPECT_EQ(Why("rule " + most + " { match neg(neg(x)) replace x }"), "accepted");
}

TEST_F(TextTest, EverythingHasANotation) {
  EXPECT_EQ(Why(R"drr(
rule everything {
  benefit 3
  lowers "spellings"
  requires kernel
  match any((relu(concat(each xs) {axis = 1}) let n = "relu") | (tanh(concat(each xs) {axis = 1}) let n = "tanh"))
  replace fused.linear(concat(xs) {axis = 1}, concat(xs) {axis = 1}, none, none) {activation = n}
}
rule shapes {
  match reshape(reshape(x) {shape = {B, S, H * D}}) {shape = {B * S, H * D}}
  where shape(x) == {B, S, H, D} && dim(x, -1) == 64 && dtype(x) == f32 && !constant(x)
  replace reshape(x) {shape = {B * S, H * D}}
}
)drr"),
            "accepted");
}

}  // namespace
}  // namespace tenon::pattern
