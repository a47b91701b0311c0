// Every registered rule computes what it replaces; planted wrong ones are caught.
#include <memory>
#include <string>

#include "drr/check/check.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/rules/thoroughness.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

CheckReport Check(const Rule& rule, drr::CheckOptions options = {}) {
  Context context;
  RegisterAllDialects(context);
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  // --gtest_random_seed=N checks with other programs. Without it GoogleTest draws a seed by the
  // clock.
  options.seed += static_cast<uint64_t>(GTEST_FLAG_GET(random_seed));
  return CheckRule(rule, context, evaluator, options);
}

// Made once: to make all rules for each of their cases takes longer than many a check.
const RuleSet& Rules() {
  static const RuleSet* rules = new RuleSet(AllRules());
  return *rules;
}

class EveryRule : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryRule, ComputesWhatItReplaces) {
  for (const Rule& rule : Rules()) {
    if (rule.name() != GetParam()) continue;
    CheckReport report = Check(rule, drr::TestedThoroughness());
    for (const std::string& failure : report.failures)
      ADD_FAILURE() << rule.place() << ": " << failure;
    if (!report.failures.empty()) continue;  // the check stopped there
    for (const auto& alternative : report.alternatives)
      EXPECT_GE(alternative.matches, drr::TestedThoroughness().matches) << alternative.text;
    // Only a rule that says so may leave out an element type.
    const auto asks_for_type = [](const auto& condition) {
      return ToString(*condition).find("dtype(") != std::string::npos;
    };
    if (std::none_of(rule.conditions().begin(), rule.conditions().end(), asks_for_type)) {
      EXPECT_THAT(report.skipped, ::testing::IsEmpty());
    }
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Rule& rule : Rules()) names.push_back(rule.name());
  return names;
}

TEST(Thoroughness, IsWhole) {
  if (!drr::kWholeCheck)
    GTEST_SKIP() << "rules are checked with one program of each alternative and of two element "
                    "types, operations in every second way: builds without sanitizers try all";
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, ::testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// ---- planted mistakes

TEST(WrongRules, InversePermutationIsCaught) {
  Val x("x");
  Attr<I64s> p("p"), q("q");
  auto wrong_way = [](const I64s& inner, const I64s& outer) {
    I64s perm;
    for (int64_t axis : inner) perm.push_back(outer[static_cast<size_t>(axis)]);
    return perm;
  };
  CheckReport report = Check(Rule("wrong")
                                 .Match(Transpose(Transpose(x, {.perm = p}), {.perm = q}))
                                 .Replace(Transpose(x, {.perm = Compute(wrong_way, p, q)})));
  EXPECT_FALSE(report.ok());
}

TEST(WrongRules, WrongScaleIsCaught) {
  Val x("x");
  Attr<float> a("a"), b("b");
  CheckReport report =
      Check(Rule("wrong")
                .Match(Mul(Mul(x, Splat(a)), Splat(b)))
                .Replace(Mul(x, Splat(Compute([](double p, double q) { return p + q; }, a, b)))));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.failures[0], HasSubstr("allowed are"));
}

TEST(WrongRules, SlightlyWrongConstantIsCaught) {
  Val x("x");
  CheckReport report = Check(Rule("wrong")
                                 .Match(Mul(x, Sigmoid(Mul(x, Splat(1.703)))))
                                 .Replace(Gelu(x, {.approximate = "sigmoid"})));
  EXPECT_FALSE(report.ok());
}

TEST(WrongRules, WrongAxisIsCaught) {
  Val x("x");
  Attr<int64_t> axis("axis");
  CheckReport report = Check(
      Rule("wrong").Match(Relu(Softmax(x, {.axis = axis}))).Replace(Softmax(x, {.axis = -1})));
  // The attribute variable is not used either, which registration refuses.
  EXPECT_FALSE(report.ok());
  CheckReport any = Check(
      Rule("wrong").Match(Relu(Softmax(x, {.axis = kAny}))).Replace(Softmax(x, {.axis = -1})));
  ASSERT_FALSE(any.ok());
  EXPECT_THAT(any.failures[0], HasSubstr("instead of"));
}

