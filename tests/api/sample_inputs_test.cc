// Samples: the same everywhere, within what their uses allow.
#include "frontends/api/sample_inputs.h"

#include <cstring>

#include "frontends/api/tenon.h"
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
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
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

TEST(SampleInputsTest, FolderMustBeComplete) {
  absl::StatusOr<Model> model = LoadFromBytes(kText, "t");
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(std::string(ReadInputs(model->main(), "/nowhere").status().message()),
              ::testing::HasSubstr("no input_0.pb or input_0.npy"));
}

}  // namespace
}  // namespace tenon
