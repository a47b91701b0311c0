// Predicates and computed attributes that read what is not there: the rule does not fire, and where
// it nearly does is told.
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/base/guarded_read.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "pass/rule_log.h"
#include "patterns/families.h"
#include "patterns/prelude.h"
#include "patterns/shared_rules.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class PredicatesTest : public ::testing::Test {
 protected:
  PredicatesTest() { RegisterAllDialects(context_); }

  // "fires", or where the rule nearly matches.
  std::string Apply(const Rule& rule, const std::string& type) {
    auto compiled = CompiledRules::Create({rule}, context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module = ParseModule(
        context_, "func.func() <{function_type = (" + type + ") -> " + type +
                      ", sym_name = \"f\"}> ({\n^bb0(%x: " + type + "):\n  %r = ten.relu(%x) : (" +
                      type + ") -> " + type + "\n  %n = ten.neg(%r) : (" + type + ") -> " + type +
                      "\n  func.return(%n) : (" + type + ") -> ()\n}) : () -> ()\n");
    if (!module.ok()) return std::string(module.status().message());
    RuleLog log;
    log.wanted = [](std::string_view) { return true; };
    EXPECT_TRUE(FindMisses(*compiled, module->get(), PassContext(), log).ok());
    PassContext pass;
    const auto result = ApplyRules(*compiled, module->get(), pass);
    if (!result.ok()) return std::string(result.status().message());
    return result->rewrites > 0 ? "fires" : ExplainText(log, rule.name());
  }
  Rule With(const Condition& condition, const Val& x) {
    return Rule("r").Match(Neg(Relu(x))).Where(condition).Replace(Tanh(x));
  }

  Context context_;
};

TEST_F(PredicatesTest, DimensionsThatAreNotThere) {
  const Val x("x");
  const Condition third = If(
      "the third dimension is 4", [](Value v) { return v.type().dim(2).is_constant(4); }, x);
  EXPECT_EQ(Apply(With(third, x), "tensor<2x3x4xf32>"), "fires");
  EXPECT_THAT(Apply(With(third, x), "tensor<2x3x5xf32>"), HasSubstr("the third dimension is 4"));
  for (const char* type : {"tensor<4xf32>", "tensor<f32>", "tensor<2x4xf32>", "tensor<*xf32>"}) {
    EXPECT_THAT(
        Apply(With(third, x), type),
        HasSubstr("the rule wants that the third dimension is 4, and x is " + std::string(type)));
  }
  // What is not there is no answer: not to the opposite either.
  EXPECT_THAT(Apply(With(!third, x), "tensor<2x3x5xf32>"), "fires");
  EXPECT_THAT(Apply(With(!third, x), "tensor<2x3x4xf32>"), HasSubstr("matched 1 of 2"));
  EXPECT_THAT(Apply(With(!third, x), "tensor<4xf32>"), HasSubstr("matched 1 of 2"));
  EXPECT_THAT(Apply(With(!(third || Rank(x, 0)), x), "tensor<4xf32>"), HasSubstr("matched 1 of 2"));
  // Of two, the other may hold.
  EXPECT_EQ(Apply(With(third || Rank(x, 1), x), "tensor<4xf32>"), "fires");
  EXPECT_THAT(Apply(With(third || Rank(x, 0), x), "tensor<4xf32>"), HasSubstr("matched 1 of 2"));
}

