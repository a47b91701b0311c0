// Terms: arithmetic, comparisons and words of the rule language, in C++ and in text.
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>

#include "drr/compile/compiled.h"
#include "drr/rule/term.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"
#include "patterns/prelude.h"
#include "tests/drr/why_refused.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class TermsTest : public ::testing::Test {
 protected:
  TermsTest() { RegisterAllDialects(context_); }
  // The value of a term without arguments, as text.
  static std::string ValueOf(const Term& term) {
    return ToString(BoundTerm(term.node()).Evaluate({}).data);
  }
  // The rule as text, after reading; or the message.
  std::string Read(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_, Facts());
    return rules.ok() ? ToString((*rules)[0]) : std::string(rules.status().message());
  }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_, Facts()); }
  std::string Condition(const std::string& condition) {
    const std::string text =
        Read("rule a { match mul(leaky_relu(x) {alpha = a}, transpose(y) {perm = p}) where " +
             condition + " replace x }");
    const size_t at = text.find("where   ");
    return at == std::string::npos ? text : text.substr(at + 8, text.find('\n', at) - at - 8);
  }
  Context context_;
};

TEST_F(TermsTest, IntegersAreExactOrHaveNoValue) {
  const Term most = std::numeric_limits<int64_t>::max(),
             least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(ValueOf(Term(2) + 3 * Term(4)), "14");
  EXPECT_EQ(ValueOf(Term(12) / 4), "3");
  EXPECT_EQ(ValueOf(Term(13) / 4), "none");
  EXPECT_EQ(ValueOf(Term(13) % 4), "1");
  EXPECT_EQ(ValueOf(Term(13) / 0), "none");
  EXPECT_EQ(ValueOf(Term(13) % 0), "none");
  EXPECT_EQ(ValueOf(most + 1), "none");
  EXPECT_EQ(ValueOf(least - 1), "none");
  EXPECT_EQ(ValueOf(most * 2), "none");
  EXPECT_EQ(ValueOf(-least), "none");
  EXPECT_EQ(ValueOf(least / -1), "none");
  EXPECT_EQ(ValueOf(least % -1), "0");
  EXPECT_EQ(ValueOf(AbsOf(least)), "none");
}

TEST_F(TermsTest, NumbersFollowF64) {
  EXPECT_EQ(ValueOf(Term(1) / 4.0), "0.25");
  EXPECT_EQ(ValueOf(Term(1e308) * 10), "inf");
  EXPECT_EQ(ValueOf(Term(1.0) / 0.0), "none");
  EXPECT_EQ(ValueOf(SqrtOf(16)), "4");
  EXPECT_EQ(ValueOf(MaxOf(2, 2.5)), "2.5");
  EXPECT_EQ(ValueOf(IsPowerOfTwo(-0.25)), "true");
  EXPECT_EQ(ValueOf(IsPowerOfTwo(3.0)), "false");
  EXPECT_EQ(ValueOf(Held(DType::kF16, 1e5)), "none");
  EXPECT_EQ(ValueOf(HeldProduct(DType::kF32, 1e-30, 1e-300)), "none");
  EXPECT_EQ(ValueOf(Term("a") + 1), "none");
}

