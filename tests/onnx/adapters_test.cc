// What each ONNX op becomes, in the versions that differ.
#include "frontends/onnx/adapters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

// One node with inputs x [2, 3, 4] (float), y [2, 3, 4] (float), i [2] (int64).
ModelBuilder OneNode(int64_t opset, const std::string& op_type, const Names& inputs,
                     const NamedValues& attributes = {}, const Names& outputs = {"out"}) {
  ModelBuilder model(opset);
  model.Input("x", {2, 3, 4}).Input("y", {2, 3, 4}).Input("i", {2}, TensorProto::INT64);
  model.Node(op_type, inputs, outputs, attributes, "the_node").Output(outputs[0]);
  return model;
}

std::string Ops(const ModelBuilder& model) { return ImportModel(model).Ops(); }

TEST(Adapters, TableIsComplete) {
  const std::vector<std::string_view> ops = AdaptedOps();
  EXPECT_GE(ops.size(), 90u);
  for (std::string_view op : ops) EXPECT_NE(FindAdapter(op), nullptr) << op;
  EXPECT_EQ(FindAdapter("NoSuchOp"), nullptr);
}

TEST(Adapters, OneToOne) {
  for (const auto& [onnx, ours] :
       std::vector<std::pair<std::string, std::string>>{{"Abs", "ten.abs"},
                                                        {"Ceil", "ten.ceil"},
                                                        {"Cos", "ten.cos"},
                                                        {"Erf", "ten.erf"},
                                                        {"Exp", "ten.exp"},
                                                        {"Floor", "ten.floor"},
                                                        {"HardSwish", "ten.hard_swish"},
                                                        {"IsNaN", "ten.is_nan"},
                                                        {"Log", "ten.log"},
                                                        {"Neg", "ten.neg"},
                                                        {"Reciprocal", "ten.reciprocal"},
                                                        {"Relu", "ten.relu"},
                                                        {"Round", "ten.round"},
                                                        {"Sigmoid", "ten.sigmoid"},
                                                        {"Sign", "ten.sign"},
                                                        {"Sin", "ten.sin"},
                                                        {"Sqrt", "ten.sqrt"},
                                                        {"Tanh", "ten.tanh"},
                                                        {"Gelu", "nn.gelu"}}) {
    EXPECT_EQ(Ops(OneNode(20, onnx, {"x"})), ours);
  }
  for (const auto& [onnx, ours] :
       std::vector<std::pair<std::string, std::string>>{{"Add", "ten.add"},
                                                        {"Sub", "ten.sub"},
                                                        {"Mul", "ten.mul"},
                                                        {"Div", "ten.div"},
                                                        {"Pow", "ten.pow"},
                                                        {"Equal", "ten.equal"},
                                                        {"Less", "ten.less"},
                                                        {"LessOrEqual", "ten.less_equal"},
                                                        {"Greater", "ten.greater"},
                                                        {"GreaterOrEqual", "ten.greater_equal"}}) {
    EXPECT_EQ(Ops(OneNode(17, onnx, {"x", "y"})), ours);
  }
}

TEST(Adapters, OneToOneAttributes) {
  const Imported leaky = ImportModel(OneNode(17, "LeakyRelu", {"x"}, {{"alpha", 0.25f}}));
  EXPECT_EQ(ten::LeakyReluOp(leaky.Only("ten.leaky_relu")).alpha(), 0.25f);
  const Imported defaulted = ImportModel(OneNode(17, "LeakyRelu", {"x"}));
  EXPECT_EQ(ten::LeakyReluOp(defaulted.Only("ten.leaky_relu")).alpha(), 0.01f);
  const Imported gelu = ImportModel(OneNode(20, "Gelu", {"x"}, {{"approximate", "tanh"}}));
  EXPECT_EQ(nn::GeluOp(gelu.Only("nn.gelu")).approximate(), "tanh");
  EXPECT_TRUE(ImportModel(OneNode(20, "Gelu", {"x"}, {{"approximate", "no"}}))
                  .HasDiagnostic("the_node: error: attribute \"approximate\" of Gelu is \"no\""));
  const Imported mod = ImportModel(OneNode(17, "Mod", {"x", "y"}, {{"fmod", int64_t{1}}}));
  EXPECT_TRUE(ten::ModOp(mod.Only("ten.mod")).fmod());
}

