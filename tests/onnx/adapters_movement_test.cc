// What ONNX ops that move elements become, in the versions that differ.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

TEST(Adapters, ReshapeConstantShape) {
  ModelBuilder model(14);
  model.Input("x", {"B", "S", 48}).Ints("shape", {4}, {0, -1, 4, 12});
  model.Node("Reshape", {"x", "shape"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x?x4x12xf32, ["B", "S", "", ""]>)");
}

TEST(Adapters, ReshapeOfDimensions) {
  // Reshape(x, Concat(Shape(x)[0:1], [-1])): the shape follows from the input's.
  ModelBuilder model(15);
  model.Input("x", {"B", "S", 48}).Ints("minus", {1}, {-1});
  model.Node("Shape", {"x"}, {"b"}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  model.Node("Concat", {"b", "minus"}, {"shape"}, {{"axis", int64_t{0}}});
  model.Node("Reshape", {"x", "shape"}, {"out"}).Output("out");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.Ops(), "ten.shape ten.concat ten.reshape");
  EXPECT_EQ(result.ResultType(), R"(tensor<?x?xf32, ["B", "48 * S"]>)");
}

TEST(Adapters, ReshapeOfData) {
  ModelBuilder model = OneNode(14, "Reshape", {"x", "i"});
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.Ops(), "ten.dynamic_reshape");
  EXPECT_EQ(result.ResultType(), R"(tensor<?x?xf32, ["the_node.d0", "the_node.d1"]>)");
}

TEST(Adapters, ReshapeErrors) {
  ModelBuilder twice = OneNode(14, "Reshape", {"x", "shape"});
  twice.Ints("shape", {2}, {-1, -1});
  EXPECT_TRUE(
      ImportModel(twice).HasDiagnostic("the_node: error: the shape of Reshape contains -1 twice"));
  ModelBuilder wrong = OneNode(14, "Reshape", {"x", "shape"});
  wrong.Ints("shape", {2}, {5, 5});
  EXPECT_TRUE(ImportModel(wrong).HasDiagnostic("the_node: error"));
}

TEST(Adapters, SqueezeAndUnsqueeze) {
  EXPECT_EQ(ImportModel(OneNode(11, "Unsqueeze", {"x"}, {{"axes", std::vector<int64_t>{-1, 0}}}))
                .ResultType(),
            "tensor<1x2x3x4x1xf32>");
  ModelBuilder recent = OneNode(13, "Unsqueeze", {"x", "axes"});
  recent.Ints("axes", {1}, {1});
  EXPECT_EQ(ImportModel(recent).ResultType(), "tensor<2x1x3x4xf32>");
  ModelBuilder squeeze(13);
  squeeze.Input("x", {1, "B", 1}).Ints("axes", {1}, {-1});
  squeeze.Node("Squeeze", {"x", "axes"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(squeeze).ResultType(), R"(tensor<1x?xf32, ["", "B"]>)");
  ModelBuilder open(13);
  open.Input("x", {1, "B"}).Node("Squeeze", {"x"}, {"out"}).Output("out");
  // A rank cannot depend on a run: extents that only a run tells are kept.
  const Imported kept = ImportModel(open);
  EXPECT_EQ(kept.ResultType(), R"(tensor<?xf32, ["B"]>)");
  EXPECT_TRUE(kept.HasDiagnostic("warning: Squeeze without axes keeps the dimension \"B\""));
  // The model may say which of both it means.
  onnxpb::TypeProto::Tensor& type =
      *open.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnxpb::TensorProto::FLOAT);
  type.mutable_shape()->add_dim();
  const Imported as_declared = ImportModel(open);
  EXPECT_EQ(as_declared.ResultType(), R"(tensor<?xf32, ["B"]>)");
  EXPECT_FALSE(as_declared.HasDiagnostic("Squeeze"));
  type.mutable_shape()->clear_dim();
  EXPECT_EQ(ImportModel(open).ResultType(), "tensor<f32>");
  ModelBuilder wrong(11);
  wrong.Input("x", {2})
      .Node("Squeeze", {"x"}, {"out"}, {{"axes", std::vector<int64_t>{0}}})
      .Output("out");
  EXPECT_FALSE(ImportModel(wrong).status.ok());
}