TEST_F(TermsTest, Lists) {
  const Term list = ListOf({3, 4, 5});
  EXPECT_EQ(ValueOf(list[0]), "3");
  EXPECT_EQ(ValueOf(list[-1]), "5");
  EXPECT_EQ(ValueOf(list[3]), "none");
  EXPECT_EQ(ValueOf(list[ListOf({2, 0})]), "{5, 3}");
  EXPECT_EQ(ValueOf(ListOf({1, Spread(Drop(list, 1)), 9})), "{1, 4, 5, 9}");
  EXPECT_EQ(ValueOf(Take(list, -1)), "{3, 4}");
  EXPECT_EQ(ValueOf(list + list), "{6, 8, 10}");
  EXPECT_EQ(ValueOf(list + ListOf({1})), "none");
  EXPECT_EQ(ValueOf(IntegersFrom(1, 4)), "{1, 2, 3}");
  EXPECT_EQ(ValueOf(IntegersFrom(0, 1 << 30)), "none");
  EXPECT_EQ(ValueOf(Padded(list, 5)), "{1, 1, 3, 4, 5}");
  EXPECT_EQ(ValueOf(SwapLast(list)), "{3, 5, 4}");
  EXPECT_EQ(ValueOf(MovedAxis(4, 1, -1)), "{0, 2, 3, 1}");
  EXPECT_EQ(ValueOf(MovedAxis(4, -1, 1)), "{0, 3, 1, 2}");
  EXPECT_EQ(ValueOf(WithOnes(list, ListOf({1}))), "{3, 1, 5}");
  EXPECT_EQ(ValueOf(ProductOf(list)), "60");
  EXPECT_EQ(ValueOf(OnlyOf(list)), "none");
  EXPECT_EQ(ValueOf(Compare(ListOf({1, 1, 4}), "==", ListOf({OnesBefore(), 4}))), "true");
  EXPECT_EQ(ValueOf(Compare(ListOf({1, 2, 4}), "==", ListOf({OnesBefore(), 4}))), "false");
}

TEST_F(TermsTest, WhatIsNotChosenNeedsNoValue) {
  EXPECT_EQ(ValueOf(Choose(true, 1, Term(1) / 0)), "1");
  EXPECT_EQ(ValueOf(Choose(false, 1)), "none");
  EXPECT_EQ(ValueOf(Or(true, Compare(Term(1) / 0, "==", 1))), "true");
  EXPECT_EQ(ValueOf(And(true, Compare(Term(1) / 0, "==", 1))), "none");
  EXPECT_EQ(ValueOf(And(Compare(Term(1) / 0, "==", 1), false)), "false");
  EXPECT_EQ(ValueOf(Or(Compare(Term(1) / 0, "==", 1), true)), "true");
  EXPECT_EQ(ValueOf(!Compare(Term(1) / 0, "==", 1)), "none");
  EXPECT_EQ(ValueOf(Exists(Term(1) / 0)), "false");
}

// Of symbols only what holds for all their values is known.
TEST_F(TermsTest, ComparisonsOfExtentsAreProofs) {
  const DimExpr s = DimExpr::Symbol(context_, "s"), t = DimExpr::Symbol(context_, "t");
  Dim a("A"), b("B");
  const auto holds = [&](const Term& term, DimExpr x, DimExpr y) {
    const BoundTerm bound(term.node());
    std::vector<BoundArg> args(2);
    args[0].dim = x;
    args[1].dim = y;
    args.resize(bound.args().size());
    return ToString(bound.Evaluate(args).data);
  };
  EXPECT_EQ(holds(Compare(a, "==", b), s, s), "true");
  for (const char* sign : {"==", "!=", "<", "<=", ">", ">="}) {
    EXPECT_EQ(holds(Compare(a, sign, b), s, t), "none");
    EXPECT_EQ(holds(!Compare(a, sign, b), s, t), "none");
  }
  EXPECT_EQ(holds(!Compare(a, "==", b), s, s + 1), "true");
  EXPECT_EQ(holds(Compare(a, "<", b), s + 1, s), "false");
  EXPECT_EQ(holds(And(Compare(a, "==", b), Compare(a, "<", 0)), s, t), "false");
  EXPECT_EQ(holds(Or(Compare(a, "==", b), Compare(a, ">=", 0)), s, t), "true");
  EXPECT_EQ(holds(Choose(Compare(a, "==", b), 1, 2), s, t), "none");
  EXPECT_EQ(holds(IsIn(a, {b, 4}), s, t), "none");
  EXPECT_EQ(holds(IsNotNumber(a, 4), s, t), "true");
  EXPECT_EQ(holds(Compare(a, "!=", b), s, s + 1), "true");
  EXPECT_EQ(holds(Compare(a, "<", b), s, s + 1), "true");
  EXPECT_EQ(holds(Compare(a, ">=", b), s, s), "true");
  EXPECT_EQ(holds(a * 2 / b, s, s), "2");
  EXPECT_EQ(holds(a / b, s, t), "none");
  EXPECT_EQ(holds(IsFixed(a), s, t), "false");
}