// A condition, and the same behind `!`: never do both hold, and neither where no answer is known.
TEST_F(PredicatesTest, NegationOfWhatIsNotKnown) {
  struct Case {
    const char* condition;
    const char* type;
    bool holds, negation_holds;
  };
  constexpr const char* kNamed = "tensor<?x?xf32, [\"B\", \"B + 5\"]>";
  for (const Case& c : std::vector<Case>{
           {"dim(x, 0) == 4", "tensor<4x1xf32>", true, false},
           {"dim(x, 0) == 4", "tensor<3x1xf32>", false, true},
           {"dim(x, 0) == 4", kNamed, false, false},
           {"dim(x, 0) != 4", kNamed, false, false},
           {"dim(x, 1) == 4", kNamed, false, true},
           {"dim(x, 1) > 4", kNamed, true, false},
           {"dim(x, 0) > 1", kNamed, false, false},
           {"dim(x, 0) == dim(x, 1)", kNamed, false, true},
           {"dim(x, 5) == 4", "tensor<4x1xf32>", false, false},
           {"1 / (rank(x) - 2) > 3", "tensor<4x1xf32>", false, false},
           {"rank(x) == 2", "tensor<*xf32>", false, false},
           {"rank(x) >= 2", "tensor<*xf32>", false, false},
           {"shape(x) == shape(y)", "tensor<4x1xf32>", true, false},
           {"shape(x) == shape(y)", "tensor<?xf32>", false, false},
           {"same_type(x, y)", "tensor<?xf32>", false, false},
           {"dtype(x) == f32", "tensor<*xf32>", true, false},
           {"shape(x) == {1..., 4}", kNamed, false, true},
           {"shape(x) == {1..., 5}", "tensor<?x?xf32, [\"B\", \"B\"]>", false, false},
           {"broadcasts_to(shape(x), {4, 9})", "tensor<?x?xf32, [\"B\", \"B\"]>", false, false},
           {"dim(x, 0) in {3, 4}", kNamed, false, false},
           {"(rank(x) == 3 && dim(x, 0) == 4)", kNamed, false, true},
           {"(rank(x) == 2 || dim(x, 0) == 4)", kNamed, true, false},
           {"(rank(x) == 2 && dim(x, 0) == 4)", kNamed, false, false},
           {"uniform(x)", "tensor<4xf32>", false, false},
           {"zeros_and_ones(x)", "tensor<4xf32>", false, false},
           {"fixed(dim(x, 0))", kNamed, false, true},
           {"exists(1 / (rank(x) - 2))", "tensor<4x1xf32>", false, true}}) {
    for (const bool negated : {false, true}) {
      const std::string condition = std::string(negated ? "!" : "") + "(" + c.condition + ")";
      const auto rules = ParseRules(
          "rule r { let y = relu(x) match neg(y) where " + condition + " replace tanh(x) }",
          "x.drr", context_, Facts());
      ASSERT_TRUE(rules.ok()) << rules.status();
      const std::string told = Apply((*rules)[0], c.type);
      EXPECT_EQ(told == "fires", negated ? c.negation_holds : c.holds)
          << condition << " of " << c.type << ": " << told;
    }
  }
}

TEST_F(PredicatesTest, ANegationThatIsNotKnownIsTold) {
  const Val x("x");
  EXPECT_THAT(Apply(With(!(ExtentOf(x, 0) == 4), x), "tensor<?xf32, [\"B\"]>"),
              HasSubstr("which leaves that open"));
}

