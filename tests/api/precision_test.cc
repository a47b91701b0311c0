// Programs in less precision than the model's, against the model's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "ir/core/text/printer.h"
#include "kernels/cpu/gemm/bf16.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The bytes of numbers in [-1/2, 1/2) as an attribute of elements.
std::string RandomElements(int64_t n) {
  std::string text = "dense<\"0x";
  uint32_t state = 1;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    const auto bits =
        std::bit_cast<std::array<uint8_t, 4>>(static_cast<float>(state >> 8) * 0x1p-24f - 0.5f);
    for (uint8_t byte : bits) text += fmt::format("{:02X}", byte);
  }
  return text + "\">";
}

// Two layers, the second one with its weights transposed as in a language model's head.
std::string TwoLayers() {
  return fmt::format(R"ir(
func.func() <{{function_type = (tensor<5x64xf32>) -> tensor<5x80xf32>, sym_name = "main"}}> ({{
^bb0(%x: tensor<5x64xf32>):
  %v = core.constant() <{{value = {} : tensor<64x96xf32>}}> : () -> tensor<64x96xf32>
  %w = core.constant() <{{value = {} : tensor<80x96xf32>}}> : () -> tensor<80x96xf32>
  %0 = ten.matmul(%x, %v) <{{transpose_a = false, transpose_b = false}}> : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  %1 = ten.relu(%0) : (tensor<5x96xf32>) -> tensor<5x96xf32>
  %2 = ten.matmul(%1, %w) <{{transpose_a = false, transpose_b = true}}> : (tensor<5x96xf32>, tensor<80x96xf32>) -> tensor<5x80xf32>
  func.return(%2) : (tensor<5x80xf32>) -> ()
}}) : () -> ()
)ir",
                     RandomElements(64 * 96), RandomElements(80 * 96));
}

struct Result {
  std::string text;
  OptimizeReport report;
  std::vector<std::string> warnings;
  std::vector<Tensor> outputs;
};

Result RunWith(Precision precision, const std::string& text = TwoLayers()) {
  Result result;
  LoadOptions load;
  load.on_diagnostic = [&](const Context&, const Diagnostic& d) {
    if (d.severity == Severity::kWarning) result.warnings.push_back(d.message);
  };
  absl::StatusOr<Model> model = LoadFromBytes(text, "layers.mlir", load);
  EXPECT_TRUE(model.ok()) << model.status();
  std::vector<Tensor> inputs;
  inputs.push_back(Tensor::Make(DType::kF32, std::vector<int64_t>{5, 64}));
  for (int i = 0; i < 5 * 64; ++i)
    inputs[0].as<float>()[i] = static_cast<float>(i % 13) / 13 - 0.5f;
  OptimizeOptions options;
  options.precision = precision;
  options.verify_each = true;
  EXPECT_TRUE(Optimize(*model, options, &result.report).ok());
  result.text = Print(*model->module(), {.elide_resources = true});
  absl::StatusOr<Program> program = Compile(*model, {.threads = 1});
  EXPECT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::vector<Tensor>> outputs = program->Run(inputs);
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

TEST(Precision, SaysThatNothingChanges) {
  const std::string text = R"ir(
func.func() <{function_type = (tensor<5x64xf32>) -> tensor<5x64xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<5x64xf32>):
  %0 = ten.relu(%x) : (tensor<5x64xf32>) -> tensor<5x64xf32>
  func.return(%0) : (tensor<5x64xf32>) -> ()
}) : () -> ()
)ir";
  const Result int8 = RunWith(Precision::kInt8, text);
  EXPECT_EQ(int8.report.precision, Precision::kFp32);
  EXPECT_THAT(int8.warnings, ::testing::ElementsAre(HasSubstr("int8 changes nothing")));
}

}  // namespace
}  // namespace tenon