TEST_F(TermsTest, TextSaysTheSame) {
  for (const char* condition : {"a <= 1",
                                "-a > 0.5",
                                "rank(x) > 2",
                                "dim(x, -1) != 4",
                                "x != y",
                                "a * 2 + 1 == 3 - a / 2",
                                "(a + 1) * 2 == 3",
                                "a - (1 - a) == 0",
                                "power_of_two(a)",
                                "!power_of_two(a)",
                                "shape(y) == {1..., dim(x, -1)}",
                                "p == {0, 2, 1}",
                                "p[-2] > p[-1]",
                                "p[p] == range(0, len(p))",
                                "op(x) in {\"nn.softmax\", \"ten.where\"}",
                                "magnitude(x) < inf \"x is bounded\"",
                                "largest_size(x) < inf on constants",
                                "largest_size(x) < inf on constants \"x is finite\"",
                                "(a > 0 || rank(x) == 2 && float(x))",
                                "(a > 0 && rank(x) == 2) \"words\"",
                                "exists(held(f32, 1.0 / a))",
                                "if(a > 0, a, -a) >= 0.5",
                                "dtype(x) == dtype(y)",
                                "!(power_of_two(a) \"words\")",
                                "of_constants(x)",
                                "one_use(x)",
                                "{take(shape(x), -1)..., 1} == shape(y)"}) {
    const std::string again = Condition(condition);
    EXPECT_EQ(Condition(again), again) << condition;
    EXPECT_THAT(again, ::testing::Not(HasSubstr("x.drr"))) << condition;
  }
  EXPECT_EQ(Condition("rank(x) > 2"), "rank(x) > 2");
  EXPECT_EQ(Condition("a - (1 - a) == 0"), "a - (1 - a) == 0");
  EXPECT_EQ(Condition("(a - 1) - a == 0"), "a - 1 - a == 0");
}

TEST_F(TermsTest, ComputedAttributes) {
  EXPECT_EQ(Why("rule a { match mul(mul(x, splat(a)), splat(b)) where float(x)\n"
                "replace mul(x, splat(held_product(dtype(x), a, b))) }"),
            "accepted");
  EXPECT_EQ(Why("rule a { match leaky_relu(leaky_relu(x) {alpha = a}) {alpha = b}\n"
                "where a > 0 && b > 0 replace leaky_relu(x) {alpha = a * b} }"),
            "accepted");
  EXPECT_EQ(Why("rule a { match transpose(transpose(x) {perm = p}) {perm = q}\n"
                "replace transpose(x) {perm = p[q]} }"),
            "accepted");
  EXPECT_EQ(Why("rule a { match reshape(reshape(x) {shape = any}) {shape = {A, B}}\n"
                "replace reshape(x) {shape = {A * 1, B}} }"),
            "accepted");
  EXPECT_THAT(Read("rule a { match neg(softmax(x) {axis = c}) replace softmax(x) {axis = c + 1} }"),
              HasSubstr("{axis = c + 1}"));
}

TEST_F(TermsTest, SetsOfOperations) {
  const std::string text = Read(
      "rule a { match f in {relu, tanh}(fused.linear(x, w, maybe(b), none))\n"
      "replace fused.linear(x, w, b, none) {activation = f} }");
  EXPECT_THAT(text, HasSubstr("any((ten.relu(_1) let f = \"relu\") | (ten.tanh(_1) let f = "));
  EXPECT_EQ(Read(text), text);
  EXPECT_EQ(Read("rule a { match f in {relu, foo}(x) replace x }"),
            "x.drr:1:28: there is no op 'foo'");
  EXPECT_EQ(Read("rule a { match f in {relu, add}(x) replace x }"),
            "x.drr:1:28: add has other operands than relu");
}

