// Rules that are never reached, and rules that never end, are refused when they are registered,
// conditions or not; rules that are in order are not.
#include <ctime>
#include <functional>
#include <string>

#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ConflictsTest : public ::testing::Test {
 protected:
  ConflictsTest() { RegisterAllDialects(context_); }

  std::string Why(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_, Facts());
    if (!rules.ok()) return std::string(rules.status().message());
    auto set = CompiledRules::Create(*std::move(rules), context_);
    if (set.ok()) return "accepted";
    // The witness is a program.
    const std::string why(set.status().message());
    const size_t at = why.find("builtin.module");
    EXPECT_NE(at, std::string::npos) << why;
    if (at == std::string::npos) return why;
    auto module = ParseModule(context_, why.substr(why.rfind('\n', at) + 1));
    EXPECT_TRUE(module.ok()) << module.status() << why;
    if (module.ok()) {
      EXPECT_TRUE(Verify(module->get()).ok());
    }
    return why;
  }
  // Of two rules on the same source, with these conditions: is the second never reached?
  bool Shadows(const std::string& first, const std::string& second,
               const std::string& source = "neg(relu(x))") {
    const std::string why =
        Why("rule first { match " + source + " " + first + " replace tanh(x) }\n" +
            "rule second { match " + source + " " + second + " replace exp(x) }");
    EXPECT_TRUE(why == "accepted" ||
                why.find("rule 'second' (x.drr:2) is never reached: 'first' (x.drr:1) matches "
                         "whatever it matches and is tried first, for example in\n") == 0)
        << why;
    return why != "accepted";
  }

  Context context_;
};

TEST_F(ConflictsTest, ConditionsThatFollow) {
  EXPECT_TRUE(Shadows("", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where rank(x) >= 0", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where rank(x) >= 2", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where rank(x) == 2", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where rank(x) >= 1", "where dim(x, 0) == 4"));
  EXPECT_TRUE(Shadows("where rank(x) >= 2", "where shape(x) == {B, S}"));
  EXPECT_TRUE(Shadows("where shape(x) == {B, S}", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where !rank(x) == 3", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where float(x)", "where dtype(x) == f32"));
  EXPECT_TRUE(Shadows("where !dtype(x) == i64", "where float(x)"));
  EXPECT_TRUE(Shadows("where float(x)", "where rank(x) == 2 && float(x)"));
  EXPECT_TRUE(Shadows("where rank(x) >= 1", "where rank(x) == 2 || rank(x) == 3"));
  EXPECT_TRUE(Shadows("where rank(x) == 2 || rank(x) == 3", "where rank(x) == 3"));
  EXPECT_TRUE(Shadows("where dim(x, 1) == 4", "where dim(x, 1) == 4"));
  EXPECT_TRUE(Shadows("where !(rank(x) == 3 && float(x))", "where rank(x) == 2"));
}

// Whatever the question is: what one rule asks, another one that asks the same has too.
TEST_F(ConflictsTest, EqualConditions) {
  for (const char* where :
       {"lower_bound(x) >= 0", "upper_bound(x) < 100 && lower_bound(x) > -100",
        "magnitude(x) < inf", "dim(x, 0) > 1", "product(shape(x)) > 0", "shape(x) == {N, 5}",
        "shape(x) == {N, N}", "shape(x) == {N, M} && N > M", "dtype(x) in {f32, f16}",
        "!(magnitude(x) < 10)", "lower_bound(x) >= 0 || upper_bound(x) <= 0",
        "fixed(dim(x, -1)) && float(x)"}) {
    const std::string both = std::string("where rank(x) >= 0 && ") + where;
    EXPECT_TRUE(Shadows(both, both)) << where;
    EXPECT_TRUE(Shadows(std::string("where ") + where, both)) << where;
    EXPECT_FALSE(Shadows(both, "where rank(x) >= 0")) << where;
    const std::string proof = std::string("ignores infinity unless ") + where;
    if (std::string(where).find("shape(x) ==") != std::string::npos) continue;
    EXPECT_TRUE(Shadows(proof, proof)) << where;
    EXPECT_TRUE(Shadows(proof, std::string("where ") + where)) << where;
    // Fast math takes the proof for granted, and not the condition.
    EXPECT_FALSE(Shadows(std::string("where ") + where, proof)) << where;
  }
  EXPECT_TRUE(Shadows("may overflow", "may overflow"));
  EXPECT_FALSE(Shadows("may overflow", ""));
}

