// What ONNX's operators on images and signals become that are formulas of ours, and their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/cpp/tenon.h"
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
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    EXPECT_EQ(ImportModel(Window(op, 5)).ResultType(), "tensor<5xf32>");
  }
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

// The length of the size says how many axes the image has where the matrices do not.
TEST(Images, AffineGridOfUnknownMatrices) {
  const auto model = [](const std::vector<Dim>& matrices, const std::vector<Dim>& size) {
    ModelBuilder builder(20);
    builder.Input("theta", matrices).Input("size", size, onnxpb::TensorProto::INT64);
    builder.Node("AffineGrid", {"theta", "size"}, {"out"}, {}, "the_node").Output("out");
    return builder;
  };
  for (const ModelBuilder& known :
       {model({"N", "R", "C"}, {5}), model({"N", "R", 4}, {"L"}), model({"N", 3, "C"}, {"L"})}) {
    const Imported result = ImportModel(known);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_THAT(result.ResultType(), HasSubstr("tensor<?x?x?x?x3xf32"));
  }
  EXPECT_EQ(ImportModel(model({"N", "R", "C"}, {"L"})).Ops(), "onnx.AffineGrid");
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

ModelBuilder OneSignalNode(int64_t opset, const char* op, const Names& inputs,
                           const NamedValues& attributes = {}) {
  ModelBuilder model(opset);
  model.Input("x", {"B", 10, 6, 1}).Input("c", {"B", 10, 6, 2}).Input("signal", {"B", 20, 1});
  model.Input("long", {"B", "L", 2}).Input("window", {8}).Input("n", {}, TensorProto::INT64);
  model.Ints("four", {}, {4}).Ints("five", {}, {5}).Ints("one", {}, {1});
  model.Node(op, inputs, {"out"}, attributes, "the_node").Output("out");
  return model;
}

TEST(Images, FourierTransformsOfAllOpsets) {
  const auto type = [](const ModelBuilder& model) { return ImportModel(model).ResultType(); };
  const NamedValues half = {{"onesided", int64_t{1}}};
  const NamedValues back = {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}};
  // The axis is an attribute first, and 1 by default.
  EXPECT_EQ(type(OneSignalNode(17, "DFT", {"x"})), R"(tensor<?x10x6x2xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(17, "DFT", {"x"}, half)),
            R"(tensor<?x6x6x2xf32, ["B", "", "", ""]>)");
  // Then it is an input, and the last but one by default.
  EXPECT_EQ(type(OneSignalNode(20, "DFT", {"x"}, half)),
            R"(tensor<?x10x4x2xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(20, "DFT", {"x", "four", "one"})),
            R"(tensor<?x4x6x2xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(20, "DFT", {"c", "", "one"}, back)),
            R"(tensor<?x18x6x1xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(20, "DFT", {"c", "five", "one"}, back)),
            R"(tensor<?x5x6x1xf32, ["B", "", "", ""]>)");
  const ModelBuilder length = OneSignalNode(20, "DFT", {"x", "n", "one"});
  EXPECT_EQ(Ops(length), "ten.dynamic_dft");
  EXPECT_EQ(type(length), R"(tensor<?x?x6x2xf32, ["B", "the_node.d1", "", ""]>)");
  EXPECT_EQ(Ops(OneSignalNode(20, "DFT", {"x", "", "n"})), "ten.dynamic_dft");
  for (const auto& [model, message] :
       {std::pair(OneSignalNode(17, "DFT", {"c"}, half), "needs real numbers"),
        std::pair(OneSignalNode(17, "DFT", {"x"}, back), "needs complex numbers"),
        std::pair(OneSignalNode(17, "DFT", {"x"}, {{"axis", int64_t{3}}}), "the last axis"),
        std::pair(OneSignalNode(17, "DFT", {"x"}, {{"axis", int64_t{4}}}), "axis")}) {
    EXPECT_THAT(ImportModel(model).status.ToString(), HasSubstr(message));
  }
}

TEST(Images, ShortTimeFourierTransforms) {
  const auto type = [](const ModelBuilder& model) { return ImportModel(model).ResultType(); };
  EXPECT_EQ(type(OneSignalNode(17, "STFT", {"signal", "four", "", "five"})),
            R"(tensor<?x4x3x2xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(17, "STFT", {"signal", "four", "window"})),
            R"(tensor<?x4x5x2xf32, ["B", "", "", ""]>)");
  EXPECT_EQ(type(OneSignalNode(17, "STFT", {"signal", "four"})),
            R"(tensor<?x1x11x2xf32, ["B", "", "", ""]>)");
  const Imported complex =
      ImportModel(OneSignalNode(17, "STFT", {"long", "n", "window"}, {{"onesided", int64_t{0}}}));
  EXPECT_EQ(complex.status.ToString(), "OK");
  EXPECT_THAT(ImportModel(OneSignalNode(17, "STFT", {"long", "n", "window"})).status.ToString(),
              HasSubstr("needs real numbers"));
  EXPECT_THAT(ImportModel(OneSignalNode(17, "STFT", {"signal", "four", "window", "five"}))
                  .status.ToString(),
              HasSubstr("needs a vector of 5 elements"));
  // Frames of two numbers from every second one on, of which the second is weighted by 10.
  ModelBuilder model(17);
  model.Floats("x", {1, 5, 1}, {1, 2, 3, 4, 5}).Ints("step", {}, {2}).Floats("w", {2}, {1, 10});
  model.Node("STFT", {"x", "step", "w"}, {"out"}, {}, "the_node").Output("out");
  EXPECT_THAT(ResultOf(model), Near({21, 0, -19, 0, 43, 0, -37, 0}));
}

TEST(Images, Detection) {
  ModelBuilder model(22);
  model.Input("x", {"N", 4, "H", "W"}).Input("rois", {"R", 4});
  model.Input("images", {"R"}, TensorProto::INT64).Input("w", {6, 2, 3, 3});
  model.Input("offset", {"N", 36, 8, 8}).Input("mask", {"N", 18, 8, 8}).Input("bias", {6});
  model.Input("image", {"N", 4, 8, 8}).Input("boxes", {"N", "B", 4}).Input("scores", {"N", 3, "B"});
  model.Ints("most", {1}, {10}).Input("square", {"N", 3, 3});
  const auto add = [&](const char* op, const Names& inputs, const char* out,
                       const NamedValues& attributes) {
    model.Node(op, inputs, {out}, attributes, op).Output(out);
  };
  add("RoiAlign", {"x", "rois", "images"}, "aligned", {{"output_width", int64_t{2}}});
  add("DeformConv", {"image", "w", "offset", "bias", "mask"}, "moved",
      {{"group", int64_t{2}},
       {"offset_group", int64_t{2}},
       {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  add("NonMaxSuppression", {"boxes", "scores", "most"}, "kept", {});
  add("Det", {"square"}, "determinant", {});
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.Ops(), "nn.roi_align nn.deform_conv nn.non_max_suppression ten.det");
  EXPECT_EQ(result.ResultType(0), R"(tensor<?x4x1x2xf32, ["R", "", "", ""]>)");
  EXPECT_EQ(result.ResultType(1), R"(tensor<?x6x8x8xf32, ["N", "", "", ""]>)");
  EXPECT_EQ(result.ResultType(2), R"(tensor<?x3xi64, ["NonMaxSuppression.d0", ""]>)");
  EXPECT_EQ(result.ResultType(3), R"(tensor<?xf32, ["N"]>)");
}

}  // namespace
}  // namespace tenon::onnx