TEST_F(TermsTest, ChainsOfSteps) {
  const std::string defined = "pattern plus(y, k) = add(y, mul(k, splat(2)))\n";
  // Arguments are of the rule: one value in each step.
  EXPECT_EQ(
      Why("rule a { match repeat(add(x), add(x, x), 1, 4) as n replace mul(x, splat(n + 2)) }"),
      "accepted");
  EXPECT_EQ(
      Why(defined + "rule a { match repeat(plus(x), neg(z), 2, 4) as n where same_type(x, z) && "
                    "n >= 2 replace add(x, z) }"),
      "accepted");
  EXPECT_EQ(Why("rule a { match repeat(neg, x, 2, 64) replace x }"), "accepted");
  EXPECT_EQ(Read("rule a { match repeat(add(x), x, 1, 2) as n replace mul(x, splat(n)) }"),
            Read("rule a { let _1 = add(x, x) match any((add(_1, x) let n = 2) | (_1 let n = 1)) "
                 "replace mul(x, splat(n)) }"));
  EXPECT_EQ(Read("rule a { match repeat(ngg, x, 2, 6) replace x }"),
            "x.drr:1:23: there is no pattern or operation 'ngg' to repeat; did you mean 'neg'?");
  EXPECT_EQ(Read("rule a { match repeat(add, x, 2, 6) replace x }"),
            "x.drr:1:23: add takes 2 arguments, and each step gives 1: the value so far");
  EXPECT_EQ(
      Read(defined + "rule a { match repeat(plus(x, x), x, 2, 6) replace x }"),
      "x.drr:2:23: plus takes 2 arguments, and each step gives 3: the value so far and those in "
      "parentheses");
  EXPECT_EQ(Read("rule a { match repeat(concat(y), x, 2, 6) replace x }"),
            "x.drr:1:23: concat takes a list: repeat a pattern of it");
  EXPECT_EQ(Read("rule a { match repeat(add(2), x, 2, 6) replace x }"),
            "x.drr:1:23: operands of ten.add are values");
}

TEST_F(TermsTest, FunctionsOfPatterns) {
  const std::string defined =
      "pattern half(y) = any(mul(y, splat(0.5)) | div(y, splat(2)))\n"
      "pattern line(y, k) = add(mul(y, splat(k)), splat(c))\n";
  EXPECT_EQ(Why(defined + "rule a { match half(half(neg(x))) replace mul(neg(x), splat(0.25)) }"),
            "accepted");
  // Names of a pattern are its own at each use.
  const std::string text =
      Read(defined + "rule a { match add(line(x, a), line(x, b)) replace mul(x, splat(a + b)) }");
  EXPECT_THAT(text, HasSubstr("splat(c)"));
  EXPECT_THAT(text, HasSubstr("splat(c2)"));
  EXPECT_THAT(text, HasSubstr("splat(a + b)"));
  EXPECT_EQ(Why("pattern more(y) = neg(abs(y))\nrule a { match relu(repeat(more, x, 1, 3)) "
                "replace relu(x) ignores infinity }"),
            "accepted");
  EXPECT_EQ(Read("pattern relu(x) = x\n"), "x.drr:1:9: 'relu' is an operation");
  EXPECT_EQ(Read("pattern p(x) = neg(x)\npattern p(x) = x"),
            "x.drr:2:9: there is a second pattern 'p'");
  EXPECT_EQ(Read(defined + "rule a { match line(x) replace x }"),
            "x.drr:3:16: line has 1 argument (expected 2)");
  EXPECT_EQ(Read("pattern p(x) = ngg(x)"), "x.drr:1:16: there is no op 'ngg'; did you mean 'neg'?");
  std::string many = "pattern p0(x) = neg(x)\n";
  for (int i = 1; i < 40; ++i)
    many += fmt::format("pattern p{}(x) = add(p{}(x), p{}(x))\n", i, i - 1, i - 1);
  EXPECT_THAT(Why(many), HasSubstr("patterns are applied more than 10000 times"));
}