TEST(Adapters, VariadicOpsBecomeChains) {
  EXPECT_EQ(Ops(OneNode(13, "Sum", {"x", "y", "x"})), "ten.add ten.add");
  EXPECT_EQ(Ops(OneNode(13, "Max", {"x", "y"})), "ten.max");
  EXPECT_EQ(Ops(OneNode(13, "Min", {"x"})), "");
  EXPECT_EQ(Ops(OneNode(13, "Mean", {"x", "y"})), "ten.add ten.div");
}

TEST(Adapters, Clip) {
  const Imported old = ImportModel(OneNode(10, "Clip", {"x"}, {{"min", 0.0f}, {"max", 6.0f}}));
  EXPECT_EQ(ten::ClipOp(old.Only("ten.clip")).max(), 6.0);
  ModelBuilder constant = OneNode(13, "Clip", {"x", "lo", "hi"});
  constant.Floats("lo", {}, {-1}).Floats("hi", {1}, {2});
  const Imported clipped = ImportModel(constant);
  EXPECT_EQ(clipped.Ops(), "ten.clip");
  EXPECT_EQ(ten::ClipOp(clipped.Only("ten.clip")).min(), -1.0);
  EXPECT_EQ(ten::ClipOp(clipped.Only("ten.clip")).max(), 2.0);
  ModelBuilder dynamic = OneNode(13, "Clip", {"x", "", "hi"});
  dynamic.Input("hi", {});
  EXPECT_EQ(Ops(dynamic), "ten.min");
  // An int64 bound that no double holds.
  ModelBuilder wide = OneNode(13, "Clip", {"i", "lo"});
  wide.Ints("lo", {}, {(int64_t{1} << 53) + 1});
  EXPECT_EQ(Ops(wide), "ten.max");
}

TEST(Adapters, Cast) {
  EXPECT_EQ(
      ImportModel(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT16}}})).ResultType(),
      "tensor<2x3x4xf16>");
  EXPECT_EQ(Ops(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT}}})), "");
  EXPECT_EQ(Ops(OneNode(19, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT8E5M2}}})),
            "onnx.Cast");
  EXPECT_EQ(Ops(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::STRING}}})), "onnx.Cast");
  EXPECT_EQ(ImportModel(OneNode(15, "CastLike", {"x", "i"})).ResultType(), "tensor<2x3x4xi64>");
}

TEST(Adapters, Dropout) {
  EXPECT_EQ(Ops(OneNode(10, "Dropout", {"x"}, {{"ratio", 0.5f}})), "");
  EXPECT_EQ(Ops(OneNode(13, "Dropout", {"x"}, {}, {"out", "mask"})), "");
  ModelBuilder used = OneNode(13, "Dropout", {"x"}, {}, {"out", "mask"});
  used.Output("mask");
  EXPECT_EQ(Ops(used), "ten.expand");
  ModelBuilder training = OneNode(13, "Dropout", {"x", "ratio", "mode"});
  training.Floats("ratio", {}, {0.5f});
  TensorProto mode;
  mode.set_name("mode");
  mode.set_data_type(TensorProto::BOOL);
  mode.add_int32_data(1);
  *training.graph().add_initializer() = mode;
  EXPECT_EQ(Ops(training), "onnx.Dropout");
}