TEST(Adapters, ShapeStartEnd) {
  const Imported part =
      ImportModel(OneNode(15, "Shape", {"x"}, {{"start", int64_t{-2}}, {"end", int64_t{9}}}));
  EXPECT_EQ(ten::ShapeOp(part.Only("ten.shape")).start(), 1);
  EXPECT_EQ(part.ResultType(), "tensor<2xi64>");
  EXPECT_EQ(ImportModel(OneNode(13, "Size", {"x"})).ResultType(), "tensor<i64>");
}

TEST(Adapters, Slice) {
  const Imported old = ImportModel(OneNode(9, "Slice", {"x"},
                                           {{"starts", std::vector<int64_t>{1}},
                                            {"ends", std::vector<int64_t>{3}},
                                            {"axes", std::vector<int64_t>{2}}}));
  EXPECT_EQ(old.ResultType(), "tensor<2x3x2xf32>");
  ModelBuilder recent = OneNode(13, "Slice", {"x", "starts", "ends", "axes", "steps"});
  recent.Ints("starts", {2}, {-1, 0}).Ints("ends", {2}, {INT64_MIN, INT64_MAX});
  recent.Ints("axes", {2}, {-1, 0}).Ints("steps", {2}, {-2, 1});
  const Imported sliced = ImportModel(recent);
  const ten::SliceOp slice(sliced.Only("ten.slice"));
  EXPECT_EQ(std::vector<int64_t>(slice.axes().begin(), slice.axes().end()),
            (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(sliced.ResultType(), "tensor<2x3x2xf32>");
  EXPECT_EQ(Ops(OneNode(13, "Slice", {"x", "i", "i"})), "ten.dynamic_slice");
  ModelBuilder twice = OneNode(13, "Slice", {"x", "s", "s", "axes"});
  twice.Ints("s", {2}, {0, 1}).Ints("axes", {2}, {0, -3});
  EXPECT_TRUE(ImportModel(twice).HasDiagnostic("names an axis twice"));
}

TEST(Adapters, Split) {
  const Imported old = ImportModel(
      OneNode(11, "Split", {"x"}, {{"axis", int64_t{-1}}, {"split", std::vector<int64_t>{1, 3}}},
              {"out", "b"}));
  EXPECT_EQ(old.ResultType(), "tensor<2x3x1xf32>");
  ModelBuilder uneven = OneNode(18, "Split", {"x"},
                                {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}}, {"out", "b"});
  uneven.Output("b");
  EXPECT_EQ(ImportModel(uneven).ResultType(0), "tensor<2x2x4xf32>");
  EXPECT_EQ(ImportModel(uneven).ResultType(1), "tensor<2x1x4xf32>");
  EXPECT_FALSE(
      ImportModel(OneNode(13, "Split", {"x"}, {{"axis", int64_t{1}}}, {"out", "b"})).status.ok());
  // The largest extent that there is.
  ModelBuilder huge(13);
  huge.Ints("shape", {1}, {INT64_MAX})
      .Node("ConstantOfShape", {"shape"}, {"x"}, {{"value", IntTensor("", {1}, {0})}});
  huge.Node("Split", {"x"}, {"out", "b"}).Output("out");
  EXPECT_FALSE(ImportModel(huge).status.ok());
  ModelBuilder symbolic(13);
  symbolic.Input("x", {"B", 6})
      .Node("Split", {"x"}, {"a", "b"}, {{"axis", int64_t{1}}})
      .Output("a");
  EXPECT_EQ(ImportModel(symbolic).ResultType(), R"(tensor<?x3xf32, ["B", ""]>)");
}

TEST(Adapters, Pad) {
  const std::vector<int64_t> pads{0, 0, 1, 0, 0, 2};
  EXPECT_EQ(ImportModel(OneNode(10, "Pad", {"x"}, {{"pads", pads}})).ResultType(),
            "tensor<2x3x7xf32>");
  ModelBuilder recent = OneNode(13, "Pad", {"x", "pads", "value"}, {{"mode", "constant"}});
  recent.Ints("pads", {6}, pads).Floats("value", {}, {1});
  EXPECT_EQ(ImportModel(recent).ResultType(), "tensor<2x3x7xf32>");
  ModelBuilder axes = OneNode(18, "Pad", {"x", "pads", "", "axes"}, {{"mode", "reflect"}});
  axes.Ints("pads", {2}, {1, 2}).Ints("axes", {1}, {-1});
  EXPECT_EQ(ImportModel(axes).ResultType(), "tensor<2x3x7xf32>");
  ModelBuilder run_time = OneNode(13, "Pad", {"x", "p"});
  run_time.Input("p", {6}, TensorProto::INT64);
  EXPECT_EQ(Ops(run_time), "ten.dynamic_pad");
  EXPECT_FALSE(ImportModel(OneNode(13, "Pad", {"x", "i"})).status.ok());
}

TEST(Adapters, Movement) {
  ModelBuilder tile = OneNode(13, "Tile", {"x", "r"});
  tile.Ints("r", {3}, {1, 2, 1});
  EXPECT_EQ(ImportModel(tile).ResultType(), "tensor<2x6x4xf32>");
  EXPECT_EQ(ImportModel(OneNode(13, "Transpose", {"x"})).ResultType(), "tensor<4x3x2xf32>");
  EXPECT_EQ(ImportModel(OneNode(13, "Gather", {"x", "i"}, {{"axis", int64_t{-1}}})).ResultType(),
            "tensor<2x3x2xf32>");
  EXPECT_EQ(ImportModel(OneNode(13, "Concat", {"x", "y"}, {{"axis", int64_t{-2}}})).ResultType(),
            "tensor<2x6x4xf32>");
  EXPECT_EQ(ImportModel(OneNode(13, "Flatten", {"x"}, {{"axis", int64_t{-1}}})).ResultType(),
            "tensor<6x4xf32>");
  ModelBuilder expand = OneNode(13, "Expand", {"x", "s"});
  expand.Ints("s", {4}, {5, 1, 1, 1});
  EXPECT_EQ(ImportModel(expand).ResultType(), "tensor<5x2x3x4xf32>");
  EXPECT_EQ(Ops(OneNode(13, "Expand", {"x", "i"})), "ten.dynamic_expand");
  EXPECT_EQ(Ops(OneNode(14, "Trilu", {"x"}, {{"upper", int64_t{0}}})), "ten.trilu");
  ModelBuilder cumsum = OneNode(14, "CumSum", {"x", "axis"}, {{"reverse", int64_t{1}}});
  cumsum.Ints("axis", {}, {-1});
  EXPECT_EQ(ten::CumsumOp(ImportModel(cumsum).Only("ten.cumsum")).axis(), 2);
}

TEST(Adapters, ScatterAndGather) {
  ModelBuilder scatter(16);
  scatter.Input("x", {4, 3}).Input("at", {2, 1}, TensorProto::INT64).Input("u", {2, 3});
  scatter.Node("ScatterND", {"x", "at", "u"}, {"out"}, {{"reduction", "add"}}).Output("out");
  EXPECT_EQ(ten::ScatterNdOp(ImportModel(scatter).Only("ten.scatter_nd")).reduction(), "add");
  ModelBuilder gather(13);
  gather.Input("x", {4, 3}).Input("at", {2, 1}, TensorProto::INT64);
  gather.Node("GatherND", {"x", "at"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(gather).ResultType(), "tensor<2x3xf32>");
  ModelBuilder elements(13);
  elements.Input("x", {4, 3}).Input("at", {2, 3}, TensorProto::INT64);
  elements.Node("GatherElements", {"x", "at"}, {"out"}, {{"axis", int64_t{-2}}}).Output("out");
  EXPECT_EQ(ImportModel(elements).ResultType(), "tensor<2x3xf32>");
}

TEST(Adapters, SpaceToDepthModes) {
  const auto perm = [](const NamedValues& attributes) {
    ModelBuilder model(28);
    model.Input("x", {"N", 3, 4, 6});
    model.Node("SpaceToDepth", {"x"}, {"out"}, attributes).Output("out");
    const Imported result = ImportModel(model);
    EXPECT_EQ(result.ResultType(), R"(tensor<?x12x2x3xf32, ["N", "", "", ""]>)");
    const auto order = ten::TransposeOp(result.Only("ten.transpose")).perm();
    return std::vector<int64_t>(order.begin(), order.end());
  };
  // Of [batch, depth, row, row in block, column, column in block].
  EXPECT_EQ(perm({{"blocksize", int64_t{2}}}), (std::vector<int64_t>{0, 3, 5, 1, 2, 4}));
  EXPECT_EQ(perm({{"blocksize", int64_t{2}}, {"mode", "DCR"}}),
            (std::vector<int64_t>{0, 3, 5, 1, 2, 4}));
  EXPECT_EQ(perm({{"blocksize", int64_t{2}}, {"mode", "CRD"}}),
            (std::vector<int64_t>{0, 1, 3, 5, 2, 4}));
}

TEST(Adapters, TensorScatter) {
  const auto import = [](const Names& inputs, const NamedValues& attributes) {
    ModelBuilder model(24);
    model.Input("past", {"B", 2, "M", 8})
        .Input("update", {"B", 2, "S", 8})
        .Input("at", {"B"}, TensorProto::INT64);
    model.Node("TensorScatter", inputs, {"out"}, attributes, "the_node").Output("out");
    return ImportModel(model);
  };
  const Imported linear = import({"past", "update", "at"}, {});
  EXPECT_EQ(linear.ResultType(), R"(tensor<?x2x?x8xf32, ["B", "", "M", ""]>)");
  EXPECT_EQ(ten::ScatterElementsOp(linear.Only("ten.scatter_elements")).axis(), 2);
  EXPECT_EQ(linear.Ops().find("ten.mod"), std::string::npos);
  EXPECT_NE(import({"past", "update", "at"}, {{"mode", "circular"}}).Ops().find("ten.mod"),
            std::string::npos);
  EXPECT_EQ(import({"past", "update"}, {}).Ops().find("ten.add"), std::string::npos);
  EXPECT_TRUE(import({"past", "update"}, {{"axis", int64_t{0}}})
                  .HasDiagnostic("the_node: error: TensorScatter needs a cache"));
  // An update of one sample for a cache of two would leave the other one as it is.
  ModelBuilder fewer(24);
  fewer.Input("past", {2, 3, 5, 4}).Input("update", {1, 3, 2, 4});
  fewer.Node("TensorScatter", {"past", "update"}, {"out"}, {}, "the_node").Output("out");
  EXPECT_TRUE(ImportModel(fewer).HasDiagnostic("the_node: error"));
  // Nor does one index stand for two samples.
  ModelBuilder one(24);
  one.Input("past", {2, 3, 5, 4}).Input("update", {2, 3, 2, 4});
  one.Input("at", {1}, TensorProto::INT64);
  one.Node("TensorScatter", {"past", "update", "at"}, {"out"}, {}, "the_node").Output("out");
  EXPECT_TRUE(ImportModel(one).HasDiagnostic(
      "the_node: error: TensorScatter needs a vector of 2 elements, got tensor<1xi64>"));
}

// Col2Im of x [2, depth, count] to images [height, width] with blocks [1, block].
Imported Columns(int depth, int count, int64_t height, int64_t width, int64_t block,
                 const NamedValues& attributes) {
  ModelBuilder model(18);
  model.Input("x", {2, depth, count})
      .Ints("image", {2}, {height, width})
      .Ints("block", {2}, {1, block});
  model.Node("Col2Im", {"x", "image", "block"}, {"out"}, attributes, "the_node").Output("out");
  return ImportModel(model);
}

TEST(Adapters, Col2Im) {
  // Blocks side by side are moved.
  const Imported tiles = Columns(6, 8, 2, 12, 3, {{"strides", std::vector<int64_t>{1, 3}}});
  EXPECT_EQ(tiles.Ops(), "ten.reshape ten.transpose ten.reshape");
  EXPECT_EQ(tiles.ResultType(), "tensor<2x2x2x12xf32>");
  // Those that overlap are added up: where element e of column c goes, (0, 0), (0, 1), (1, 0), …
  const Imported overlap = Columns(6, 2, 1, 3, 2, {});
  EXPECT_EQ(overlap.ResultType(), "tensor<2x3x1x3xf32>");
  EXPECT_EQ(ten::ScatterNdOp(overlap.Only("ten.scatter_nd")).reduction(), "add");
  EXPECT_NE(overlap.Text().find("dense<[0, 1, 1, 2]>"), std::string::npos) << overlap.Text();
  // What lies in the padding goes behind the image.
  const Imported padded = Columns(6, 2, 1, 2, 2, {{"pads", std::vector<int64_t>{0, 1, 0, 0}}});
  EXPECT_NE(padded.Text().find("dense<[2, 0, 0, 1]>"), std::string::npos) << padded.Text();
  EXPECT_TRUE(
      Columns(6, 2, 1, 3, 5, {})
          .HasDiagnostic("the_node: error: Col2Im has blocks of 5 in an image of 3 along axis 1"));
}

TEST(Adapters, Col2ImOfSizesThatARunTells) {
  ModelBuilder model(18);
  model.Input("x", {"N", 6, 4}).Input("image", {2}, TensorProto::INT64);
  model.Input("block", {2}, TensorProto::INT64);
  model.Node("Col2Im", {"x", "image", "block"}, {"out"}, {}, "the_node").Output("out");
  const Imported result = ImportModel(model);
  EXPECT_EQ(ten::ScatterNdOp(result.Only("ten.scatter_nd")).reduction(), "add");
  EXPECT_TRUE(result.ResultType().starts_with("tensor<?x?x?x?xf32, [\"N\",")) << result.Text();
}

TEST(Adapters, Col2ImOfHugeNumbers) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto list = [](int64_t a, int64_t b) { return std::vector<int64_t>{a, b}; };
  for (const auto& [width, block, attributes] :
       std::vector<std::tuple<int64_t, int64_t, NamedValues>>{
           {10, 3, {{"dilations", list(1, kHuge + 5)}}},
           {10, kHuge + 1, {{"dilations", list(1, 4)}}},
           {10, std::numeric_limits<int64_t>::min(), {}},
           {10, 2, {{"pads", std::vector<int64_t>{0, kHuge, 0, kHuge}}}}}) {
    const Imported result = Columns(4, 4, 1, width, block, attributes);
    EXPECT_TRUE(result.HasDiagnostic(
        fmt::format("error: Col2Im has blocks of {} in an image of {} along axis 1", block, width)))
        << result.status;
  }
  for (const auto& [height, width, block, attributes] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, NamedValues>>{
           {1 << 12, 1 << 12, 2, {}},
           {1, 10, 2, {{"pads", std::vector<int64_t>{0, int64_t{1} << 40, 0, 0}}}},
           {1, kHuge, 2, {}},
           {1, kHuge, kHuge - 1, {}}}) {
    const Imported result = Columns(4, 4, height, width, block, attributes);
    EXPECT_EQ(result.Ops(), "onnx.Col2Im");
    EXPECT_TRUE(result.HasDiagnostic("at most 16777216 elements")) << result.status;
  }
  // Tiles are moved, however many there are.
  constexpr int kMany = 1 << 15;
  const Imported tiles =
      Columns(kMany, kMany, 1, kMany * kMany, kMany, {{"strides", list(1, kMany)}});
  EXPECT_EQ(tiles.Ops(), "ten.reshape ten.transpose ten.reshape") << tiles.status;
  const Imported area = Columns(4, 4, 4, kHuge, kHuge, {{"strides", list(1, kHuge)}});
  EXPECT_EQ(area.Ops(), "onnx.Col2Im");
  EXPECT_TRUE(area.HasDiagnostic("more elements than 64 bits can count"));
}

TEST(Adapters, RunTimeForms) {
  EXPECT_EQ(Ops(OneNode(13, "Unsqueeze", {"x", "i"})), "ten.dynamic_unsqueeze");
  EXPECT_EQ(ImportModel(OneNode(13, "Squeeze", {"x", "i"})).ResultType(),
            R"(tensor<?xf32, ["the_node.d0"]>)");
  ModelBuilder one(17);
  one.Input("x", {2, 3, 4})
      .Input("k", {1}, TensorProto::INT64)
      .Node("TopK", {"x", "k"}, {"v", "at"});
  one.Output("v").Output("at");
  EXPECT_EQ(Ops(one), "ten.dynamic_topk");
  EXPECT_EQ(ImportModel(one).ResultType(1).substr(0, 15), "tensor<2x3x?xi6");
  ModelBuilder parts(17);
  parts.Input("x", {2, 6}).Input("sizes", {2}, TensorProto::INT64);
  parts.Node("Split", {"x", "sizes"}, {"a", "b"}, {{"axis", int64_t{1}}}).Output("a").Output("b");
  EXPECT_EQ(ImportModel(parts).Find("ten.dynamic_slice").size(), 2u);
  ModelBuilder diagonal = OneNode(14, "Trilu", {"x", "k"});
  diagonal.Input("k", {}, TensorProto::INT64);
  EXPECT_EQ(Ops(diagonal), "ten.dynamic_trilu");
  ModelBuilder axis = OneNode(14, "CumSum", {"x", "k"});
  axis.Input("k", {}, TensorProto::INT64);
  EXPECT_EQ(Ops(axis), "ten.cumulate");
  ModelBuilder sizes = OneNode(19, "Resize", {"x", "", "", "s"});
  sizes.Input("s", {3}, TensorProto::INT64);
  EXPECT_EQ(Ops(sizes), "ten.dynamic_resize");
}

}  // namespace
}  // namespace tenon::onnx
