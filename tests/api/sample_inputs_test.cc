// Samples: the same everywhere, within what their uses allow.
#include "frontends/cpp/samples/sample_inputs.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tenon {
namespace {

constexpr std::string_view kText = R"(
func.func() <{arg_attrs = [{core.name = "ids"}, {core.name = "m"}, {core.name = "x"}], function_type = (tensor<?x?xi64, ["batch", "seq"]>, tensor<?x?xi64, ["batch", "seq"]>, tensor<?x3xf32, ["total", ""]>) -> tensor<?x?x4xf32, ["batch", "seq", ""]>, sym_name = "main"}> ({
^bb0(%ids: tensor<?x?xi64, ["batch", "seq"]>, %m: tensor<?x?xi64, ["batch", "seq"]>, %x: tensor<?x3xf32, ["total", ""]>):
  %t = core.constant() <{value = dense<1.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
  %b = ten.cast(%m) <{to = i1}> : (tensor<?x?xi64, ["batch", "seq"]>) -> tensor<?x?xi1, ["batch", "seq"]>
  %r = ten.reshape(%ids) <{shape = #core.dims<"batch", "seq">}> : (tensor<?x?xi64, ["batch", "seq"]>) -> tensor<?x?xi64, ["batch", "seq"]>
  %g = ten.gather(%t, %r) <{axis = 0 : i64}> : (tensor<3x4xf32>, tensor<?x?xi64, ["batch", "seq"]>) -> tensor<?x?x4xf32, ["batch", "seq", ""]>
  func.return(%g) : (tensor<?x?x4xf32, ["batch", "seq", ""]>) -> ()
}) : () -> ()
)";

TEST(SampleInputsTest, RespectUses) {
  absl::StatusOr<Model> model = LoadFromBytes(kText, "t");
  ASSERT_TRUE(model.ok()) << model.status();
  for (int kind = 0; kind < 4; ++kind) {
    absl::StatusOr<Sample> sample = SampleInputs(model->main(), kind);
    ASSERT_TRUE(sample.ok()) << sample.status();
    const int64_t batch = sample->sizes.at("batch"), seq = sample->sizes.at("seq");
    EXPECT_EQ(sample->sizes.at("total"), seq);
    const Tensor &ids = sample->inputs[0], &mask = sample->inputs[1];
    EXPECT_THAT(ids.shape(), ::testing::ElementsAre(batch, seq));
    for (int64_t i = 0; i < ids.numel(); ++i) {
      EXPECT_GE(ids.as<int64_t>()[i], 0);
      EXPECT_LT(ids.as<int64_t>()[i], 3);
      EXPECT_TRUE(mask.as<int64_t>()[i] == 0 || mask.as<int64_t>()[i] == 1);
    }
    for (int64_t row = 0; row < batch; ++row) EXPECT_EQ(mask.as<int64_t>()[row * seq], 1);
    absl::StatusOr<Sample> again = SampleInputs(model->main(), kind);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->text, sample->text);
    EXPECT_EQ(std::memcmp(again->inputs[2].data(), sample->inputs[2].data(),
                          sample->inputs[2].num_bytes()),
              0);
  }
}

// What an ordinary sample rarely meets: a hidden row, numbers that the program asks for.
TEST(SampleInputsTest, EdgesAreHit) {
  constexpr std::string_view kPadding = R"(
func.func() <{arg_attrs = [{core.name = "ids"}, {core.name = "attention_mask"}, {core.name = "x"}], function_type = (tensor<?x?xi64, ["batch", "seq"]>, tensor<?x?xi64, ["batch", "seq"]>, tensor<?xf32, ["seq"]>) -> tensor<?x?xi1, ["batch", "seq"]>, sym_name = "main"}> ({
^bb0(%ids: tensor<?x?xi64, ["batch", "seq"]>, %m: tensor<?x?xi64, ["batch", "seq"]>, %x: tensor<?xf32, ["seq"]>):
  %c = core.constant() <{value = dense<1000000> : tensor<i64>}> : () -> tensor<i64>
  %e = ten.equal(%ids, %c) : (tensor<?x?xi64, ["batch", "seq"]>, tensor<i64>) -> tensor<?x?xi1, ["batch", "seq"]>
  func.return(%e) : (tensor<?x?xi1, ["batch", "seq"]>) -> ()
}) : () -> ()
)";
  absl::StatusOr<Model> model = LoadFromBytes(kPadding, "t");
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Sample> sample = SampleInputs(model->main(), kEdgeSample);
  ASSERT_TRUE(sample.ok()) << sample.status();
  const Tensor &ids = sample->inputs[0], &mask = sample->inputs[1], &x = sample->inputs[2];
  const int64_t seq = sample->sizes.at("seq"), all = mask.numel();
  const std::vector<int64_t> last(mask.as<int64_t>() + all - seq, mask.as<int64_t>() + all);
  EXPECT_THAT(last, ::testing::Each(0));
  EXPECT_EQ(mask.as<int64_t>()[0], 1);
  int64_t near = 0;
  for (int64_t i = 0; i < all; ++i) near += std::abs(ids.as<int64_t>()[i] - 1000000) <= 1 ? 1 : 0;
  EXPECT_GT(near, 0);
  EXPECT_LT(near, all);
  for (int64_t i = 0; i < seq; ++i) EXPECT_LE(std::abs(x.as<float>()[i]), 1e-3F);
}