TEST(Adapters, ReduceAxesAreAttributesThenInputs) {
  const Imported old = ImportModel(OneNode(
      11, "ReduceMean", {"x"}, {{"axes", std::vector<int64_t>{-1, 0}}, {"keepdims", int64_t{0}}}));
  const ten::ReduceMeanOp mean(old.Only("ten.reduce_mean"));
  EXPECT_EQ(std::vector<int64_t>(mean.axes().begin(), mean.axes().end()),
            (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(old.ResultType(), "tensor<3xf32>");
  ModelBuilder recent = OneNode(18, "ReduceMean", {"x", "axes"});
  recent.Ints("axes", {1}, {1});
  EXPECT_EQ(ImportModel(recent).ResultType(), "tensor<2x1x4xf32>");
  // ReduceSum changed earlier.
  ModelBuilder sum = OneNode(13, "ReduceSum", {"x", "axes"});
  sum.Ints("axes", {1}, {2});
  EXPECT_EQ(ImportModel(sum).ResultType(), "tensor<2x3x1xf32>");
  EXPECT_EQ(ImportModel(OneNode(18, "ReduceMax", {"x"})).ResultType(), "tensor<1x1x1xf32>");
  EXPECT_EQ(Ops(OneNode(18, "ReduceMax", {"x"}, {{"noop_with_empty_axes", int64_t{1}}})), "");
  EXPECT_EQ(Ops(OneNode(18, "ReduceL2", {"x"}, {{"noop_with_empty_axes", int64_t{1}}})),
            "ten.reduce_l2");
  EXPECT_EQ(Ops(OneNode(18, "ReduceMin", {"x", "i"})), "ten.dynamic_reduce");
  EXPECT_EQ(Ops(OneNode(18, "ReduceLogSumExp", {"x"})), "ten.reduce_log_sum_exp");
  EXPECT_EQ(Ops(OneNode(18, "ReduceL1", {"x"})), "ten.abs ten.reduce_sum");
  EXPECT_EQ(Ops(OneNode(18, "ReduceSumSquare", {"x"})), "ten.mul ten.reduce_sum");
  EXPECT_EQ(Ops(OneNode(18, "ReduceLogSum", {"x"})), "ten.reduce_sum ten.log");
  EXPECT_EQ(Ops(OneNode(18, "ReduceProd", {"x"})), "ten.reduce_prod");
}

TEST(Adapters, Softmax) {
  const Imported recent = ImportModel(OneNode(13, "Softmax", {"x"}));
  EXPECT_EQ(nn::SoftmaxOp(recent.Only("nn.softmax")).axis(), 2);
  // Before 13 the default axis is 1 and the axes behind it count as one.
  EXPECT_EQ(Ops(OneNode(11, "Softmax", {"x"})), "ten.reshape nn.softmax ten.reshape");
  EXPECT_EQ(Ops(OneNode(11, "LogSoftmax", {"x"}, {{"axis", int64_t{-1}}})), "nn.log_softmax");
}

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
  EXPECT_EQ(Ops(open), "onnx.Squeeze");
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
    EXPECT_TRUE(result.HasDiagnostic("more than 16777216")) << result.status;
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

TEST(Adapters, Constants) {
  ModelBuilder model(13);
  model.Node("Constant", {}, {"a"}, {{"value_float", 2.5f}}).Output("a");
  model.Node("Constant", {}, {"b"}, {{"value_ints", std::vector<int64_t>{1, 2}}}).Output("b");
  model.Node("Constant", {}, {"c"}, {{"value", FloatTensor("", {1, 2}, {1, 2})}}).Output("c");
  model.Node("Constant", {}, {"d"}, {{"value_int", int64_t{7}}}).Output("d");
  model.Node("Constant", {}, {"e"}, {{"value_floats", std::vector<float>{1}}}).Output("e");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.ResultType(0), "tensor<f32>");
  EXPECT_EQ(result.ResultType(1), "tensor<2xi64>");
  EXPECT_EQ(result.ResultType(2), "tensor<1x2xf32>");
  EXPECT_EQ(result.ResultType(3), "tensor<i64>");
  EXPECT_EQ(result.ResultType(4), "tensor<1xf32>");
  ModelBuilder text(13);
  text.Node("Constant", {}, {"a"}, {{"value_string", "hello"}}).Output("a");
  EXPECT_EQ(Ops(text), "onnx.Constant");
  ModelBuilder none(13);
  none.Node("Constant", {}, {"a"}).Output("a");
  EXPECT_FALSE(ImportModel(none).status.ok());
}

TEST(Adapters, ConstantOfShape) {
  ModelBuilder fixed = OneNode(13, "ConstantOfShape", {"s"}, {{"value", IntTensor("", {1}, {-1})}});
  fixed.Ints("s", {2}, {2, 3});
  EXPECT_EQ(ImportModel(fixed).ResultType(), "tensor<2x3xi64>");
  EXPECT_EQ(Ops(fixed), "");
  EXPECT_EQ(Ops(OneNode(13, "ConstantOfShape", {"i"})), "ten.dynamic_expand");
  ModelBuilder negative = OneNode(13, "ConstantOfShape", {"s"});
  negative.Ints("s", {1}, {-2});
  EXPECT_TRUE(ImportModel(negative).HasDiagnostic("the_node: error"));
  ModelBuilder huge = OneNode(13, "ConstantOfShape", {"s"});
  huge.Ints("s", {1}, {int64_t{1} << 40});
  EXPECT_EQ(Ops(huge), "ten.expand");
}

TEST(Adapters, Range) {
  ModelBuilder model(13);
  model.Input("x", {"B"}).Ints("zero", {}, {0}).Ints("one", {}, {1});
  model.Node("Size", {"x"}, {"n"}).Node("Range", {"zero", "n", "one"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?xi64, ["B"]>)");
}

TEST(Adapters, Gemm) {
  ModelBuilder plain(13);
  plain.Input("a", {"M", 4}).Input("b", {5, 4}).Input("c", {5});
  plain.Node("Gemm", {"a", "b", "c"}, {"out"}, {{"transB", int64_t{1}}}).Output("out");
  EXPECT_EQ(Ops(plain), "ten.matmul ten.add");
  EXPECT_EQ(ImportModel(plain).ResultType(), R"(tensor<?x5xf32, ["M", ""]>)");
  ModelBuilder factors(13);
  factors.Input("a", {3, 4}).Input("b", {4, 5}).Input("c", {5});
  factors.Node("Gemm", {"a", "b", "c"}, {"out"}, {{"alpha", 0.5f}, {"beta", 2.0f}}).Output("out");
  EXPECT_EQ(Ops(factors), "ten.matmul ten.mul ten.mul ten.add");
  ModelBuilder zero(13);
  zero.Input("a", {3, 4}).Input("b", {4, 5}).Input("c", {5});
  zero.Node("Gemm", {"a", "b", "c"}, {"out"}, {{"beta", 0.0f}}).Output("out");
  EXPECT_EQ(Ops(zero), "ten.matmul");
}

TEST(Adapters, ConvolutionAndPooling) {
  ModelBuilder conv(13);
  conv.Input("x", {"N", 4, 8, 8}).Input("w", {6, 2, 3, 3});
  conv.Node("Conv", {"x", "w"}, {"out"},
            {{"group", int64_t{2}},
             {"pads", std::vector<int64_t>{1, 1, 1, 1}},
             {"strides", std::vector<int64_t>{2, 2}}});
  conv.Output("out");
  EXPECT_EQ(ImportModel(conv).ResultType(), R"(tensor<?x6x4x4xf32, ["N", "", "", ""]>)");
  ModelBuilder valid(13);
  valid.Input("x", {1, 4, 8, 8}).Input("w", {6, 4, 3, 3});
  valid.Node("Conv", {"x", "w"}, {"out"}, {{"auto_pad", "VALID"}}).Output("out");
  EXPECT_EQ(nn::ConvOp(ImportModel(valid).Only("nn.conv")).auto_pad(), "NOTSET");
  ModelBuilder pool(12);
  pool.Input("x", {1, 4, 8, 8});
  pool.Node(
      "MaxPool", {"x"}, {"out"},
      {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  pool.Output("out");
  EXPECT_EQ(ImportModel(pool).ResultType(), "tensor<1x4x4x4xf32>");
  ModelBuilder indices(12);
  indices.Input("x", {1, 4, 8, 8});
  indices.Node("MaxPool", {"x"}, {"out", "at"}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  indices.Output("out").Output("at");
  EXPECT_EQ(Ops(indices), "nn.max_pool_with_indices");
  ModelBuilder average(19);
  average.Input("x", {1, 4, 8, 8});
  average.Node("AveragePool", {"x"}, {"out"},
               {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"count_include_pad", int64_t{1}}});
  average.Output("out");
  EXPECT_TRUE(nn::AveragePoolOp(ImportModel(average).Only("nn.average_pool")).count_include_pad());
  ModelBuilder global(13);
  global.Input("x", {1, 4, 8, 8})
      .Node("GlobalAveragePool", {"x"}, {"m"})
      .Node("GlobalMaxPool", {"m"}, {"out"});
  global.Output("out");
  EXPECT_EQ(Ops(global), "ten.reduce_mean ten.reduce_max");
  EXPECT_EQ(ImportModel(global).ResultType(), "tensor<1x4x1x1xf32>");
}

TEST(Adapters, HostileWindows) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::vector<int64_t>>>{{"strides", {0, 1}},
                                                                 {"dilations", {1, 0}},
                                                                 {"pads", {-1, 0, 0, 0}},
                                                                 {"kernel_shape", {3}},
                                                                 {"strides", {1}}}) {
    ModelBuilder conv(13);
    conv.Input("x", {1, 4, 8, 8}).Input("w", {6, 4, 3, 3});
    conv.Node("Conv", {"x", "w"}, {"out"}, {{name, value}}, "bad").Output("out");
    EXPECT_TRUE(ImportModel(conv).HasDiagnostic("bad: error: ")) << name;
  }
}

TEST(Adapters, Normalisation) {
  ModelBuilder batch(15);
  batch.Input("x", {1, 4, 8, 8});
  for (const char* name : {"s", "b", "m", "v"}) batch.Floats(name, {4}, {1, 1, 1, 1});
  batch.Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"out"}, {{"epsilon", 1e-3f}})
      .Output("out");
  EXPECT_EQ(nn::BatchNormOp(ImportModel(batch).Only("nn.batch_norm")).epsilon(), 1e-3f);
  ModelBuilder layer(17);
  layer.Input("x", {2, 4}).Floats("s", {4}, {1, 1, 1, 1});
  layer.Node("LayerNormalization", {"x", "s"}, {"out"}).Output("out");
  EXPECT_EQ(nn::LayerNormOp(ImportModel(layer).Only("nn.layer_norm")).axis(), 1);
  ModelBuilder rms(23);
  rms.Input("x", {2, 4}).Floats("s", {4}, {1, 1, 1, 1});
  rms.Node("RMSNormalization", {"x", "s"}, {"out"}).Output("out");
  EXPECT_EQ(Ops(rms), "nn.rms_norm");
}