TEST_F(ConflictsTest, EqualConditionsOnNumbersAndAttributes) {
  const std::string product = "mul(relu(x), splat(s))", leaky = "neg(leaky_relu(x) {alpha = a})";
  for (const char* where : {"where s > 0", "where s > 100 && s < 200", "where s == 3 || s < -7",
                            "where abs(s) < 1000", "where float(x) && power_of_two(s)"})
    EXPECT_TRUE(Shadows(where, where, product)) << where;
  EXPECT_TRUE(Shadows("where a > 0", "where a > 0", leaky));
  EXPECT_FALSE(Shadows("where s > 0", "where s >= 0", product));
  EXPECT_FALSE(Shadows("where s > 0", "where float(x) && s < 9", product));
  // Names do not matter, and places do.
  const std::string first =
      "rule first { match sub(mul(x, splat(s)), mul(y, splat(t))) where s > 0 "
      "replace add(x, mul(y, splat(t))) }\n";
  EXPECT_THAT(Why(first + "rule second { match sub(mul(a, splat(t)), mul(b, splat(s))) where t > 0 "
                          "replace max(a, mul(b, splat(s))) }"),
              HasSubstr("'second' (x.drr:2) is never reached"));
  EXPECT_EQ(Why(first + "rule second { match sub(mul(a, splat(t)), mul(b, splat(s))) where s > 0 "
                        "replace max(a, mul(b, splat(t))) }"),
            "accepted");
  // Dimensions of attributes.
  const std::string rows =
      "rule first { match neg(reshape(x) {shape = {A, B}}) where A > B "
      "replace tanh(reshape(x) {shape = {A, B}}) lowers \"forms\" }\n";
  EXPECT_THAT(Why(rows + "rule second { match neg(reshape(x) {shape = {N, M}}) where N > M replace "
                         "exp(reshape(x) {shape = {N, M}}) lowers \"forms\" }"),
              HasSubstr("'second' (x.drr:2) is never reached"));
  EXPECT_EQ(Why(rows + "rule second { match neg(reshape(x) {shape = {N, M}}) where M > N replace "
                       "exp(reshape(x) {shape = {N, M}}) lowers \"forms\" }"),
            "accepted");
}

// A comparison follows from a narrower one of the same quantity, and from what the graph writes.
TEST_F(ConflictsTest, ComparisonsThatFollow) {
  EXPECT_TRUE(Shadows("where dim(x, -1) >= 2", "where dim(x, -1) == 4"));
  EXPECT_TRUE(Shadows("where dim(x, 0) != 3", "where dim(x, 0) == 4"));
  EXPECT_TRUE(Shadows("where dim(x, 0) > 3", "where 4 <= dim(x, 0)"));
  EXPECT_TRUE(Shadows("where rank(x) < 3", "where rank(x) == 2"));
  EXPECT_TRUE(Shadows("where dtype(x) in {f16, f32}", "where dtype(x) == f16"));
  EXPECT_TRUE(Shadows("where op(x) in {\"ten.exp\", \"ten.tanh\"}", "where op(x) == \"ten.exp\""));
  EXPECT_TRUE(Shadows("where magnitude(x) <= 100", "where magnitude(x) <= 10"));
  EXPECT_TRUE(Shadows("where shape(x) == {A, B} && A >= B", "where shape(x) == {A, A}"));
  EXPECT_FALSE(Shadows("where dim(x, -1) >= 2", "where dim(x, -1) >= 1"));
  EXPECT_FALSE(Shadows("where dim(x, -1) > 2", "where dim(x, -1) >= 2"));
  EXPECT_FALSE(Shadows("where dim(x, 0) >= 2", "where dim(x, 1) == 4"));
  EXPECT_FALSE(Shadows("where dim(x, 0) != 3", "where dim(x, 0) >= 3"));
  EXPECT_FALSE(Shadows("where dtype(x) in {f16, f32}", "where dtype(x) in {f16, f64}"));
  EXPECT_FALSE(Shadows("where magnitude(x) <= 10", "where magnitude(x) <= 100"));
  EXPECT_FALSE(Shadows("where shape(x) == {A, B} && A > B", "where shape(x) == {A, A}"));

  const std::string scaled = "mul(relu(x), splat(s))";
  EXPECT_TRUE(Shadows("where s > 0", "where s > 1", scaled));
  EXPECT_TRUE(Shadows("where s >= 1", "where s > 1 && s < 2", scaled));
  EXPECT_FALSE(Shadows("where s > 1", "where s >= 1", scaled));
  const std::string first = "rule first { match mul(relu(x), splat(s)) where s > 1 replace x }\n";
  EXPECT_THAT(Why(first + "rule second { match mul(relu(x), splat(2)) replace exp(x) }"),
              HasSubstr("'second' (x.drr:2) is never reached"));
  EXPECT_EQ(Why(first + "rule second { match mul(relu(x), splat(1)) replace exp(x) }"), "accepted");
  const std::string axis =
      "rule first { match neg(softmax(x) {axis = a}) where a >= 1 replace softmax(x) {axis = a} "
      "}\n";
  EXPECT_THAT(Why(axis + "rule second { match neg(softmax(x) {axis = 1}) replace exp(x) }"),
              HasSubstr("'second' (x.drr:2) is never reached"));
  EXPECT_EQ(Why(axis + "rule second { match neg(softmax(x) {axis = 0}) replace exp(x) }"),
            "accepted");
  // An operand that may be absent may be there.
  const std::string norm =
      "rule first { match neg(rms_norm(x, maybe(s)) {axis = any}) replace rms_norm(x, s) {axis = "
      "0} }\n";
  EXPECT_THAT(Why(norm + "rule second { match neg(rms_norm(x, s) {axis = any}) where rank(s) == 1 "
                         "replace mul(x, s) }"),
              HasSubstr("'second' (x.drr:2) is never reached"));
}

