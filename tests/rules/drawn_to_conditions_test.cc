// The check of rules makes programs that fulfil conditions on numbers, attributes and shapes.
#include <string>

#include "drr/check/check.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/dialect/dialects.h"

namespace tenon::drr {
namespace {

using ::testing::HasSubstr;

CheckReport Check(const std::string& rule) {
  Context context;
  RegisterAllDialects(context);
  auto rules = ParseRules("rule r { " + rule + " }", "x.drr", context);
  EXPECT_TRUE(rules.ok()) << rules.status();
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  return CheckRule((*rules)[0], context, evaluator);
}

TEST(DrawnToConditions, NumbersAndAttributesBetweenBoundsAreMet) {
  for (const char* rule :
       {"match mul(mul(x, splat(s)), splat(t)) where s > 1.6 && s < 1.8 && t == 0.5 "
        "replace mul(x, splat(s * t))",
        "match leaky_relu(leaky_relu(x) {alpha = a}) {alpha = b} "
        "where a > 0.6 && a < 0.8 && b == 0.5 replace leaky_relu(x) {alpha = a * b}",
        "match slice(slice(x) {axes = a, starts = s, ends = e, steps = {1}}) "
        "{axes = b, starts = t, ends = f, steps = {1}} where a == b && len(a) == 1 && "
        "only(s) >= 0 && only(t) >= 0 && only(e) >= 0 && only(f) >= 0 replace slice(x) {axes = a, "
        "starts = s + t, ends = {min(only(s) + only(f), only(e))}, steps = {1}}"}) {
    const CheckReport report = Check(rule);
    EXPECT_TRUE(report.ok()) << rule << "\n" << report.status();
  }
}

// Constants that are the same but for ones in front broadcast alike.
TEST(DrawnToConditions, ShapesBehindOnesAreMet) {
  EXPECT_TRUE(Check("match neg(neg(add(x, const b))) where shape(x) == {B, C, H, W} && "
                    "shape(b) == {1..., C, 1, 1} replace add(x, b)")
                  .ok());
  for (const char* shapes :
       {"shape(x) == {B, C, H, W} && shape(s) == {1..., W} && rank(b) == 0",
        "shape(x) == {B, C, H, W} && shape(s) == {1..., C, 1, 1} && shape(b) == {1..., C, 1, 1}",
        "shape(x) == {B, C, H, W} && shape(s) == {1..., C, 1, 1} && rank(s) == 3 && "
        "shape(b) == {1..., C, 1, 1} && rank(b) == 4"}) {
    const CheckReport report =
        Check(fmt::format("match mul(add(x, const b), const s) where {} "
                          "replace add(mul(x, s), mul(b, s)) lowers before(add, mul)",
                          shapes));
    EXPECT_TRUE(report.wrong()) << shapes << "\n" << report.status();
  }
}

}  // namespace
}  // namespace tenon::drr
