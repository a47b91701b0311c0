// No rule aborts: one over each operation of each dialect, with its attributes at their defaults,
// any and bound. The check of each ends and gives a reason for what it does not know.
#include <string>
#include <vector>

#include "drr/check/check.h"
#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/context/op_info.h"
#include "ir/dialect/dialects.h"
#include "tests/rules/thoroughness.h"

namespace tenon::drr {
namespace {

// How the rule says attributes. Those without a default are any, where they are not bound.
enum class Attrs { kDefault, kAny, kBound };

// A rule whose root is the operation, or negates its first result. It has all optional operands or
// none.
std::string RuleOver(const OpInfo& op, Attrs how, bool negated, bool optional) {
  std::string operands, attrs;
  int count = 0;
  for (const OperandDef& operand : op.def().operands) {
    const bool absent = operand.arity == Arity::kOptional && !optional;
    operands += operands.empty() ? "" : ", ";
    // In the result stands the first alone.
    operands += absent ? "none" : fmt::format("{}x{}", count == 0 ? "" : "_", count);
    ++count;
  }
  for (int slot = 0; slot < op.num_slots(); ++slot) {
    if (slot == op.segment_slot()) continue;
    const AttrDef& attr = op.def().attrs[static_cast<size_t>(slot)];
    if (how == Attrs::kDefault && !attr.required) continue;
    attrs += attrs.empty() ? " {" : ", ";
    attrs += how == Attrs::kBound ? fmt::format("{} = v{}", attr.name, slot) : attr.name + " = any";
  }
  attrs += attrs.empty() ? "" : "}";
  const std::string made = fmt::format("{}({}){}", op.name(), operands, attrs);
  const std::string replaced = how == Attrs::kBound ? made
                               : count > 0          ? "x0"
                                                    : std::string("splat(1)");
  std::string result = replaced;
  // What is bound is used: the same operation again.
  for (size_t at = 0; (at = result.find("_x", at)) != std::string::npos;) result.erase(at, 1);
  std::string match = made;
  if (how == Attrs::kBound)
    for (size_t at = 0; (at = match.find("_x", at)) != std::string::npos;) match.erase(at, 1);
  return fmt::format("rule over {{ match {} replace {} lowers \"forms\" }}",
                     negated ? fmt::format("neg({})", match) : match, result);
}

std::vector<std::string> Names() {
  Context context;
  RegisterAllDialects(context);
  std::vector<std::string> names;
  for (const std::string& dialect : context.DialectNames())
    for (const OpInfo* op : context.OpsOf(dialect)) names.emplace_back(op->name());
  return names;
}

class EveryOp : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryOp, IsSafeInRules) {
  Context context;
  RegisterAllDialects(context);
  const OpInfo& op = *context.FindOp(GetParam());
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  CheckOptions options;
  options.matches = 3;
  options.attempts = options.edges = kWholeCheck ? 60 : 12;
  for (const Attrs how : {Attrs::kDefault, Attrs::kAny, Attrs::kBound}) {
    for (const bool negated : {true, false}) {
      for (const bool optional : {true, false}) {
        // Under sanitizers every second way to write it.
        if (!kWholeCheck && (static_cast<int>(how) + negated + optional) % 2 != 0) continue;
        const std::string text = RuleOver(op, how, negated, optional);
        SCOPED_TRACE(text);
        const auto rules = ParseRules(text, "every.drr", context);
        if (!rules.ok()) continue;  // an operation that no text can name
        const CheckReport report = CheckRule((*rules)[0], context, evaluator, options);
        if (!report.ok()) {
          ASSERT_FALSE(report.failures.empty());
          EXPECT_THAT(report.failures[0],
                      ::testing::Not(::testing::MatchesRegex("only .* match with [^:]*")));
        }
        // As --rules does: what it says of a rule does not matter here.
        const auto set = CompiledRules::Create(*rules, context);
        EXPECT_TRUE(set.ok() || !set.status().message().empty());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOp, ::testing::ValuesIn(Names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace tenon::drr
