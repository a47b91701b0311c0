// 16-bit floats on kernels for f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fmt/format.h"
#include "kernels/half.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kPipeline = "widen-half,lower-to-kernels,plan-memory";

template <typename Number>
Tensor Numbers(DType dtype, std::vector<int64_t> shape) {
  Tensor t = Tensor::Make(dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<uint16_t>()[i] = Number(0.01f * static_cast<float>(i % 37) - 0.17f).bits;
  return t;
}

std::string Text(std::string_view dtype) {
  return Function(
      fmt::format("%x: tensor<5x40x{0}>, %w: tensor<40x24x{0}>", dtype),
      fmt::format("(tensor<5x40x{0}>, tensor<40x24x{0}>) -> tensor<5x24x{0}>", dtype),
      fmt::format(
          "  %c = core.constant() <{{value = dense<0.5> : tensor<40x24x{0}>}}> : () -> "
          "tensor<40x24x{0}>\n"
          "  %0 = ten.matmul(%x, %w) : (tensor<5x40x{0}>, tensor<40x24x{0}>) -> tensor<5x24x{0}>\n"
          "  %1 = ten.matmul(%x, %c) : (tensor<5x40x{0}>, tensor<40x24x{0}>) -> tensor<5x24x{0}>\n"
          "  %2 = ten.add(%0, %1) : (tensor<5x24x{0}>, tensor<5x24x{0}>) -> tensor<5x24x{0}>\n"
          "  %3 = nn.softmax(%2) <{{axis = 1 : i64}}> : (tensor<5x24x{0}>) -> tensor<5x24x{0}>\n"
          "  func.return(%3) : (tensor<5x24x{0}>) -> ()\n",
          dtype));
}

template <typename Number>
void ExpectFastAndClose(DType dtype, float step) {
  std::string lowered;
  const absl::StatusOr<Program> fast =
      CompileText(Text(Name(dtype)), false, &lowered, 1, nullptr, {.pipeline = kPipeline});
  const absl::StatusOr<Program> reference = CompileText(Text(Name(dtype)));
  ASSERT_TRUE(fast.ok()) << fast.status();
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_THAT(lowered, HasSubstr("cpu.matmul"));
  EXPECT_THAT(lowered, Not(HasSubstr("\"ref.")));
  EXPECT_THAT(lowered, Not(HasSubstr("kernel.fallback")));
  const std::vector<Tensor> inputs = {Numbers<Number>(dtype, {5, 40}),
                                      Numbers<Number>(dtype, {40, 24})};
  const absl::StatusOr<std::vector<Tensor>> actual = fast->Run(inputs);
  const absl::StatusOr<std::vector<Tensor>> expected = reference->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ((*actual)[0].type_text(), (*expected)[0].type_text());
  for (int64_t i = 0; i < (*actual)[0].numel(); ++i) {
    Number a, b;
    a.bits = (*actual)[0].as<uint16_t>()[i];
    b.bits = (*expected)[0].as<uint16_t>()[i];
    ASSERT_NEAR(static_cast<float>(a), static_cast<float>(b), 4 * step) << i;
  }
}

TEST(WidenHalfTest, F16) { ExpectFastAndClose<kernels::Half>(DType::kF16, 1.0f / 2048); }
TEST(WidenHalfTest, Bf16) { ExpectFastAndClose<kernels::BFloat16>(DType::kBF16, 1.0f / 256); }

// Large constants, of which no element repeats, are widened when they are packed.
TEST(WidenHalfTest, ConstantsKeepTheirValues) {
  std::string values;
  for (int i = 0; i < 40; ++i) {
    values += i == 0 ? "[" : ", [";
    for (int j = 0; j < 8; ++j) values += fmt::format("{}{}.0", j == 0 ? "" : ", ", i + 10 * j);
    values += "]";
  }
  const std::string text = Function(
      "%x: tensor<1x40xf16>", "(tensor<1x40xf16>) -> tensor<1x8xf16>",
      fmt::format("  %c = core.constant() <{{value = dense<[{}]> : tensor<40x8xf16>}}> : () -> "
                  "tensor<40x8xf16>\n"
                  "  %0 = ten.matmul(%x, %c) : (tensor<1x40xf16>, tensor<40x8xf16>) -> "
                  "tensor<1x8xf16>\n"
                  "  func.return(%0) : (tensor<1x8xf16>) -> ()\n",
                  values));
  const absl::StatusOr<Program> program =
      CompileText(text, false, nullptr, 1, nullptr, {.pipeline = kPipeline});
  ASSERT_TRUE(program.ok()) << program.status();
  Tensor x = Tensor::Make(DType::kF16, {1, 40});
  for (int i = 0; i < 40; ++i) x.as<uint16_t>()[i] = kernels::Half(i == 7 ? 1.0f : 0.0f).bits;
  const absl::StatusOr<std::vector<Tensor>> y = program->Run(std::vector<Tensor>{x});
  ASSERT_TRUE(y.ok()) << y.status();
  for (int j = 0; j < 8; ++j) {
    kernels::Half value;
    value.bits = (*y)[0].as<uint16_t>()[j];
    EXPECT_EQ(static_cast<float>(value), static_cast<float>(7 + 10 * j));
  }
}

TEST(WidenHalfTest, OtherTypesStayAsTheyAre) {
  for (const std::string_view dtype : {"f32", "f64"}) {
    std::string lowered;
    ASSERT_TRUE(
        CompileText(Text(dtype), false, &lowered, 1, nullptr, {.pipeline = kPipeline}).ok());
    EXPECT_THAT(lowered, Not(HasSubstr("ten.cast")));
  }
}

}  // namespace
}  // namespace tenon