TEST_F(TermsTest, MistakesNameThePlace) {
  const auto why = [&](const std::string& condition) {
    return Read("rule a {\n match neg(neg(x))\n where " + condition + " replace x }");
  };
  EXPECT_EQ(why("rank(x) + 1"),
            "x.drr:3:8: expected a condition, such as rank(x) == 2, got a value");
  EXPECT_EQ(why("a < b < c"),
            "x.drr:3:14: a comparison is compared (expected &&, || or parentheses)");
  EXPECT_EQ(why("(rank(x) == 2) + 1 == 3"), "x.drr:3:8: expected a value, got a condition");
  EXPECT_EQ(why("sqrt(a, b) > 1"), "x.drr:3:8: sqrt has 2 arguments (expected 1)");
  EXPECT_EQ(why("sqrt(\"a\") > 1"), "x.drr:3:13: argument 1 of sqrt is a text (expected a number)");
  EXPECT_EQ(why("sqt(a) > 1"), "x.drr:3:8: there is no condition 'sqt'; did you mean 'sqrt'?");
  EXPECT_EQ(why("a-b > 1"), "x.drr:3:8: 'a-b' is one name (expected blanks around '-')");
  EXPECT_EQ(why("1 == 1"), "x.drr:3:8: the condition asks about nothing that is matched");
  EXPECT_EQ(
      why("{1..., 2} == shape(x)"),
      "x.drr:3:8: '?', '...' and '1...' stand only in the shape that a shape is compared with, "
      "'...' once");
  EXPECT_EQ(why("a == )"), "x.drr:3:13: expected a value, got ')'");
  EXPECT_EQ(why("a[0 == 1"), "x.drr:3:17: expected ']', got 'replace'");
  std::string deep = "1", chain = "a";
  for (int i = 0; i < 100000; ++i) {
    deep = "(" + deep;
    chain += " + a";
  }
  EXPECT_THAT(why(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(why(chain + " == 1"), HasSubstr("nested too deeply"));
}

// The reference has every word.
TEST(Words, AreInTheReference) {
  std::ifstream file(std::string(TENON_SOURCE_DIR) + "/docs/reference/rule-language.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::span<const Word> words : {BaseWords(), Facts()}) {
    for (const Word& word : words) {
      EXPECT_THAT(page, HasSubstr(fmt::format("| `{}(", word.name)));
      EXPECT_FALSE(word.summary.empty());
    }
  }
}

// What tells two compiled rules apart, but for literal splats, of which text has one for each use.
std::string SizesOf(const CompiledRule& rule) {
  int nodes = 0;
  for (const Node& node : rule.nodes)
    nodes += node.kind != ValNode::Kind::kSplat || node.splat.kind != AttrCode::Kind::kLiteral;
  std::string text = fmt::format(
      "{} nodes, {} dim names, {} attrs, {} roots, {} results, {} climbs, {} anchors, {} "
      "ops, {} may coincide",
      nodes, rule.dim_names.size(), rule.attr_names.size(), rule.roots.size(), rule.results.size(),
      rule.climbs.size(), rule.anchors.size(), rule.num_ops, rule.coincide.size());
  for (const ConditionCode& condition : rule.conditions) {
    text += fmt::format("; {} of {}{}", condition.source->text, condition.args.size(),
                        condition.early ? " early" : "");
  }
  return text;
}

// Every built-in rule without C++ parts is the same as text.
TEST_F(TermsTest, BuiltInRulesAreText) {
  size_t opaque = 0;
  const RuleSet rules = AllRules();
  for (const Rule& rule : rules) {
    if (!rule.OpaqueReasons().empty()) {
      EXPECT_THAT(rule.OpaqueReasons()[0], ::testing::Not(HasSubstr("C++ function")))
          << rule.name() << " gives no reason";
      ++opaque;
      continue;
    }
    const std::string text = ToString(rule);
    auto read = ParseRules(text, "printed", context_, Facts());
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(ToString((*read)[0]), text);
    auto before = CompileRule(rule, context_), after = CompileRule((*read)[0], context_);
    ASSERT_TRUE(before.ok()) << before.status();
    ASSERT_TRUE(after.ok()) << after.status() << "\n" << text;
    EXPECT_EQ(SizesOf(*after), SizesOf(*before)) << text;
  }
  EXPECT_LE(opaque * 10, rules.size());
}

}  // namespace
}  // namespace tenon::pattern