// Numbers that an integer input is compared with may be next to the end of their type, or none.
TEST(SampleInputsTest, ComparedWithAnyNumber) {
  constexpr std::string_view kComparisons = R"(
func.func() <{arg_attrs = [{core.name = "ids"}, {core.name = "x"}], function_type = (tensor<?x?x?xi64, ["a", "b", "c"]>, tensor<?xf32, ["a"]>) -> (tensor<?x?x?xi1, ["a", "b", "c"]>, tensor<?xi1, ["a"]>, tensor<?xi1, ["a"]>, tensor<?xi1, ["a"]>), sym_name = "main"}> ({
^bb0(%ids: tensor<?x?x?xi64, ["a", "b", "c"]>, %x: tensor<?xf32, ["a"]>):
  %lowest = core.constant() <{value = dense<-9223372036854775808> : tensor<i64>}> : () -> tensor<i64>
  %nan = core.constant() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
  %infinity = core.constant() <{value = dense<0x7F800000> : tensor<f32>}> : () -> tensor<f32>
  %huge = core.constant() <{value = dense<-3.0e38> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.equal(%ids, %lowest) : (tensor<?x?x?xi64, ["a", "b", "c"]>, tensor<i64>) -> tensor<?x?x?xi1, ["a", "b", "c"]>
  %1 = ten.equal(%x, %nan) : (tensor<?xf32, ["a"]>, tensor<f32>) -> tensor<?xi1, ["a"]>
  %2 = ten.less(%x, %infinity) : (tensor<?xf32, ["a"]>, tensor<f32>) -> tensor<?xi1, ["a"]>
  %3 = ten.less(%x, %huge) : (tensor<?xf32, ["a"]>, tensor<f32>) -> tensor<?xi1, ["a"]>
  func.return(%0, %1, %2, %3) : (tensor<?x?x?xi1, ["a", "b", "c"]>, tensor<?xi1, ["a"]>, tensor<?xi1, ["a"]>, tensor<?xi1, ["a"]>) -> ()
}) : () -> ()
)";
  absl::StatusOr<Model> model = LoadFromBytes(kComparisons, "t");
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Sample> sample = SampleInputs(model->main(), kEdgeSample);
  ASSERT_TRUE(sample.ok()) << sample.status();
  const Tensor& ids = sample->inputs[0];
  const std::vector<int64_t> all(ids.as<int64_t>(), ids.as<int64_t>() + ids.numel());
  EXPECT_THAT(all, ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(8))));
  EXPECT_THAT(all, ::testing::Contains(::testing::Gt(1)));  // not taken for a mask
}

// Relative positions fall into buckets by their distance.
TEST(SampleInputsTest, LongerThanComparedDistances) {
  constexpr std::string_view kBuckets = R"(
func.func() <{arg_attrs = [{core.name = "d"}], function_type = (tensor<?x?xi64, ["batch", "seq"]>) -> tensor<?x?xi1, ["batch", "seq"]>, sym_name = "main"}> ({
^bb0(%d: tensor<?x?xi64, ["batch", "seq"]>):
  %c = core.constant() <{value = dense<-16> : tensor<i64>}> : () -> tensor<i64>
  %far = core.constant() <{value = dense<4096> : tensor<i64>}> : () -> tensor<i64>
  %s = ten.add(%d, %c) : (tensor<?x?xi64, ["batch", "seq"]>, tensor<i64>) -> tensor<?x?xi64, ["batch", "seq"]>
  %e = ten.less(%s, %far) : (tensor<?x?xi64, ["batch", "seq"]>, tensor<i64>) -> tensor<?x?xi1, ["batch", "seq"]>
  func.return(%e) : (tensor<?x?xi1, ["batch", "seq"]>) -> ()
}) : () -> ()
)";
  absl::StatusOr<Model> model = LoadFromBytes(kBuckets, "t");
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Sample> sample = SampleInputs(model->main(), kLongSample);
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->sizes.at("seq"), 20);

  absl::StatusOr<Model> without = LoadFromBytes(kText, "t");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(SampleInputs(without->main(), kLongSample).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(SampleInputsTest, FolderMustBeComplete) {
  absl::StatusOr<Model> model = LoadFromBytes(kText, "t");
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(std::string(ReadInputs(model->main(), "/nowhere").status().message()),
              ::testing::HasSubstr("no input_0.pb or input_0.npy"));
}

}  // namespace
}  // namespace tenon
