// Programs in less precision than the model's, against the model's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/api/compare.h"
#include "frontends/api/sample_inputs.h"
#include "frontends/api/tenon.h"
#include "ir/core/printer.h"
#include "kernels/cpu/gemm/bf16.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kModel[] = "tests/models/bert.sdpa.dyn18/model.onnx";

struct Result {
  std::string text;
  OptimizeReport report;
  std::vector<std::string> warnings;
  std::vector<Tensor> outputs;
};

Result RunWith(Precision precision) {
  Result result;
  LoadOptions load;
  load.on_diagnostic = [&](const Context&, const Diagnostic& d) {
    if (d.severity == Severity::kWarning) result.warnings.push_back(d.message);
  };
  absl::StatusOr<Model> model = Load(kModel, load);
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Sample> sample = SampleInputs(model->main(), 0);
  EXPECT_TRUE(sample.ok()) << sample.status();
  OptimizeOptions options;
  options.precision = precision;
  options.verify_each = true;
  EXPECT_TRUE(Optimize(*model, options, &result.report).ok());
  result.text = Print(*model->module(), {.elide_resources = true});
  absl::StatusOr<Program> program = Compile(*model, {.threads = 1});
  EXPECT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::vector<Tensor>> outputs = program->Run(sample->inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  result.outputs = *std::move(outputs);
  return result;
}

// Not equal, for then nothing was rounded, but close.
void ExpectClose(const Result& actual, const Result& expected, double tolerance) {
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  double largest = 0;
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const Difference d = Compare(actual.outputs[i], expected.outputs[i], tolerance, 0);
    EXPECT_TRUE(d.pass) << "output " << i << ": " << d.problem << ", error " << d.max_abs;
    largest = std::max(largest, d.max_abs);
  }
  EXPECT_GT(largest, 0);
}

TEST(Precision, Int8WeightsStayClose) {
  const Result fp32 = RunWith(Precision::kFp32), int8 = RunWith(Precision::kInt8);
  EXPECT_THAT(fp32.text, Not(HasSubstr("fused.compressed_linear")));
  EXPECT_THAT(int8.text, HasSubstr("fused.compressed_linear"));
  EXPECT_EQ(int8.report.precision, Precision::kInt8);
  EXPECT_THAT(int8.warnings, ::testing::IsEmpty());
  ExpectClose(int8, fp32, 0.02);
}

TEST(Precision, Bf16StaysCloseOrSaysThatTheCpuHasNone) {
  const Result fp32 = RunWith(Precision::kFp32), bf16 = RunWith(Precision::kBf16);
  if (!kernels::cpu::HasBf16()) {
    EXPECT_EQ(bf16.report.precision, Precision::kFp32);
    EXPECT_THAT(bf16.warnings, ::testing::Contains(HasSubstr("no bf16 products")));
    EXPECT_EQ(bf16.text, fp32.text);
    return;
  }
  EXPECT_THAT(bf16.text, HasSubstr("xbf16>"));
  EXPECT_EQ(bf16.report.precision, Precision::kBf16);
  ExpectClose(bf16, fp32, 0.02);
}

}  // namespace
}  // namespace tenon