TEST(WrongRules, ForgottenRankIsCaught) {
  // Without Rank(b, 1) a bias that broadcasts over rows would be taken for one over columns.
  Val x("x"), w = Const("w"), b("b");
  auto joined = [](Value v) { return drr::Dims{v.type().dim(0) * v.type().dim(1)}; };
  CheckReport report =
      Check(Rule("wrong")
                .Match(Mul(Add(Matmul(x, w), b), Splat(1)))
                .Where(Rank(w, 2) && RankAtLeast(x, 2) && Rank(b, 2))
                .Replace(fused::Linear(x, w, Reshape(b, {.shape = Compute(joined, b)}), {})));
  EXPECT_FALSE(report.ok());
}

// Pooling of images, whose rows are in the wrong order where there are several pixels and taps. Of
// the programs that the conditions in words let pass, most have one of either.
TEST(WrongRules, WrongOrderBehindAPredicateIsCaught) {
  for (const bool narrow : {false, true}) {
    Val x("x"), v("v");
    Dim B("B"), T("T"), D("D"), P("P");
    const Dim M = B * P;
    Val sum = ReduceSum(Mul(Softmax(x, {.axis = 3}), v), {.axes = {3}, .keepdims = true});
    Val made = fused::Attention(
        Expand(Splat(1), {.shape = {M, 1, 1, 1}}), Reshape(x, {.shape = {M, 1, T, 1}}),
        Reshape(Transpose(v, {.perm = {0, 3, 2, 1}}), {.shape = {M, 1, T, D}}), {}, {}, {}, {}, {},
        {.num_heads = 1,
         .kv_num_heads = 1,
         .scale = 1,
         .q_layout = "bhsd",
         .k_layout = "bhsd",
         .v_layout = "bhsd",
         .out_layout = "bhsd"});
    const auto few = [narrow](Value value) {
      const auto pixels = value.type().dim(2).constant(), taps = value.type().dim(3).constant();
      return narrow ? pixels * taps <= 6 : pixels <= 16;
    };
    CheckReport report = Check(
        Rule("wrong")
            .Match(sum)
            .Where(IsFloat(x) && ShapeIs(x, {B, 1, P, T}) && ShapeIs(v, {B, D, P, T}) &&
                   If("there are few", few, x))
            .Replace(Transpose(Reshape(made, {.shape = {B, P, 1, D}}), {.perm = {0, 3, 1, 2}}))
            .Lowers("products"));
    ASSERT_FALSE(report.ok());
    EXPECT_TRUE(report.wrong()) << report.failures[0];
  }
}

// No report of a rule that is not right can be taken for success, whatever is asked of it.
TEST(Reports, AreNoSuccessUnlessTheRuleIsRight) {
  using Verdict = CheckReport::Verdict;
  Val x("x"), y("y");
  const auto never = [](Value) { return false; };
  const CheckReport right = Check(Rule("right").Match(Neg(Neg(x))).Replace(x));
  const CheckReport wrong = Check(Rule("wrong").Match(Neg(Neg(x))).Replace(Neg(x)));
  const CheckReport invalid = Check(Rule("invalid").Match(Neg(Neg(x))).Replace(y));
  const CheckReport unchecked =
      Check(Rule("never").Match(Neg(Neg(x))).Where(If("never", never, x)).Replace(x));
  EXPECT_EQ(right.verdict, Verdict::kRight);
  EXPECT_EQ(wrong.verdict, Verdict::kWrong);
  EXPECT_EQ(invalid.verdict, Verdict::kInvalid);
  EXPECT_EQ(unchecked.verdict, Verdict::kUnchecked);
  EXPECT_TRUE(right.ok() && right.status().ok() && right.failures.empty());
  for (const CheckReport& report : {wrong, invalid, unchecked, CheckReport()}) {
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(report.status().ok());
    EXPECT_THAT(report.status().message(), HasSubstr(report.rule));
  }
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(invalid.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(unchecked.status().code(), absl::StatusCode::kNotFound);
}

TEST(WrongRules, TooFewMatchesFail) {
  Val x("x");
  CheckReport report = Check(Rule("never")
                                 .Match(Relu(Relu(x)))
                                 .Where(If(
                                     "never", [](Value) { return false; }, x))
                                 .Replace(Relu(x)));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.failures[0], HasSubstr("only 0 of 20 instances match"));
  EXPECT_THAT(report.failures[0], HasSubstr("never"));
}

