// Rules in C++: docs/guide/write-a-rule-in-cpp.md explains this file.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/drr/check/check.h"
#include "tenon/drr/text/text.h"
#include "tenon/executor/evaluator.h"
#include "tenon/executor/passes.h"
#include "tenon/frontends/cpp/extension.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/patterns/facts/value_range.h"
#include "tenon/patterns/prelude.h"

namespace {

using namespace tenon::pattern;  // NOLINT(google-build-using-namespace): the notation of rules

// 1 - sigmoid(x) = sigmoid(-x)
Rule ComplementOfSigmoid() {
  Val x("x");
  return Rule("complement-of-sigmoid")
      .Summary("1 - sigmoid(x) = sigmoid(-x)")
      .Match(Sub(Splat(1), Sigmoid(x)))
      .Where(IsFloat(x))
      .Replace(Sigmoid(Neg(x)))
      .Lowers(OpsOf({"ten.sub"}));
}

// A condition on attributes, and an attribute that is computed from them.
Rule LeakyReluTwice() {
  Val x("x");
  Attr<float> a("a"), b("b");
  return Rule("leaky-relu-twice")
      .Summary("two leaky relus are one with the product of the slopes")
      .Match(LeakyRelu(LeakyRelu(x, {.alpha = a}), {.alpha = b}))
      .Where(If("both slopes are positive", a > 0 && b > 0))
      .Replace(LeakyRelu(x, {.alpha = a * b}));
}

// A proof: for x = -inf the power is inf and the product is NaN. The rule fires where x is provably
// never negative, and with fast math everywhere.
Rule PowerOfThreeHalves() {
  Val x("x");
  return Rule("power-of-three-halves")
      .Summary("x^1.5 = x * sqrt(x)")
      .Match(Pow(x, Splat(1.5)))
      .IgnoresInfinity(If("x is never negative", IsNeverNegative, x))
      .Replace(Mul(x, Sqrt(x)))
      .Lowers(OpsOf({"ten.pow"}));
}

// Dimensions are solved over the whole match: H * D must be the size of the last axis.
Rule HeadsAndBack() {
  Val x("x");
  Dim B("B"), S("S"), H("H"), D("D");
  return Rule("heads-and-back")
      .Summary("a split into heads that the next reshape undoes")
      .Match(Reshape(Relu(Reshape(x, {.shape = {B, S, H, D}})), {.shape = {B, S, H * D}}))
      .Where(ShapeIs(x, {B, S, H * D}))
      .Replace(Relu(x));
}

std::vector<Rule> OwnRules() {
  return {ComplementOfSigmoid(), LeakyReluTwice(), PowerOfThreeHalves(), HeadsAndBack()};
}

// Runs both sides of each rule on random programs, as `ir-opt --check-rules` does.
absl::Status CheckAll(const std::vector<Rule>& rules) {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  tenon::ReferenceEvaluator evaluator(tenon::MakeKernelRegistry());
  for (const Rule& rule : rules) {
    const CheckReport report = CheckRule(rule, context, evaluator);
    TENON_RETURN_IF_ERROR(report.status());
    std::printf("%s: right, in %zu alternatives, skipped element types: %zu\n", report.rule.c_str(),
                report.alternatives.size(), report.skipped.size());
  }
  return absl::OkStatus();
}

constexpr char kProgram[] = R"(
func.func() <{function_type = (tensor<?x6xf32, ["B", ""]>) -> tensor<?x6xf32, ["B", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x6xf32, ["B", ""]>):
  %one = core.constant() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.leaky_relu(%x) <{alpha = 0.5 : f32}> : (tensor<?x6xf32, ["B", ""]>) -> tensor<?x6xf32, ["B", ""]>
  %1 = ten.leaky_relu(%0) <{alpha = 0.5 : f32}> : (tensor<?x6xf32, ["B", ""]>) -> tensor<?x6xf32, ["B", ""]>
  %2 = ten.sigmoid(%1) : (tensor<?x6xf32, ["B", ""]>) -> tensor<?x6xf32, ["B", ""]>
  %3 = ten.sub(%one, %2) : (tensor<f32>, tensor<?x6xf32, ["B", ""]>) -> tensor<?x6xf32, ["B", ""]>
  %p = core.constant() <{value = dense<1.5> : tensor<f32>}> : () -> tensor<f32>
  %4 = ten.pow(%3, %p) : (tensor<?x6xf32, ["B", ""]>, tensor<f32>) -> tensor<?x6xf32, ["B", ""]>
  func.return(%4) : (tensor<?x6xf32, ["B", ""]>) -> ()
}) : () -> ()
)";

absl::Status Run() {
  std::vector<Rule> rules = OwnRules();
  TENON_RETURN_IF_ERROR(CheckAll(rules));

  auto extension = std::make_shared<tenon::Extension>();
  extension->rules = rules;
  TENON_ASSIGN_OR_RETURN(tenon::Model model,
                         tenon::LoadFromBytes(kProgram, "program.mlir", {.extension = extension}));
  tenon::OptimizeReport report;
  tenon::OptimizeOptions options;
  options.explain_rule = "leaky-relu-twice";
  options.report = [](std::string_view text) {
    std::printf("%s\n", std::string(text.substr(0, text.find('\n'))).c_str());
  };
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, options, &report));
  for (const auto& [rule, hits] : report.rules)
    std::printf("%s fired %d times\n", rule.c_str(), static_cast<int>(hits));

  // A rule that is wrong comes back with a program that shows it.
  Val x("x");
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  tenon::ReferenceEvaluator evaluator(tenon::MakeKernelRegistry());
  const CheckReport wrong =
      CheckRule(Rule("abs-is-x").Match(Abs(x)).Replace(x), context, evaluator);
  std::printf("abs-is-x: %s\n", absl::StatusCodeToString(wrong.status().code()).c_str());

  // Rules as text are the same data.
  std::printf("%s", ToString(LeakyReluTwice()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