// Each of two rules matches a part of what the third one matches.
TEST_F(ConflictsTest, RulesThatShareAShadow) {
  const auto why = [&](const std::vector<std::string>& conditions) {
    static constexpr const char* kMade[] = {"tanh", "exp", "sin", "cos"};
    std::string text;
    for (size_t i = 0; i < conditions.size(); ++i) {
      text += fmt::format("rule r{} {{ match neg(relu(x)) {} replace {}(x) }}\n", i, conditions[i],
                          kMade[i]);
    }
    return Why(text);
  };
  EXPECT_THAT(
      why({"where rank(x) == 2", "where !rank(x) == 2", "where rank(x) >= 1"}),
      HasSubstr("rule 'r2' (x.drr:3) is never reached: 'r0' (x.drr:1) and 'r1' (x.drr:2) "
                "together match whatever it matches and are tried first, for example in\n"));
  EXPECT_THAT(why({"where !rank(x) == 2", "where rank(x) == 2", "where dim(x, 0) == 3"}),
              HasSubstr("'r2' (x.drr:3) is never reached: 'r0' (x.drr:1) and 'r1' (x.drr:2)"));
  EXPECT_THAT(why({"where rank(x) >= 3", "where float(x) && !rank(x) >= 3",
                   "where float(x) && rank(x) >= 1"}),
              HasSubstr("'r2' (x.drr:3) is never reached"));
  EXPECT_THAT(why({"where rank(x) == 2 || rank(x) == 3", "where !rank(x) == 2 && !rank(x) == 3",
                   "where rank(x) >= 1"}),
              HasSubstr("'r2' (x.drr:3) is never reached"));
  EXPECT_THAT(why({"where float(x) && rank(x) == 2", "where !float(x)", "where !rank(x) == 2",
                   "where rank(x) >= 1"}),
              HasSubstr("'r3' (x.drr:4) is never reached: 'r0' (x.drr:1) and "));
  // Something is left for the last one: of an unknown rank neither a question nor its negation
  // holds.
  EXPECT_EQ(why({"where rank(x) == 2", "where !rank(x) == 2", ""}), "accepted");
  EXPECT_EQ(why({"where rank(x) >= 3", "where float(x) && !rank(x) >= 3", "where float(x)"}),
            "accepted");
  EXPECT_EQ(why({"where rank(x) == 2", "where rank(x) == 3", ""}), "accepted");
  EXPECT_EQ(why({"where rank(x) >= 3", "where rank(x) == 2", ""}), "accepted");
  EXPECT_EQ(why({"where float(x) && rank(x) == 2", "where !rank(x) == 2", ""}), "accepted");
  EXPECT_EQ(why({"where float(x) && rank(x) == 2", "where !float(x) && !rank(x) == 2", ""}),
            "accepted");
}

