// Programs that read the same file of parameters share its bytes, and what they pack of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/tenon.h"

namespace tenon {
namespace {

// One program multiplies by the weight, the other one also takes roots.
constexpr char kProduct[] = R"ir(
core.parameter() <{sym_name = "w", type = f32}> : () -> ()
func.func() <{function_type = (tensor<?x256xf32, ["N", ""]>) -> tensor<?x128xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x256xf32, ["N", ""]>):
  %w = core.get_parameter() <{name = @w}> : () -> tensor<256x128xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x256xf32, ["N", ""]>, tensor<256x128xf32>) -> tensor<?x128xf32, ["N", ""]>
  func.return(%0) : (tensor<?x128xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";
constexpr char kRoot[] = R"ir(
core.parameter() <{sym_name = "w", type = f32}> : () -> ()
func.func() <{function_type = (tensor<?x256xf32, ["N", ""]>) -> tensor<?x128xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x256xf32, ["N", ""]>):
  %w = core.get_parameter() <{name = @w}> : () -> tensor<256x128xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x256xf32, ["N", ""]>, tensor<256x128xf32>) -> tensor<?x128xf32, ["N", ""]>
  %1 = ten.sqrt(%0) : (tensor<?x128xf32, ["N", ""]>) -> tensor<?x128xf32, ["N", ""]>
  func.return(%1) : (tensor<?x128xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

class SharedParametersTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(float value) const {
    std::vector<float> values(size_t{256} * 128, value);
    values.back() = 0;  // equal elements would be stored as one
    const SafeTensor tensor{
        "w", DType::kF32, {256, 128}, Blob::Copy(std::as_bytes(std::span(values)))};
    ASSERT_TRUE(WriteSafeTensors(path_, {&tensor, 1}).ok());
  }
  // Null `weights`: a new store, for the files of this model.
  absl::StatusOr<Program> Compiled(const char* text, const std::vector<std::string>& replaceable,
                                   std::shared_ptr<PackedWeights>& weights) const {
    absl::StatusOr<Model> model =
        LoadFromBytes(text, "p.mlir", {.parameter_files = {path_}, .replaceable = replaceable});
    if (!model.ok()) return model.status();
    if (const absl::Status status = Optimize(*model); !status.ok()) return status;
    if (weights == nullptr) weights = MakePackedWeights(*model);
    return Compile(*std::move(model), {.threads = 1, .weights = weights});
  }
  static float FirstOf(const Program& program) {
    Tensor x = Tensor::Make(DType::kF32, {3, 256});
    std::fill_n(x.as<float>(), x.numel(), 1.0f);
    const absl::StatusOr<std::vector<Tensor>> y = program.Run(std::vector{x});
    EXPECT_TRUE(y.ok()) << y.status();
    return y.ok() ? y->front().as<float>()[0] : 0;
  }

  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) /
       (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
        "_shared.safetensors"))
          .string();
};

TEST_F(SharedParametersTest, BytesAndPackedWeightsExistOnce) {
  Write(0.5f);
  for (const std::vector<std::string>& replaceable :
       {std::vector<std::string>{}, std::vector<std::string>{"w"}}) {
    std::shared_ptr<PackedWeights> weights;
    SCOPED_TRACE(::testing::PrintToString(replaceable));
    const absl::StatusOr<Program> first = Compiled(kProduct, replaceable, weights);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(FirstOf(*first), 128);
    const PackedWeights::Stats alone = weights->stats();
    EXPECT_EQ(alone.packed, 1);
    const absl::StatusOr<Program> second = Compiled(kRoot, replaceable, weights);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_FLOAT_EQ(FirstOf(*second), std::sqrt(128.0f));
    EXPECT_EQ(weights->stats().packed, alone.packed);
    EXPECT_EQ(weights->stats().packed_bytes, alone.packed_bytes);
    EXPECT_EQ(weights->stats().shared, alone.shared + 1);
    if (replaceable.empty()) continue;
    EXPECT_EQ(first->Parameter("w")->data(), second->Parameter("w")->data());
  }
}

TEST_F(SharedParametersTest, ReadersOfOneFileGetTheSameBytesAsLongAsSomebodyHasThem) {
  Write(0.5f);
  std::weak_ptr<const void> mapping;
  {
    const absl::StatusOr<SafeTensors> one = ReadSafeTensors(path_);
    const absl::StatusOr<SafeTensors> other = ReadSafeTensors(path_);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one->tensors[0].bytes->bytes().data(), other->tensors[0].bytes->bytes().data());
    EXPECT_EQ(one->source.bytes.data(), other->source.bytes.data());
    mapping = one->source.owner;
    EXPECT_FALSE(mapping.expired());
    // Another file in its place is another file.
    Write(0.25f);
    const absl::StatusOr<SafeTensors> later = ReadSafeTensors(path_);
    ASSERT_TRUE(later.ok());
    EXPECT_NE(one->tensors[0].bytes->bytes().data(), later->tensors[0].bytes->bytes().data());
    float before, after;
    std::memcpy(&before, one->tensors[0].bytes->bytes().data(), sizeof(before));
    std::memcpy(&after, later->tensors[0].bytes->bytes().data(), sizeof(after));
    EXPECT_EQ(before, 0.5f);
    EXPECT_EQ(after, 0.25f);
  }
  EXPECT_TRUE(mapping.expired());
}

TEST_F(SharedParametersTest, OneProgramsNewValuesAreNotTheOthers) {
  Write(0.5f);
  std::shared_ptr<PackedWeights> weights;
  absl::StatusOr<Program> first = Compiled(kProduct, {"w"}, weights);
  const absl::StatusOr<Program> second = Compiled(kProduct, {"w"}, weights);
  ASSERT_TRUE(first.ok() && second.ok());
  Tensor ones = Tensor::Make(DType::kF32, {256, 128});
  std::fill_n(ones.as<float>(), ones.numel(), 1.0f);
  ASSERT_TRUE(first->ReplaceParameters(std::vector<ParameterValue>{{"w", ones}}).ok());
  EXPECT_EQ(FirstOf(*first), 256);
  EXPECT_EQ(FirstOf(*second), 128);
}

}  // namespace
}  // namespace tenon