TEST(Adapters, Attention) {
  ModelBuilder model(23);
  model.Input("q", {"B", "S", 48}).Input("k", {"B", "T", 24}).Input("v", {"B", "T", 24});
  model.Node("Attention", {"q", "k", "v"}, {"out"},
             {{"q_num_heads", int64_t{4}},
              {"kv_num_heads", int64_t{2}},
              {"is_causal", int64_t{1}},
              {"scale", 0.5f}});
  model.Output("out");
  const Imported result = ImportModel(model);
  const nn::AttentionOp attention(result.Only("nn.attention"));
  EXPECT_EQ(attention.q_num_heads(), 4);
  EXPECT_EQ(attention.scale(), 0.5f);
  EXPECT_TRUE(attention.is_causal());
  EXPECT_EQ(result.ResultType(), R"(tensor<?x?x48xf32, ["B", "S", ""]>)");
  ModelBuilder past(23);
  past.Input("q", {"B", 4, "S", 12}).Input("pk", {"B", 4, "P", 12});
  past.Node("Attention", {"q", "q", "q", "", "pk", "pk"}, {"out"}).Output("out");
  EXPECT_EQ(Ops(past), "ten.concat ten.concat nn.attention");
}

// A product and a recurrence a direction, whose results stand side by side.
TEST(Adapters, Recurrent) {
  ModelBuilder model(14);
  model.Input("x", {"S", "B", 3}).Input("w", {2, 20, 3}).Input("r", {2, 20, 5}).Input("b", {2, 40});
  model.Node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"},
             {{"hidden_size", int64_t{5}}, {"direction", std::string("bidirectional")}});
  model.Output("y").Output("c");
  const Imported lstm = ImportModel(model);
  EXPECT_EQ(lstm.ResultType(0), R"(tensor<?x2x?x5xf32, ["S", "", "B", ""]>)");
  EXPECT_EQ(lstm.ResultType(1), R"(tensor<2x?x5xf32, ["", "B", ""]>)");
  EXPECT_EQ(lstm.Find("nn.recurrence").size(), 2u);

  ModelBuilder batched(14);
  batched.Input("x", {"B", "S", 3}).Input("w", {1, 15, 3}).Input("r", {1, 15, 5});
  batched.Input("b", {1, 30}).Input("n", {"B"}, TensorProto::INT32).Input("h", {"B", 1, 5});
  batched.Node("GRU", {"x", "w", "r", "b", "n", "h"}, {"y", "last"},
               {{"hidden_size", int64_t{5}},
                {"direction", std::string("reverse")},
                {"linear_before_reset", int64_t{1}},
                {"layout", int64_t{1}}});
  batched.Output("y").Output("last");
  const Imported gru = ImportModel(batched);
  EXPECT_EQ(gru.ResultType(0), R"(tensor<?x?x1x5xf32, ["B", "S", "", ""]>)");
  EXPECT_EQ(gru.ResultType(1), R"(tensor<?x1x5xf32, ["B", "", ""]>)");
  const nn::RecurrenceOp op(gru.Only("nn.recurrence"));
  EXPECT_EQ(op.cell(), "gru");
  EXPECT_TRUE(op.reverse());
  EXPECT_TRUE(op.reset_after());
  EXPECT_EQ(op.bias().type().text(), "tensor<5xf32>");
  EXPECT_FALSE(op.c());
  EXPECT_TRUE(op.lengths());
}