// Operands that may be absent: `exists` asks for them, and other conditions hold without them.
TEST_F(PredicatesTest, OperandsThatAreAbsent) {
  struct Case {
    const char* condition;
    bool with, without;
  };
  for (const Case& c :
       std::vector<Case>{{"exists(b)", true, false},
                         {"!exists(b)", false, true},
                         {"exists(rank(b))", true, false},
                         {"!exists(rank(b))", false, true},
                         {"rank(b) == 1", true, true},
                         {"rank(b) == 7", false, true},
                         {"!(rank(b) == 7)", true, true},
                         {"exists(b) && rank(b) == 7", false, false},
                         {"exists(b) && rank(b) == 1", true, false},
                         {"(!exists(b) || rank(b) == 7)", false, true},
                         {"(!exists(b) || rank(b) == 1)", true, true},
                         {"!(exists(b) && rank(b) == 1)", false, true},
                         {"if(exists(b), rank(b) == 7, rank(x) == 2)", false, true}}) {
    for (const bool with : {false, true}) {
      const auto rules = ParseRules(
          std::string("rule r { match sin(fused.linear(x, w, maybe(b), none)) where ") +
              c.condition + " replace cos(fused.linear(x, w, b, none)) lowers \"sines\" }",
          "x.drr", context_);
      ASSERT_TRUE(rules.ok()) << rules.status();
      const auto compiled = CompiledRules::Create(*rules, context_);
      ASSERT_TRUE(compiled.ok()) << c.condition << ": " << compiled.status();
      const std::string segments = with ? "1, 1, 1, 0" : "1, 1, 0, 0";
      const auto module = ParseModule(
          context_,
          std::string("func.func() <{function_type = (tensor<2x8xf32>, tensor<8x8xf32>, "
                      "tensor<8xf32>) -> tensor<2x8xf32>, sym_name = \"f\"}> ({\n"
                      "^bb0(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>):\n"
                      "  %r = fused.linear(%x, %w") +
              (with ? ", %b" : "") + ") <{operandSegmentSizes = array<i32: " + segments +
              ">}> : (tensor<2x8xf32>, tensor<8x8xf32>" + (with ? ", tensor<8xf32>" : "") +
              ") -> tensor<2x8xf32>\n"
              "  %n = ten.sin(%r) : (tensor<2x8xf32>) -> tensor<2x8xf32>\n"
              "  func.return(%n) : (tensor<2x8xf32>) -> ()\n}) : () -> ()\n");
      ASSERT_TRUE(module.ok()) << module.status();
      PassContext pass;
      const auto result = ApplyRules(*compiled, module->get(), pass);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->rewrites > 0, with ? c.with : c.without)
          << c.condition << (with ? " with b" : " without b");
    }
  }
}

TEST_F(PredicatesTest, NumbersThatAreNotThere) {
  const Val x("x");
  const auto holds = [&](const std::function<bool(Value)>& predicate, const std::string& type) {
    return Apply(With(If(
                          "it holds", [predicate](Value v) { return predicate(v); }, x),
                      x),
                 type) == "fires";
  };
  const auto extent = [](Value v) { return v.type().dim(0).constant() >= 0; };
  EXPECT_TRUE(holds(extent, "tensor<2xf32>"));
  EXPECT_FALSE(holds(extent, "tensor<?xf32, [\"B\"]>"));
  EXPECT_FALSE(holds(extent, "tensor<f32>"));
  const auto rank = [](Value v) { return v.type().rank() >= 0; };
  EXPECT_TRUE(holds(rank, "tensor<f32>"));
  EXPECT_FALSE(holds(rank, "tensor<*xf32>"));
  const auto dims = [](Value v) { return v.type().dims().size() < 9; };
  EXPECT_FALSE(holds(dims, "tensor<*xf32>"));
  EXPECT_FALSE(holds([](Value) { return Type().rank() >= 0; }, "tensor<f32>"));
  EXPECT_FALSE(holds([](Value) { return Attribute().int_value() >= 0; }, "tensor<f32>"));
  EXPECT_FALSE(holds([](Value v) { return v.argument_index() > 7; }, "tensor<f32>"));
}

TEST_F(PredicatesTest, ComputedAttributes) {
  const Val x("x");
  const auto last = [](Value v) {
    return v.type().dim(2).constant() > 4 ? int64_t{0} : int64_t{1};
  };
  const Rule rule = Rule("r").Match(Neg(Relu(x))).Replace(Softmax(x, {.axis = Compute(last, x)}));
  EXPECT_EQ(Apply(rule, "tensor<2x3x5xf32>"), "fires");
  EXPECT_THAT(Apply(rule, "tensor<2x3xf32>"), HasSubstr("has no value here"));
  EXPECT_THAT(Apply(rule, "tensor<f32>"), HasSubstr("has no value here"));
}

