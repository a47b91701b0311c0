// A rule whose matches cannot be found in bounded time is no checked rule, and the check ends.
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

// 31 sums whose operands may stand in any order, under a condition on all of them that fails.
TEST(ExhaustedRule, IsNotChecked) {
  std::string lets, parts[32], leaves, shapes;
  for (int i = 0; i < 32; ++i) {
    parts[i] = fmt::format("x{}", i);
    leaves += (i > 0 ? ", " : "") + parts[i];
    shapes += fmt::format("shape(x{}) == {{A, B}} && ", i);
  }
  int sums = 0;
  for (int width = 32; width > 1; width /= 2) {
    for (int i = 0; i < width / 2; ++i) {
      const std::string sum = fmt::format("s{}", sums++);
      lets += fmt::format("let {} = add({}, {})\n", sum, parts[2 * i], parts[2 * i + 1]);
      parts[i] = sum;
    }
  }
  Context context;
  RegisterAllDialects(context);
  auto rules = ParseRules("rule tree {\n" + lets + "match neg(" + parts[0] + ")\nwhere " + shapes +
                              "!same_type(" + leaves + ") replace neg(x0) }\n",
                          "x.drr", context);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  const CheckReport report = CheckRule((*rules)[0], context, evaluator);
  ASSERT_EQ(report.verdict, CheckReport::Verdict::kUnchecked);
  EXPECT_THAT(report.failures[0],
              ::testing::HasSubstr("rule 'tree' (x.drr:1) is not decided here in"));
}

}  // namespace
}  // namespace tenon::drr