// What has no counterpart stays an ONNX operation.
TEST(Adapters, RecurrentUnsupported) {
  for (const auto& [name, value] : NamedValues{{"clip", 3.0f}, {"input_forget", int64_t{1}}}) {
    ModelBuilder model(14);
    model.Input("x", {4, 2, 3}).Input("w", {1, 20, 3}).Input("r", {1, 20, 5});
    model.Node("LSTM", {"x", "w", "r"}, {"y"}, {{"hidden_size", int64_t{5}}, {name, value}});
    model.Output("y");
    EXPECT_NE(ImportModel(model).Only("onnx.LSTM"), nullptr) << name;
  }
}

// Errors say which input or attribute is wrong and what was expected.
TEST(Adapters, RecurrentErrors) {
  struct Wrong {
    NamedValues attributes;
    int input;  // which of them has the shape `dims`; -1: none
    std::vector<Dim> dims;
    std::string message;
  };
  const std::vector<Wrong> wrongs = {
      {{{"hidden_size", int64_t{7}}},
       -1,
       {},
       "LSTM has the hidden_size 7, but R is tensor<1x20x5xf32>"},
      {{{"layout", int64_t{2}}}, -1, {}, "LSTM has the layout 2, expected 0 or 1"},
      {{{"layout", int64_t{-1}}}, -1, {}, "LSTM has the layout -1, expected 0 or 1"},
      {{}, 0, {4, 2, 3, 1}, "X of LSTM is tensor<4x2x3x1xf32>, expected rank 3"},
      {{}, 1, {1, 3, 20}, "W of LSTM (forward) is tensor<1x3x20xf32>, expected [1, 20, 3]"},
      {{}, 2, {2, 20, 5}, "R of LSTM (forward) is tensor<2x20x5xf32>, expected [1, 20, 5]"},
      {{}, 3, {40}, "B of LSTM is tensor<40xf32>, expected rank 2"},
      {{}, 3, {1, 39}, "B of LSTM (forward) is tensor<1x39xf32>, expected [1, 40]"},
      {{}, 4, {1, 2}, "sequence_lens of LSTM is tensor<1x2xi32>, expected rank 1"},
      {{}, 4, {3}, "sequence_lens of LSTM (forward) is tensor<3xi32>, expected [2]"},
      {{}, 5, {2, 5}, "initial_h of LSTM is tensor<2x5xf32>, expected rank 3"},
      // As many elements, in another order.
      {{}, 5, {2, 1, 5}, "initial_h of LSTM (forward) is tensor<2x1x5xf32>, expected [1, 2, 5]"},
      {{}, 6, {10}, "initial_c of LSTM is tensor<10xf32>, expected rank 3"},
      {{}, 7, {1, 15, 1}, "P of LSTM is tensor<1x15x1xf32>, expected rank 2"},
      {{}, 7, {3, 5}, "P of LSTM (forward) is tensor<3x5xf32>, expected [1, 15]"}};
  const std::vector<std::vector<Dim>> right = {{4, 2, 3}, {1, 20, 3}, {1, 20, 5}, {1, 40},
                                               {2},       {1, 2, 5},  {1, 2, 5},  {1, 15}};
  for (const Wrong& wrong : wrongs) {
    ModelBuilder model(14);
    Names names;
    for (int i = 0; i < 8; ++i) {
      names.push_back(fmt::format("i{}", i));
      model.Input(names.back(), i == wrong.input ? wrong.dims : right[i],
                  i == 4 ? TensorProto::INT32 : TensorProto::FLOAT);
    }
    model.Node("LSTM", names, {"y"}, wrong.attributes, "bad").Output("y");
    EXPECT_TRUE(ImportModel(model).HasDiagnostic("bad: error: " + wrong.message)) << wrong.message;
  }
}

