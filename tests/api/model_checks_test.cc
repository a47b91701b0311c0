// Checks of passes, steps and kernels one by one: what is wrong in an extension is found, and
// named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/check_kernels.h"
#include "frontends/debug/check_passes.h"
#include "frontends/debug/check_steps.h"
#include "ir/core/builder.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// exp(erf(x)) and exp(erf(x + 1)).
constexpr char kTwice[] = R"ir(
func.func() <{function_type = (tensor<?x4xf32, ["N", ""]>) -> (tensor<?x4xf32, ["N", ""]>, tensor<?x4xf32, ["N", ""]>), sym_name = "main"}> ({
^bb0(%x: tensor<?x4xf32, ["N", ""]>):
  %c = core.constant() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.erf(%x) : (tensor<?x4xf32, ["N", ""]>) -> tensor<?x4xf32, ["N", ""]> loc("/first/Erf")
  %1 = ten.exp(%0) : (tensor<?x4xf32, ["N", ""]>) -> tensor<?x4xf32, ["N", ""]> loc("/first/Exp")
  %2 = ten.add(%x, %c) : (tensor<?x4xf32, ["N", ""]>, tensor<f32>) -> tensor<?x4xf32, ["N", ""]> loc("/second/Add")
  %3 = ten.erf(%2) : (tensor<?x4xf32, ["N", ""]>) -> tensor<?x4xf32, ["N", ""]> loc("/second/Erf")
  %4 = ten.exp(%3) : (tensor<?x4xf32, ["N", ""]>) -> tensor<?x4xf32, ["N", ""]> loc("/second/Exp")
  func.return(%1, %4) : (tensor<?x4xf32, ["N", ""]>, tensor<?x4xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

Difference Near(const Tensor& actual, const Tensor& expected) {
  return Compare(actual, expected, 1e-5, 1e-5);
}

Model LoadedWith(Extension extension) {
  absl::StatusOr<Model> model = LoadFromBytes(
      kTwice, "test.mlir", {.extension = std::make_shared<const Extension>(std::move(extension))});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

kernels::KernelStatus RunWrongErf(const kernels::RunArgs& args) {
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i)
    args.outputs[0].as<float>()[i] = std::erf(args.inputs[0].as<float>()[i]) + 0.5F;
  return kernels::KernelStatus::Ok();
}

Extension WithWrongKernel() {
  kernels::Kernel kernel = {.op = "ten.erf", .name = "wrong.erf", .priority = 1000};
  kernel.run = RunWrongErf;
  Extension extension;
  extension.kernels = {kernel};
  return extension;
}

// Makes ten.tanh of each ten.erf.
class TanhForErf : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext&) override {
    PassResult result;
    function->Walk([&](Operation* op) {
      if (!Isa<ten::ErfOp>(*op)) return;
      OpBuilder builder = OpBuilder::Before(op);
      const auto tanh = ten::TanhOp::Create(builder, op->location(), op->operand(0));
      ASSERT_TRUE(tanh.ok());
      const Value value = tanh->out();
      op->ReplaceAllUsesWith({&value, 1});
      op->Erase();
      result.changed = true;
    });
    return result;
  }
};

Extension WithWrongPass() {
  PassInfo pass;
  pass.name = "tanh-for-erf";
  pass.summary = "ten.erf becomes ten.tanh";
  pass.anchor = "func.func";
  pass.create = [](const PassOptionValues&) { return std::make_unique<TanhForErf>(); };
  Extension extension;
  extension.passes = {pass};
  return extension;
}

std::vector<std::vector<Tensor>> CasesFor(const Model& model) {
  std::vector<std::vector<Tensor>> cases;
  for (int kind = 0; kind < 2; ++kind) {
    absl::StatusOr<Sample> sample = SampleInputs(model.main(), kind);
    EXPECT_TRUE(sample.ok()) << sample.status();
    cases.push_back(std::move(sample->inputs));
  }
  return cases;
}

TEST(CheckKernelsTest, RightKernelsPass) {
  const Model model = LoadedWith({});
  const absl::StatusOr<KernelsReport> report = CheckKernels(model, {.compare = Near});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->ops, 5);
  EXPECT_EQ(report->compared, 5);
  EXPECT_THAT(report->skipped, IsEmpty());
  EXPECT_THAT(report->findings, IsEmpty());
}

TEST(CheckKernelsTest, NamesTheWrongKernelOnceForEqualOperations) {
  const Model model = LoadedWith(WithWrongKernel());
  const absl::StatusOr<KernelsReport> report = CheckKernels(model, {.compare = Near});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->compared, 5);
  ASSERT_EQ(report->findings.size(), 1u);
  const KernelFinding& finding = report->findings[0];
  EXPECT_EQ(finding.kernel, "wrong.erf");
  EXPECT_THAT(finding.nodes, ElementsAre("/first/Erf"));
  EXPECT_THAT(finding.op, HasSubstr("ten.erf"));
  EXPECT_THAT(finding.program, HasSubstr("ten.erf"));
  EXPECT_NEAR(finding.difference.max_abs, 0.5, 1e-5);
}

TEST(CheckPassesTest, NamesThePassThatChangesResults) {
  const Model model = LoadedWith(WithWrongPass());
  CheckPassesOptions options;
  options.optimize.pipeline = "canonicalize,tanh-for-erf,cse,O2";
  options.compile.reference = true;
  options.cases = CasesFor(model);
  options.compare = Near;
  const absl::StatusOr<PassesReport> report = CheckPasses(model, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->compared, report->changed);
  ASSERT_EQ(report->findings.size(), 2u);  // one for each case
  EXPECT_EQ(report->findings[0].pass, "tanh-for-erf");
  EXPECT_EQ(report->findings[0].function, "main");
  EXPECT_EQ(report->findings[1].test_case, 1u);
  EXPECT_GT(report->findings[0].difference.max_abs, 1e-3);
}

TEST(CheckPassesTest, RefusesAModelWithoutCases) {
  const Model model = LoadedWith({});
  const absl::StatusOr<PassesReport> report = CheckPasses(model, {.compare = Near});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckStepsTest, NamesEachWrongRule) {
  const std::string path = ::testing::TempDir() + "/model_checks_test.drr";
  std::ofstream(path)
      << "rule wrong-exp {\n  match exp(x)\n  replace tanh(x)\n  lowers ops(exp)\n}\n"
         "rule wrong-erf {\n  match erf(x)\n  replace sin(x)\n  lowers ops(erf)\n}\n";
  const Model model = LoadedWith({});
  CheckStepsOptions options;
  options.optimize.rule_files = {path};
  options.compile.reference = true;
  options.compare = Near;
  const absl::StatusOr<StepsReport> report = CheckSteps(model, options);
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> names;
  for (const StepFinding& finding : report->findings) names.push_back(finding.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("wrong-exp", "wrong-erf"));
  EXPECT_EQ(report->run.at("wrong-exp"), 1);  // both programs are equal
  for (const StepFinding& finding : report->findings) {
    EXPECT_EQ(finding.kind, "rule");
    EXPECT_THAT(finding.nodes, ElementsAre(HasSubstr("/first/")));
    EXPECT_THAT(finding.place, HasSubstr("model_checks_test.drr:"));
    EXPECT_GT(finding.difference.max_abs, 1e-3);
  }
}

}  // namespace
}  // namespace tenon
