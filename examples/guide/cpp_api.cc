// What docs/reference/cpp-api.md quotes: tensors, ownership of operations, statistics, and the
// check of a rule.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/drr/check/check.h"
#include "tenon/executor/evaluator.h"
#include "tenon/executor/passes.h"
#include "tenon/frontends/cpp/passes.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/builder.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/ir/dialect/func_ops.h"
#include "tenon/ir/dialect/ten_ops.h"
#include "tenon/pass/pass_manager.h"
#include "tenon/patterns/prelude.h"

namespace {

constexpr std::string_view kProgram = R"(
func.func() <{function_type = (tensor<?x4xf32, ["B", ""]>) -> tensor<?x4xf32, ["B", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x4xf32, ["B", ""]>):
  %0 = ten.sigmoid(%x) : (tensor<?x4xf32, ["B", ""]>) -> tensor<?x4xf32, ["B", ""]>
  %1 = ten.mul(%x, %0) : (tensor<?x4xf32, ["B", ""]>, tensor<?x4xf32, ["B", ""]>) -> tensor<?x4xf32, ["B", ""]>
  func.return(%1) : (tensor<?x4xf32, ["B", ""]>) -> ()
}) : () -> ()
)";

absl::Status RunOnATensor() {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::LoadFromBytes(kProgram, "silu.mlir"));
  tenon::OptimizeReport report;
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, {.level = 2}, &report));
  for (const auto& [rule, hits] : report.rules)
    std::printf("%s fired %d time\n", rule.c_str(), static_cast<int>(hits));
  TENON_ASSIGN_OR_RETURN(tenon::Program program, tenon::Compile(model, {.threads = 1}));

  tenon::Tensor x = tenon::Tensor::Make(tenon::DType::kF32, {2, 4});
  for (int64_t i = 0; i < x.numel(); ++i) x.as<float>()[i] = static_cast<float>(i);
  tenon::Session session = program.NewSession();
  TENON_ASSIGN_OR_RETURN(const std::vector<tenon::Tensor> outputs, session.Run({&x, 1}));
  std::printf("%s: %.3f %.3f\n", outputs[0].type_text().c_str(), outputs[0].as<float>()[0],
              outputs[0].as<float>()[7]);
  std::printf("shapes prepared: %d\n", static_cast<int>(session.stats().shapes_prepared));
  return absl::OkStatus();
}

absl::Status ReplaceAndErase() {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  TENON_ASSIGN_OR_RETURN(tenon::OwnedOp module, tenon::ParseModule(context, kProgram));
  tenon::Operation* found = nullptr;
  module->Walk([&](tenon::Operation* op) {
    if (tenon::Isa<tenon::ten::MulOp>(op)) found = op;
  });
  tenon::OpBuilder builder = tenon::OpBuilder::Before(found);  // what it makes belongs to the block
  TENON_ASSIGN_OR_RETURN(tenon::ten::ReluOp relu,
                         tenon::ten::ReluOp::Create(builder, found->location(), found->operand(0)));
  found->result().ReplaceAllUsesWith(relu.out());
  found->Erase();  // destroyed: found and its results are gone

  tenon::OwnedOp copy(tenon::Clone(*module));  // detached: the caller owns it
  std::printf("functions: %d\n", static_cast<int>(copy->region().front().front() != nullptr));
  return absl::OkStatus();
}

absl::Status ReadStatistics() {
  tenon::PassRegistry registry;
  TENON_RETURN_IF_ERROR(tenon::RegisterAllPasses(registry));
  tenon::PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline("canonicalize,fuse,dce"));
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  TENON_ASSIGN_OR_RETURN(tenon::OwnedOp module, tenon::ParseModule(context, kProgram));

  std::map<std::string, int64_t, std::less<>> rules;
  tenon::PassContext services;
  services.rule_counts = &rules;  // hits of each rule
  std::string text;
  tenon::PassManagerOptions options;
  options.statistics = true;  // counters of each pass, as text
  options.sink = [&](std::string_view part) { text += part; };
  TENON_RETURN_IF_ERROR(manager.Run(module.get(), services, options).status());
  std::printf("silu: %d, report: %s\n", static_cast<int>(rules["silu"]),
              text.empty() ? "empty" : "there");
  return absl::OkStatus();
}

absl::Status CheckOwnRule() {
  using namespace tenon::pattern;  // NOLINT(google-build-using-namespace)
  Val x("x");
  const tenon::drr::Rule rule = tenon::drr::Rule("relu-of-abs")
                                    .Match(Relu(Abs(x)))
                                    .Where(tenon::drr::IsFloat(x))
                                    .Replace(Abs(x));
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  tenon::ReferenceEvaluator evaluator(tenon::MakeKernelRegistry());
  const tenon::drr::CheckReport report = tenon::drr::CheckRule(rule, context, evaluator);
  std::printf("%s: %s\n", report.rule.c_str(),
              report.ok() ? "no counterexample" : report.failures[0].c_str());
  return report.status();
}

}  // namespace

int main() {
  absl::Status status = RunOnATensor();
  status.Update(ReplaceAndErase());
  status.Update(ReadStatistics());
  status.Update(CheckOwnRule());
  if (status.ok()) return 0;
  std::fprintf(stderr, "cpp_api: %s\n", status.ToString().c_str());
  return 1;
}