// What follows from extents that are not constant stays an ONNX operation, and a remark says why.
TEST(Adapters, ConvTransposeUnsupported) {
  ModelBuilder model(14);
  model.Input("x", {1, 2, "H", 4}).Input("w", {2, 3, 3, 3});
  model.Node("ConvTranspose", {"x", "w"}, {"y"}, {{"output_shape", std::vector<int64_t>{9, 9}}},
             "the_node");
  model.Output("y");
  const Imported imported = ImportModel(model);
  EXPECT_NE(imported.Only("onnx.ConvTranspose"), nullptr);
  EXPECT_TRUE(imported.HasDiagnostic("ConvTranspose with output_shape where axis 2 of the input"));
}

// Causality counts from the past; packed heads are split to append to it.
TEST(Adapters, AttentionWithPast) {
  ModelBuilder model(24);
  model.Input("q", {"B", "S", 48}).Input("pk", {"B", 4, "P", 12});
  model.Node(
      "Attention", {"q", "q", "q", "", "pk", "pk"}, {"out", "k", "v"},
      {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{4}}, {"is_causal", int64_t{1}}});
  model.Output("out").Output("k");
  const Imported result = ImportModel(model);
  const nn::AttentionOp attention(result.Only("nn.attention"));
  ASSERT_EQ(attention.causal_offset().size(), 1u);
  EXPECT_EQ(attention.causal_offset()[0].text(), "P");
  EXPECT_EQ(result.ResultType(0), R"(tensor<?x?x48xf32, ["B", "S", ""]>)");
  EXPECT_EQ(result.ResultType(1), R"(tensor<?x4x?x12xf32, ["B", "", "P + S", ""]>)");
}