TEST_F(ConflictsTest, RulesThatMatchSomeProgramsInCommonAreInOrder) {
  EXPECT_FALSE(Shadows("where rank(x) == 2", ""));
  EXPECT_FALSE(Shadows("where rank(x) == 2", "where rank(x) >= 0"));
  EXPECT_FALSE(Shadows("where rank(x) == 2", "where rank(x) == 3"));
  EXPECT_FALSE(Shadows("where float(x)", "where rank(x) == 2"));
  EXPECT_FALSE(Shadows("where dtype(x) == f32", "where float(x)"));
  EXPECT_FALSE(Shadows("where rank(x) >= 3", "where rank(x) == 2 || rank(x) == 3"));
  EXPECT_FALSE(Shadows("where rank(x) >= 0", ""));  // the rank may be unknown
  EXPECT_FALSE(Shadows("where shape(x) == {B, B}", "where rank(x) == 2"));
  EXPECT_FALSE(Shadows("where shape(x) == {B, 4}", "where rank(x) == 2"));
  EXPECT_FALSE(Shadows("where !rank(x) == 2", "where rank(x) >= 2"));
  EXPECT_FALSE(Shadows("where dim(x, 1) == 4", "where dim(x, 0) == 4"));
  EXPECT_FALSE(Shadows("where constant(x)", "where rank(x) == 2"));
}

TEST_F(ConflictsTest, WhatRejectsAMatchIsSeen) {
  // The first is rejected where its inner operation is used outside; the second keeps that.
  EXPECT_EQ(Why("rule first { match neg(relu(x)) replace tanh(x) }\n"
                "rule second { let r = relu(x) match neg(r) keep r replace exp(x) lowers \"x\" }"),
            "accepted");
  // Two operations, or one that is used twice.
  EXPECT_EQ(Why("rule first { match mul(relu(x), relu(y)) replace relu(mul(x, y)) }\n"
                "rule second { let r = relu(x) match mul(r, r) replace mul(x, x) }"),
            "accepted");
  EXPECT_EQ(Why("rule first { let r = relu(x) match mul(r, r) replace tanh(x) }\n"
                "rule second { match mul(relu(x), relu(y)) replace relu(mul(x, y)) }"),
            "accepted");
  EXPECT_THAT(Why("rule first { match mul(relu(x), relu(y)) may coincide replace relu(mul(x, y)) "
                  "lowers \"x\" }\n"
                  "rule second { let r = relu(x) match mul(r, r) replace tanh(x) }"),
              HasSubstr("rule 'second' (x.drr:2) is never reached"));
  // A variable that stands twice.
  EXPECT_EQ(Why("rule first { match mul(relu(x), tanh(x)) replace relu(x) }\n"
                "rule second { match mul(relu(x), tanh(y)) replace add(x, y) }"),
            "accepted");
}

TEST_F(ConflictsTest, RulesThatMatchWhatTheyMake) {
  for (const char* where :
       {"", "where rank(x) == 2", "where float(x) && rank(x) >= 1", "where lower_bound(x) >= 0",
        "where magnitude(x) < 7 && lower_bound(x) > 1", "where upper_bound(x) < -3000",
        "where dim(x, -1) > 7", "where op(x) == \"ten.exp\"",
        "ignores infinity unless magnitude(x) < inf"}) {
    EXPECT_THAT(Why(std::string("rule grow { match tanh(x) ") + where +
                    " replace relu(tanh(x)) lowers \"nothing\" }"),
                AllOf(HasSubstr("rule 'grow' (x.drr:1) matches what it makes, and would never end"),
                      HasSubstr("ten.tanh")));
  }
  EXPECT_THAT(Why("rule swap { match add(x, y) where same_type(x, y) replace add(y, x) lowers "
                  "\"nothing\" }"),
              HasSubstr("rule 'swap' (x.drr:1) matches what it makes, and would never end"));
  // One that stops: the rank of what it makes is another.
  EXPECT_EQ(Why("rule flat { match tanh(x) where shape(x) == {A, B, C}\n"
                "replace reshape(tanh(reshape(x) {shape = {A * B, C}})) {shape = {A, B, C}} "
                "lowers \"ranks\" }"),
            "accepted");
}

// The first one alone would end.
TEST_F(ConflictsTest, AShrinkingRuleGoesRoundWithOneThatGrows) {
  EXPECT_THAT(
      Why("rule there { match relu(exp(x)) where rank(x) == 2 replace tanh(x) }\n"
          "rule back { match tanh(x) where rank(x) == 2 replace relu(exp(x)) lowers \"b\" }"),
      HasSubstr("never end"));
  EXPECT_THAT(
      Why("rule split { match tanh(x) where rank(x) == 2 replace exp(abs(relu(x))) lowers \"a\" }\n"
          "rule less { match exp(abs(x)) where rank(x) == 2 replace exp(x) }\n"
          "rule join { match exp(relu(x)) where rank(x) == 2 replace tanh(x) }"),
      HasSubstr("never end"));
}

