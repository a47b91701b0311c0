// What ONNX's operators on images and signals become that are formulas of ours, and their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/api/tenon.h"
#include "tests/executor/run_util.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// The first result of a model, of f32, at level 2.
std::vector<float> ResultOf(const ModelBuilder& builder) {
  absl::StatusOr<tenon::Model> model = LoadFromBytes(builder.Serialize(), "test.onnx");
  if (!model.ok()) return ADD_FAILURE() << model.status(), std::vector<float>();
  if (const absl::Status status = Optimize(*model, {.level = 2}); !status.ok())
    return ADD_FAILURE() << status, std::vector<float>();
  absl::StatusOr<Program> program = Compile(*model, {.threads = 1});
  if (!program.ok()) return ADD_FAILURE() << program.status(), std::vector<float>();
  absl::StatusOr<std::vector<Tensor>> results = program->Run({});
  if (!results.ok()) return ADD_FAILURE() << results.status(), std::vector<float>();
  const Tensor& result = results->front();
  return std::vector<float>(result.as<float>(), result.as<float>() + result.numel());
}

auto Near(const std::vector<float>& values) { return Pointwise(FloatNear(1e-6f), values); }

ModelBuilder Window(const char* op, int64_t size, const NamedValues& attributes = {}) {
  ModelBuilder model(17);
  model.Ints("size", {}, {size}).Node(op, {"size"}, {"out"}, attributes, "the_node").Output("out");
  return model;
}

TEST(Images, WindowsOfConstantSizesAreConstants) {
  EXPECT_EQ(ImportModel(Window("HannWindow", 5)).ResultType(), "tensor<5xf32>");
  EXPECT_EQ(
      ImportModel(Window("HannWindow", 5, {{"output_datatype", int64_t{TensorProto::DOUBLE}}}))
          .ResultType(),
      "tensor<5xf64>");
  EXPECT_THAT(ResultOf(Window("HannWindow", 4)), Near({0, 0.5f, 1, 0.5f}));
  EXPECT_THAT(ResultOf(Window("HannWindow", 5, {{"periodic", int64_t{0}}})),
              Near({0, 0.5f, 1, 0.5f, 0}));
  EXPECT_THAT(ResultOf(Window("HammingWindow", 4)), Near({4.0f / 46, 25.0f / 46, 1, 25.0f / 46}));
  EXPECT_THAT(ResultOf(Window("BlackmanWindow", 4)), Near({0, 0.34f, 1, 0.34f}));
  EXPECT_THAT(ResultOf(Window("HannWindow", 0)), ElementsAre());
  const Imported strings =
      ImportModel(Window("HannWindow", 4, {{"output_datatype", int64_t{TensorProto::STRING}}}));
  EXPECT_TRUE(strings.HasDiagnostic("HannWindow with the output_datatype 8 is not supported"));
}

TEST(Images, MelWeightMatrixIsMadeOfTriangles) {
  ModelBuilder model(17);
  model.Ints("mels", {}, {2}).Ints("length", {}, {8}).Ints("rate", {}, {8000});
  model.Floats("low", {}, {0}).Floats("high", {}, {4000});
  model.Node("MelWeightMatrix", {"mels", "length", "rate", "low", "high"}, {"out"}, {}, "the_node");
  model.Output("out");
  EXPECT_EQ(ImportModel(model).ResultType(), "tensor<5x2xf32>");
  // The corners 0, 408, 1055 and 2078 Hz lie in the bins 0, 0, 1 and 2.
  EXPECT_THAT(ResultOf(model), ElementsAre(1, 0, 0, 1, 0, 0, 0, 0, 0, 0));
}

ModelBuilder AffineGrid(std::vector<int64_t> size, int64_t corners) {
  ModelBuilder model(20);
  model.Floats("theta", {1, 2, 3}, {1, 0, 0.5f, 0, 2, 0}).Ints("size", {4}, std::move(size));
  model.Node("AffineGrid", {"theta", "size"}, {"out"}, {{"align_corners", corners}}, "the_node");
  model.Output("out");
  return model;
}

TEST(Images, AffineGridPutsTheLastAxisFirst) {
  EXPECT_EQ(ImportModel(AffineGrid({1, 7, 2, 3}, 0)).ResultType(), "tensor<1x2x3x2xf32>");
  EXPECT_THAT(ResultOf(AffineGrid({1, 7, 2, 1}, 0)), ElementsAre(0.5f, -1, 0.5f, 1));
  EXPECT_THAT(ResultOf(AffineGrid({1, 7, 2, 2}, 1)),
              ElementsAre(-0.5f, -2, 1.5f, -2, -0.5f, 2, 1.5f, 2));
  // A single element is the first corner.
  EXPECT_THAT(ResultOf(AffineGrid({1, 1, 1, 1}, 1)), ElementsAre(-0.5f, -2));
  ModelBuilder wrong(20);
  wrong.Input("x", {1, 2, 2}).Ints("size", {4}, {1, 1, 2, 2});
  wrong.Node("AffineGrid", {"x", "size"}, {"out"}, {}, "the_node").Output("out");
  EXPECT_THAT(ImportModel(wrong).status.ToString(), HasSubstr("needs matrices [N, 2, 3]"));
}

TEST(Images, CenterCropPadRoundsTowardsTheFront) {
  const auto model = [](std::vector<int64_t> target, std::vector<int64_t> axes) {
    ModelBuilder builder(18);
    builder.Floats("x", {1, 4}, {1, 2, 3, 4});
    builder.Ints("shape", {static_cast<int64_t>(target.size())}, target);
    builder.Node("CenterCropPad", {"x", "shape"}, {"out"}, {{"axes", axes}}, "the_node");
    builder.Output("out");
    return builder;
  };
  EXPECT_EQ(Ops(model({7}, {-1})), "ten.pad");
  EXPECT_THAT(ResultOf(model({7}, {-1})), ElementsAre(0, 1, 2, 3, 4, 0, 0));
  EXPECT_THAT(ResultOf(model({1}, {1})), ElementsAre(2));
  EXPECT_THAT(ResultOf(model({2, 2}, {1, 0})), ElementsAre(2, 3, 0, 0));
  EXPECT_THAT(ImportModel(model({2}, {0, 1})).status.ToString(), HasSubstr("1 extents for 2 axes"));
  EXPECT_THAT(ImportModel(model({-2}, {1})).status.ToString(), HasSubstr("the extent -2"));
}

TEST(Images, MaxUnpoolWritesToFlatPositions) {
  const auto model = [](std::vector<int64_t> shape) {
    ModelBuilder builder(22);
    builder.Floats("x", {1, 1, 2}, {5, 6}).Ints("at", {1, 1, 2}, {1, 2});
    Names inputs = {"x", "at"};
    if (!shape.empty()) builder.Ints("shape", {3}, shape), inputs.emplace_back("shape");
    builder.Node("MaxUnpool", inputs, {"out"},
                 {{"kernel_shape", std::vector<int64_t>{2}}, {"strides", std::vector<int64_t>{2}}},
                 "the_node");
    builder.Output("out");
    return builder;
  };
  EXPECT_EQ(ImportModel(model({})).ResultType(), "tensor<1x1x4xf32>");
  EXPECT_THAT(ResultOf(model({})), ElementsAre(0, 5, 6, 0));
  EXPECT_THAT(ResultOf(model({1, 1, 6})), ElementsAre(0, 5, 6, 0, 0, 0));
}

}  // namespace
}  // namespace tenon::onnx