// Lengths of the keys become a mask; so does causality that differs between batch elements.
TEST(Adapters, AttentionWithLengths) {
  ModelBuilder model(24);
  model.Input("q", {2, 4, 3, 8}).Input("k", {2, 2, 5, 8}).Input("n", {2}, TensorProto::INT64);
  model.Node("Attention", {"q", "k", "k", "", "", "", "n"}, {"out"}, {{"is_causal", int64_t{1}}});
  model.Output("out");
  const Imported result = ImportModel(model);
  const nn::AttentionOp attention(result.Only("nn.attention"));
  EXPECT_FALSE(attention.is_causal());
  EXPECT_EQ(attention.mask().type().text(), "tensor<2x1x3x5xi1>");
}

// The scores are computed beside the attention when somebody reads them.
TEST(Adapters, AttentionScores) {
  ModelBuilder model(23);
  model.Input("q", {2, 4, 3, 8});
  model.Node("Attention", {"q", "q", "q"}, {"out", "", "", "scores"},
             {{"qk_matmul_output_mode", int64_t{3}}});
  model.Output("out").Output("scores");
  const Imported result = ImportModel(model);
  EXPECT_NE(result.Only("nn.attention"), nullptr);
  EXPECT_NE(result.Only("nn.softmax"), nullptr);
  EXPECT_EQ(result.ResultType(1), "tensor<2x4x3x3xf32>");
}

TEST(Adapters, RotaryEmbedding) {
  ModelBuilder model(23);
  model.Input("x", {2, 4, 8, 16})
      .Input("c", {32, 8})
      .Input("s", {32, 8})
      .Input("p", {2, 8}, TensorProto::INT64);
  model.Node("RotaryEmbedding", {"x", "c", "s", "p"}, {"out"}, {{"interleaved", int64_t{1}}})
      .Output("out");
  EXPECT_TRUE(nn::RotaryEmbeddingOp(ImportModel(model).Only("nn.rotary_embedding")).interleaved());
}

