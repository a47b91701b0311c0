// What each ONNX op becomes, in the versions that differ: elementwise ops, reductions, constants.
#include "frontends/onnx/ops/adapters.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

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

TEST(Adapters, SwiGLU) {
  EXPECT_EQ(Ops(OneNode(28, "SwiGLU", {"x", "y"})), "nn.silu ten.mul");
  EXPECT_EQ(Ops(OneNode(28, "SwiGLU", {"x", "y"}, {{"alpha", 1.5f}})),
            "ten.mul ten.sigmoid ten.mul ten.mul");
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
  // A uint64 bound that is negative as an int64.
  ModelBuilder large = OneNode(13, "Clip", {"u", "", "hi"});
  large.Input("u", {2}, TensorProto::UINT64);
  TensorProto& bound = *large.graph().add_initializer();
  bound.set_name("hi");
  bound.set_data_type(TensorProto::UINT64);
  bound.add_uint64_data(~uint64_t{1});
  EXPECT_EQ(Ops(large), "ten.min");
  // An absent bound is the largest number, which an infinite lower one exceeds.
  ModelBuilder infinite = OneNode(13, "Clip", {"x", "lo"});
  infinite.Floats("lo", {}, {std::numeric_limits<float>::infinity()});
  EXPECT_EQ(ten::ClipOp(ImportModel(infinite).Only("ten.clip")).max(),
            std::numeric_limits<float>::max());
}

TEST(Adapters, Cast) {
  EXPECT_EQ(
      ImportModel(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT16}}})).ResultType(),
      "tensor<2x3x4xf16>");
  EXPECT_EQ(Ops(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT}}})), "");
  EXPECT_EQ(Ops(OneNode(19, "Cast", {"x"}, {{"to", int64_t{TensorProto::FLOAT8E5M2}}})),
            "q.encode");
  EXPECT_EQ(Ops(OneNode(13, "Cast", {"x"}, {{"to", int64_t{TensorProto::STRING}}})),
            "str.from_number str.pack");
  EXPECT_EQ(ImportModel(OneNode(15, "CastLike", {"x", "i"})).ResultType(), "tensor<2x3x4xi64>");
}

TEST(Adapters, Dropout) {
  EXPECT_EQ(Ops(OneNode(10, "Dropout", {"x"}, {{"ratio", 0.5f}})), "");
  EXPECT_EQ(Ops(OneNode(13, "Dropout", {"x"}, {}, {"out", "mask"})), "");
  ModelBuilder used = OneNode(13, "Dropout", {"x"}, {}, {"out", "mask"});
  used.Output("mask");
  EXPECT_EQ(Ops(used), "ten.expand");
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
  EXPECT_EQ(ImportModel(text).ResultType(0), "tensor<i64>");
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

// Scales are laid out over x and no further, however long a block is.
TEST(Adapters, BlocksLongerThanTheAxis) {
  ModelBuilder model(21);
  model.Input("x", {2, 6}).Input("s", {2, 1}).Input("w", {2, "N"});
  const NamedValues attributes = {{"axis", int64_t{1}}, {"block_size", int64_t{1} << 40}};
  model.Node("QuantizeLinear", {"x", "s"}, {"q"}, attributes);
  model.Node("QuantizeLinear", {"w", "s"}, {"p"}, attributes).Output("q").Output("p");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.Find("ten.expand").size(), 2u);
  EXPECT_EQ(result.Find("ten.expand")[0]->result().type().text(), "tensor<2x1x6xf32>");
  EXPECT_EQ(result.Find("ten.expand")[1]->result().type().text(),
            "tensor<2x1x?xf32, [\"\", \"\", \"min(1099511627776, N)\"]>");
}

// Constants of 4 bits become bytes, which the rules for quantized layers know.
TEST(Adapters, QuantisationToNarrowTypes) {
  ModelBuilder model(25);
  model.Input("x", {2, 3, 4}).Input("s", {3}).Input("z", {3}, TensorProto::INT4);
  model.Input("f", {3}, TensorProto::FLOAT8E4M3FN);
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"})
      .Node("QuantizeLinear", {"x", "s", "f"}, {"p"}, {{"saturate", int64_t{0}}})
      .Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  model.Output("q").Output("p").Output("y");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.ResultType(0), "tensor<2x3x4xi4>");
  EXPECT_EQ(result.ResultType(1), "tensor<2x3x4xf8E4M3FN>");
  EXPECT_EQ(result.ResultType(2), "tensor<2x3x4xf32>");
  EXPECT_EQ(ten::ClipOp(result.Only("ten.clip")).max(), 7);
  ASSERT_EQ(result.Find("q.encode").size(), 2u);
  EXPECT_EQ(q::EncodeOp(result.Find("q.encode")[0]).rounding(), "down");
  EXPECT_EQ(q::EncodeOp(result.Find("q.encode")[1]).rounding(), "nearest");
  EXPECT_FALSE(q::EncodeOp(result.Find("q.encode")[1]).saturate());
}