// Programs are made and rewritten for rules that may go round. That takes a millisecond for each
// rule, and compiling one takes a fraction of it.
TEST_F(ConflictsTest, RulesThatShrinkTheProgramAreQuicklyAccepted) {
  constexpr int kCount = 300;
  std::string text;
  for (int i = 0; i < kCount; ++i) {
    text += fmt::format(
        "rule r{} {{ match add(relu(mul(x, splat({}))), relu(y)) where rank(x) == 2 "
        "replace relu(add(x, y)) }}\n",
        i, 1000 + i);
  }
  auto rules = ParseRules(text, "x.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto cost = [&](CompiledRules::Together together) {
    const std::clock_t start = std::clock();
    EXPECT_TRUE(CompiledRules::Create(*rules, context_, together).ok());
    return std::clock() - start;
  };
  const std::clock_t known = cost(CompiledRules::Together::kKnown);
  EXPECT_LT(cost(CompiledRules::Together::kChecked), known * 8);
}

// Rules of one graph that differ in what they ask for, or in a number, are not compared with all
// others.
TEST_F(ConflictsTest, RulesThatDifferInAConditionAreQuicklyAccepted) {
  const std::function<std::string(int)> kinds[] = {
      [](int i) {
        return fmt::format(
            "rule r{} {{ match tanh(tanh(add(x, y))) where rank(x) >= 1 && dim(x, -1) == {} "
            "replace tanh(add(x, y)) }}\n",
            i, i + 1);
      },
      [](int i) {
        return fmt::format(
            "rule r{} {{ match tanh(tanh(add(x, y))) where shape(x) == {{N, {}}} "
            "replace tanh(add(x, y)) }}\n",
            i, i + 1);
      },
      [](int i) {
        return fmt::format(
            "rule r{} {{ match tanh(tanh(mul(x, splat(s)))) where s > {} && magnitude(x) < {} "
            "replace tanh(mul(x, splat(s))) }}\n",
            i, i, i + 1);
      },
      [](int i) {
        return fmt::format(
            "rule r{} {{ match mul(add(x, splat({}.25)), splat(1.5)) where float(x) "
            "replace add(mul(x, splat(1.5)), splat({})) lowers \"order\" }}\n",
            i, i, (i + 0.25) * 1.5);
      }};
  for (const auto& rule : kinds) {
    const auto cost = [&](int count) {
      std::string text;
      for (int i = 0; i < count; ++i) text += rule(i);
      auto rules = ParseRules(text, "x.drr", context_, Facts());
      EXPECT_TRUE(rules.ok()) << rules.status();
      const std::clock_t start = std::clock();
      EXPECT_TRUE(CompiledRules::Create(*std::move(rules), context_).ok());
      return std::clock() - start;
    };
    cost(50);
    // 16 times as many rules, and more than twice as long for each would be too long.
    EXPECT_LT(cost(800), cost(50) * 36) << rule(0);
  }
}

TEST_F(ConflictsTest, RulesThatGoRound) {
  EXPECT_THAT(Why("rule there { match relu(x) where rank(x) >= 1 replace tanh(x) lowers \"a\" }\n"
                  "rule back { match tanh(x) where float(x) replace relu(x) lowers \"b\" }"),
              AllOf(HasSubstr("never end"), HasSubstr("there ("), HasSubstr("back (")));
  EXPECT_THAT(Why("rule a { match relu(x) where rank(x) == 2 replace tanh(x) lowers \"a\" }\n"
                  "rule b { match tanh(x) where rank(x) == 2 replace exp(x) lowers \"b\" }\n"
                  "rule c { match exp(x) where rank(x) == 2 replace relu(x) lowers \"c\" }"),
              AllOf(HasSubstr("never end"), HasSubstr("a ("), HasSubstr("b ("), HasSubstr("c (")));
  EXPECT_EQ(Why("rule a { match relu(x) where rank(x) == 2 replace tanh(x) lowers \"a\" }\n"
                "rule b { match tanh(x) where rank(x) == 3 replace relu(x) lowers \"b\" }"),
            "accepted");
}

}  // namespace
}  // namespace tenon::pattern