// Where it matches, there is nothing to compare, or its result cannot be made.
TEST(WrongRules, ResultsWithoutElementsProveNothing) {
  Val x("x");
  Dim a("A"), b("B");
  const CheckReport report = Check(Rule("empty")
                                       .Match(Reshape(Relu(x), {.shape = {a, b}}))
                                       .Replace(Reshape(x, {.shape = {a - b, b}})));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.failures[0], HasSubstr("the result cannot be made"));
}

// What conditions ask for is made, and axes that a reduction drops are counted.
TEST(RightRules, AreMet) {
  Val x("x"), y("y");
  Dim a("A"), b("B");
  for (const Rule& rule :
       {Rule("constant").Match(Sub(x, y)).Where(IsConstant(y)).Replace(Add(x, Neg(y))).Lowers("x"),
        Rule("reduction")
            .Match(ReduceMean(Reshape(x, {.shape = {a, b}}), {.axes = {1}, .keepdims = false}))
            .Where(ShapeIs(x, {a, b}))
            .Replace(ReduceMean(x, {.axes = {1}, .keepdims = false}))}) {
    const CheckReport report = Check(rule);
    EXPECT_TRUE(report.ok()) << report.failures[0];
  }
}

// Of integers alone: numbers beside them are integers too.
TEST(IntegerRules, AreCheckedWithIntegers) {
  Val x("x");
  const auto rule = [&](double number) {
    return Rule("minus")
        .Match(Add(x, Splat(1)))
        .Where(DTypeIs(x, DType::kI32))
        .Replace(Sub(x, Splat(number)))
        .Lowers("additions");
  };
  const CheckReport right = Check(rule(-1));
  EXPECT_TRUE(right.ok()) << right.failures[0];
  EXPECT_EQ(right.alternatives[0].matches, 20);
  const CheckReport wrong = Check(rule(1));
  ASSERT_TRUE(wrong.wrong());
  EXPECT_THAT(wrong.failures[0], HasSubstr("in i32"));
}

// Right in itself, and never done; nobody can tell by looking at the graphs alone.
TEST(WrongRules, ThatMatchWhatTheyMakeAreCaught) {
  Val x("x"), xs = Each("xs");
  Attr<int64_t> axis("axis");
  for (const Rule& rule :
       {Rule("condition").Match(Relu(x)).Where(IsFloat(x)).Replace(Relu(Relu(x))).Lowers("x"),
        Rule("list")
            .Match(Concat(xs, {.axis = axis}))
            .Replace(Concat(xs, {.axis = axis}))
            .Lowers("x")}) {
    const CheckReport report = Check(rule);
    ASSERT_TRUE(report.wrong());
    EXPECT_THAT(report.failures[0], HasSubstr("it does not end: after 64 more applications"));
  }
}

TEST(WrongRules, AnAlternativeThatIsNeverTakenIsNamed) {
  Val x("x");
  const CheckReport report =
      Check(Rule("shadow").Match(Relu(Abs(AnyOf(x, Neg(x))))).Replace(Relu(x)).Lowers("x"));
  ASSERT_FALSE(report.ok());
  const CheckReport right =
      Check(Rule("shadow").Match(Abs(Abs(AnyOf(x, Abs(x))))).Replace(Abs(x)).Lowers("x"));
  ASSERT_FALSE(right.ok());
  EXPECT_FALSE(right.wrong());
  EXPECT_THAT(right.failures[0],
              HasSubstr("only 0 of 20 instances match with ten.abs(x): an alternative in front of "
                        "it matches instead"));
}

TEST(WrongRules, WrongAlternativeIsCaught) {
  Val x("x");
  CheckReport report =
      Check(Rule("wrong")
                .Match(AnyOf(Relu(Neg(Neg(x))), Neg(Neg(Relu(x))), Tanh(Neg(Neg(x)))))
                .Replace(Relu(x)));
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace tenon::pattern