// What only floats of 8 bits have: saturate, and round_mode of powers of two.
TEST(Adapters, CastToFloatsOfEightBits) {
  const auto cast = [](int64_t to, const NamedValues& more) {
    NamedValues attributes = more;
    attributes.push_back({"to", to});
    return ImportModel(OneNode(25, "Cast", {"x"}, attributes));
  };
  const Imported plain = cast(TensorProto::FLOAT8E8M0, {});
  EXPECT_EQ(q::EncodeOp(plain.Only("q.encode")).rounding(), "up");
  EXPECT_TRUE(q::EncodeOp(plain.Only("q.encode")).saturate());
  const Imported given = cast(TensorProto::FLOAT8E8M0,
                              {{"round_mode", std::string("nearest")}, {"saturate", int64_t{0}}});
  EXPECT_EQ(q::EncodeOp(given.Only("q.encode")).rounding(), "nearest");
  EXPECT_FALSE(q::EncodeOp(given.Only("q.encode")).saturate());
  const Imported wrong = cast(TensorProto::FLOAT8E8M0, {{"round_mode", std::string("sideways")}});
  EXPECT_TRUE(wrong.HasDiagnostic("round_mode of Cast is \"sideways\""));
  EXPECT_TRUE(
      ImportModel(OneNode(25, "Cast", {"x"}, {{"to", int64_t{TensorProto::INT4}}})).ResultType() ==
      "tensor<2x3x4xi4>");
}

// The scale of zeros alone is 1.
TEST(Adapters, QuantisationByRange) {
  const Imported result =
      ImportModel(OneNode(17, "DynamicQuantizeLinear", {"x"}, {}, {"out", "s", "z"}));
  const ten::WhereOp scale(result.Only("ten.where"));
  EXPECT_EQ(core::ConstantOp(scale.a().defining_op()).value().ElementAsDouble(0), 1);
  EXPECT_EQ(scale.out().type().text(), "tensor<f32>");
}

// With constant weights they have an op of their own. Otherwise f32 has their sums exactly up to
// 2^24: longer ones are sums of slices.
TEST(Adapters, ProductsOfBytes) {
  const auto product = [](int depth, bool is_constant) {
    ModelBuilder model(10);
    model.Input("a", {"M", depth}, TensorProto::UINT8).Input("z", {}, TensorProto::UINT8);
    if (is_constant) {
      TensorProto& b = *model.graph().add_initializer();
      b.set_name("b");
      b.set_data_type(TensorProto::INT8);
      b.add_dims(depth);
      b.add_dims(2);
      for (int i = 0; i < 2 * depth; ++i) b.add_int32_data(i % 128);
    } else {
      model.Input("b", {depth, 2}, TensorProto::INT8);
    }
    model.Node("MatMulInteger", {"a", "b", "z"}, {"out"}).Output("out");
    return model;
  };
  const Imported constant = ImportModel(product(1540, true));
  EXPECT_EQ(constant.ResultType(), R"(tensor<?x2xi32, ["M", ""]>)");
  EXPECT_EQ(constant.Find("q.linear").size(), 1u);
  EXPECT_EQ(constant.Find("ten.matmul").size(), 0u);
  const Imported small = ImportModel(product(514, false));
  EXPECT_EQ(small.ResultType(), R"(tensor<?x2xi32, ["M", ""]>)");
  EXPECT_EQ(small.Find("ten.matmul").size(), 1u);
  EXPECT_EQ(ImportModel(product(515, false)).Find("ten.matmul").size(), 2u);
  EXPECT_EQ(ImportModel(product(1540, false)).Find("ten.matmul").size(), 3u);

  ModelBuilder conv(10);
  conv.Input("x", {1, 2, 5, 5}, TensorProto::UINT8).Input("w", {3, 2, 3, 3}, TensorProto::INT8);
  conv.Input("s", {}).Input("z", {}, TensorProto::UINT8);
  conv.Input("f", {3}).Input("y", {3}, TensorProto::INT8).Input("b", {3}, TensorProto::INT32);
  conv.Node("QLinearConv", {"x", "s", "z", "w", "f", "y", "s", "z", "b"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(conv).ResultType(), "tensor<1x3x3x3xui8>");

  ModelBuilder many(10);
  many.Input("x", {1, 2, 5, 5}, TensorProto::UINT8).Input("w", {3, 2, 3, 3}, TensorProto::INT8);
  many.Input("z", {5}, TensorProto::UINT8).Node("ConvInteger", {"x", "w", "z"}, {"out"});
  many.Output("out");
  EXPECT_TRUE(ImportModel(many).HasDiagnostic(
      "error: input 2 of ConvInteger is tensor<5xui8> (expected one number)"));

  // A zero point is a byte like the numbers: one beyond them would leave no room for a product.
  ModelBuilder wide(10);
  wide.Input("a", {4, 8}, TensorProto::UINT8).Input("b", {8, 6}, TensorProto::INT8);
  wide.Ints("z", {}, {1000000}).Node("MatMulInteger", {"a", "b", "z"}, {"out"}).Output("out");
  EXPECT_TRUE(ImportModel(wide).HasDiagnostic(
      "error: the zero point tensor<i64> of MatMulInteger is not ui8, as the numbers are"));
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