TEST(Adapters, Resize) {
  ModelBuilder scales(13);
  scales.Input("x", {1, 3, 5, 5}).Floats("scales", {4}, {1, 1, 2, 1.5f});
  scales.Node("Resize", {"x", "", "scales"}, {"out"}, {{"mode", "linear"}}).Output("out");
  EXPECT_EQ(ImportModel(scales).ResultType(), "tensor<1x3x10x7xf32>");
  ModelBuilder sizes(18);
  sizes.Input("x", {1, 3, 5, 10}).Ints("sizes", {2}, {20, 20});
  sizes.Node("Resize", {"x", "", "", "sizes"}, {"out"},
             {{"axes", std::vector<int64_t>{2, 3}}, {"keep_aspect_ratio_policy", "not_larger"}});
  sizes.Output("out");
  EXPECT_EQ(ImportModel(sizes).ResultType(), "tensor<1x3x10x20xf32>");
  ModelBuilder old(10);
  old.Input("x", {"N", 3, "H", 4}).Floats("scales", {4}, {1, 1, 2, 2});
  old.Node("Resize", {"x", "scales"}, {"out"}).Output("out");
  const Imported result = ImportModel(old);
  EXPECT_EQ(result.ResultType(), R"(tensor<?x3x?x8xf32, ["N", "", "2 * H", ""]>)");
  EXPECT_EQ(ten::ResizeOp(result.Only("ten.resize")).coordinate_mode(), "asymmetric");
  ModelBuilder upsample(9);
  upsample.Input("x", {1, 3, 4, 4}).Floats("scales", {4}, {1, 1, 2, 2});
  upsample.Node("Upsample", {"x", "scales"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(upsample).ResultType(), "tensor<1x3x8x8xf32>");
  ModelBuilder bad(13);
  bad.Input("x", {1, 3, 5, 5}).Floats("scales", {4}, {1, 1, -1, 1});
  bad.Node("Resize", {"x", "", "scales"}, {"out"}).Output("out");
  EXPECT_FALSE(ImportModel(bad).status.ok());
}

TEST(Adapters, Einsum) {
  ModelBuilder model(12);
  model.Input("a", {2, 3}).Input("b", {3, 4});
  model.Node("Einsum", {"a", "b"}, {"out"}, {{"equation", "i j, j k -> i k"}}).Output("out");
  const Imported result = ImportModel(model);
  EXPECT_EQ(ten::EinsumOp(result.Only("ten.einsum")).equation(), "ij,jk->ik");
  EXPECT_EQ(result.ResultType(), "tensor<2x4xf32>");
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

// One scale for each index of the axis; the result is clamped to the zero point's type.
TEST(Adapters, Quantisation) {
  ModelBuilder model(19);
  model.Input("x", {2, 3, 4}).Input("s", {3}).Input("z", {3}, TensorProto::INT8);
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"})
      .Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  model.Output("q").Output("y");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.ResultType(0), "tensor<2x3x4xi8>");
  EXPECT_EQ(result.ResultType(1), "tensor<2x3x4xf32>");
  EXPECT_EQ(ten::ClipOp(result.Only("ten.clip")).min(), -128);
}

TEST(Adapters, SelectionsAndActivations) {
  ModelBuilder topk = OneNode(11, "TopK", {"x", "k"}, {{"largest", int64_t{0}}}, {"out", "at"});
  topk.Ints("k", {1}, {2}).Output("at");
  EXPECT_EQ(ImportModel(topk).ResultType(1), "tensor<2x3x2xi64>");
  EXPECT_FALSE(ten::TopkOp(ImportModel(topk).Only("ten.topk")).largest());
  EXPECT_EQ(ImportModel(OneNode(13, "NonZero", {"x"})).ResultType(),
            R"(tensor<3x?xi64, ["", "the_node.d1"]>)");
  ModelBuilder hot = OneNode(11, "OneHot", {"i", "depth", "values"});
  hot.Ints("depth", {}, {5}).Floats("values", {2}, {0, 1});
  EXPECT_EQ(ImportModel(hot).ResultType(), "tensor<2x5xf32>");
  EXPECT_EQ(Ops(OneNode(16, "PRelu", {"x", "y"})), "ten.less ten.mul ten.where");
  const Imported selu = ImportModel(OneNode(6, "Selu", {"x"}));
  EXPECT_EQ(ten::EluOp(selu.Only("ten.elu")).gamma(), 1.05070102214813232421875f);
  EXPECT_EQ(ten::EluOp(ImportModel(OneNode(12, "Celu", {"x"}, {{"alpha", 2.0f}})).Only("ten.elu"))
                .width(),
            2.0f);
}

TEST(Adapters, WrongAttributeTypeNamesTheNode) {
  const Imported result = ImportModel(OneNode(13, "Gather", {"x", "i"}, {{"axis", 1.0f}}));
  EXPECT_TRUE(
      result.HasDiagnostic("the_node: error: attribute \"axis\" of Gather must be INT, got FLOAT"));
}

TEST(Adapters, MissingInputNamesTheNode) {
  EXPECT_TRUE(ImportModel(OneNode(13, "MatMul", {"x"}))
                  .HasDiagnostic("the_node: error: MatMul needs 2 inputs, input 1 is missing"));
  EXPECT_TRUE(ImportModel(OneNode(13, "Concat", {"x", "", "y"}, {{"axis", int64_t{0}}}))
                  .HasDiagnostic("error"));
}

TEST(Adapters, UnknownAttributeIsAWarning) {
  const Imported result = ImportModel(OneNode(13, "MatMul", {"x", "y"}, {{"odd", int64_t{1}}}));
  EXPECT_TRUE(result.diagnostics.size() >= 1);
}

}  // namespace
}  // namespace tenon::onnx