// Elsewhere it is a mistake of ours, which ends the program.
TEST_F(PredicatesTest, OutsideOfPredicates) {
  const Type vector = Type::Tensor(context_, DType::kF32, std::initializer_list<int64_t>{4});
  EXPECT_FALSE(GuardedRead([&] { return vector.dim(3).is_constant(); }).has_value());
  EXPECT_EQ(GuardedRead([&] { return vector.dim(0).constant(); }), std::optional<int64_t>(4));
  EXPECT_DEATH(vector.dim(3), "internal error");
}

// Programs of random operations of one rank: near misses of every rule are looked for.
TEST_F(PredicatesTest, EveryRuleOnSmallRanks) {
  const std::vector<std::string> unary = {"ten.relu",    "ten.neg", "ten.exp",  "ten.tanh",
                                          "ten.sigmoid", "ten.erf", "ten.sqrt", "ten.reciprocal",
                                          "ten.abs",     "nn.gelu", "nn.silu",  "ten.log"};
  const std::vector<std::string> binary = {"ten.add", "ten.mul", "ten.sub", "ten.div",
                                           "ten.pow", "ten.max", "ten.min"};
  std::mt19937_64 random(1);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int rank = 0; rank <= 3; ++rank) {
    for (int round = 0; round < 4; ++round) {
      const std::string t = rank == 0   ? "tensor<f32>"
                            : rank == 1 ? "tensor<4xf32>"
                            : rank == 2 ? "tensor<4x4xf32>"
                                        : "tensor<2x4x4xf32>";
      std::string body =
          "  %c = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> "
          "tensor<f32>\n";
      std::vector<std::string> values = {"%x", "%y", "%z"};
      for (int i = 0; i < 150; ++i) {
        const std::string a = values[values.size() - 1 - pick(std::min<size_t>(values.size(), 6))];
        const std::string b = values[values.size() - 1 - pick(std::min<size_t>(values.size(), 6))];
        const std::string v = "%v" + std::to_string(i);
        const size_t kind = pick(8);
        if (kind == 0 && rank > 0) {
          body += "  " + v + " = nn.softmax(" + a + ") <{axis = " + std::to_string(rank - 1) +
                  " : i64}> : (" + t + ") -> " + t + "\n";
        } else if (kind == 1 && rank >= 2) {
          body += "  " + v + " = ten.matmul(" + a + ", " + b +
                  ") <{transpose_b = " + (pick(2) == 0 ? "true" : "false") + "}> : (" + t + ", " +
                  t + ") -> " + t + "\n";
        } else if (kind == 2) {
          body += "  " + v + " = ten.mul(" + a + ", %c) : (" + t + ", tensor<f32>) -> " + t + "\n";
        } else if (kind == 3 && rank >= 2) {
          body += "  " + v + " = ten.transpose(" + a +
                  ") <{perm = array<i64: " + (rank == 2 ? "1, 0" : "0, 2, 1") + ">}> : (" + t +
                  ") -> " + t + "\n";
        } else if (kind <= 5) {
          body += "  " + v + " = " + unary[pick(unary.size())] + "(" + a + ") : (" + t + ") -> " +
                  t + "\n";
        } else {
          body += "  " + v + " = " + binary[pick(binary.size())] + "(" + a + ", " + b + ") : (" +
                  t + ", " + t + ") -> " + t + "\n";
        }
        values.push_back(v);
      }
      auto module =
          ParseModule(context_, "func.func() <{function_type = (" + t + ", " + t + ", " + t +
                                    ") -> " + t + ", sym_name = \"f\"}> ({\n^bb0(%x: " + t +
                                    ", %y: " + t + ", %z: " + t + "):\n" + body + "  func.return(" +
                                    values.back() + ") : (" + t + ") -> ()\n}) : () -> ()\n");
      ASSERT_TRUE(module.ok()) << module.status();
      for (const Family& family : Families()) {
        RuleLog log;
        log.wanted = [](std::string_view) { return true; };
        const auto rules = CompiledRules::OnDemand(SharedRulesOf(family), context_);
        EXPECT_TRUE(FindMisses(rules, module->get(), PassContext(), log).ok());
      }
    }
  }
}

}  // namespace
}  // namespace tenon::pattern
