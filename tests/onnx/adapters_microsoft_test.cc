// Ops of ONNX Runtime's own domain.
#include <gtest/gtest.h>

#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

Imported Import(const ModelBuilder& model) { return ImportMicrosoft(model); }

TEST(MicrosoftAdapters, JoinedOps) {
  EXPECT_EQ(Import(OneNode(17, "BiasGelu", {"x", "y"})).Ops(), "ten.add nn.gelu");
  const Imported fast = Import(OneNode(17, "FastGelu", {"x"}));
  EXPECT_EQ(nn::GeluOp(fast.Only("nn.gelu")).approximate(), "tanh");
  EXPECT_EQ(Import(OneNode(17, "QuickGelu", {"x"})).Ops(), "ten.mul ten.sigmoid ten.mul");
  EXPECT_EQ(Import(OneNode(17, "QuickGelu", {"x"}, {{"alpha", 1.0f}})).Ops(), "nn.silu");

  const Imported product =
      Import(OneNode(17, "FusedMatMul", {"x", "y"}, {{"transB", int64_t{1}}, {"alpha", 0.5f}}));
  EXPECT_EQ(product.Ops(), "ten.matmul ten.mul");
  EXPECT_EQ(product.ResultType(), "tensor<2x3x3xf32>");
  EXPECT_EQ(Import(OneNode(17, "FusedMatMul", {"x", "y"}, {{"transBatchA", int64_t{1}}})).Ops(),
            "onnx.com.microsoft.FusedMatMul");

  ModelBuilder skip =
      OneNode(17, "SkipLayerNormalization", {"x", "y", "g", "", "b"}, {}, {"out", "", "", "sum"});
  skip.Input("g", {4}).Input("b", {4}).Output("sum");
  const Imported skipped = Import(skip);
  EXPECT_EQ(skipped.Ops(), "ten.add ten.add nn.layer_norm");
  EXPECT_EQ(nn::LayerNormOp(skipped.Only("nn.layer_norm")).axis(), 2);
  EXPECT_EQ(skipped.ResultType(1), "tensor<2x3x4xf32>");
  ModelBuilder rms = OneNode(17, "SkipSimplifiedLayerNormalization", {"x", "y", "g"});
  rms.Input("g", {4});
  EXPECT_EQ(Import(rms).Ops(), "ten.add nn.rms_norm");

  ModelBuilder gemm(17);
  gemm.Input("a", {2, 3}).Input("b", {3, 4}).Input("c", {4});
  gemm.Node("FusedGemm", {"a", "b", "c"}, {"out"},
            {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.3f}});
  gemm.Output("out");
  const Imported leaky = Import(gemm);
  EXPECT_EQ(leaky.Ops(), "ten.matmul ten.add ten.leaky_relu");
  EXPECT_EQ(ten::LeakyReluOp(leaky.Only("ten.leaky_relu")).alpha(), 0.3f);
  gemm.graph().mutable_node(0)->mutable_attribute()->RemoveLast();
  EXPECT_TRUE(Import(gemm).HasDiagnostic("FusedGemm with LeakyRelu needs activation_alpha"));

  ModelBuilder conv(17);
  conv.Input("x", {1, 2, 5, 5}).Input("w", {3, 2, 3, 3}).Input("z", {1, 3, 3, 3});
  conv.Node("FusedConv", {"x", "w", "", "z"}, {"out"},
            {{"activation", std::string("Clip")}, {"activation_params", std::vector<float>{0, 6}}});
  conv.Output("out");
  EXPECT_EQ(Import(conv).Ops(), "nn.conv ten.add ten.clip");
}

TEST(MicrosoftAdapters, UnknownOpsStayOpaque) {
  EXPECT_EQ(Import(OneNode(17, "NoSuchOp", {"x"})).Ops(), "onnx.com.microsoft.NoSuchOp");
  // Not those of the standard domain.
  EXPECT_EQ(Import(OneNode(17, "Relu", {"x"})).Ops(), "onnx.com.microsoft.Relu");
}

TEST(MicrosoftAdapters, QuantisedOps) {
  ModelBuilder sum(17);
  for (const char* name : {"a", "b"}) sum.Input(name, {2, 3}, TensorProto::UINT8);
  for (const char* name : {"za", "zc"}) sum.Input(name, {}, TensorProto::UINT8);
  sum.Input("s", {});
  sum.Node("QLinearAdd", {"a", "s", "za", "b", "s", "", "s", "zc"}, {"out"}).Output("out");
  const Imported added = Import(sum);
  EXPECT_EQ(added.ResultType(), "tensor<2x3xui8>");
  EXPECT_EQ(ten::ClipOp(added.Only("ten.clip")).max(), 255);

  ModelBuilder join(17);
  for (const char* name : {"a", "b"}) join.Input(name, {2, 3}, TensorProto::INT8);
  join.Input("s", {}).Input("z", {}, TensorProto::INT8);
  join.Node("QLinearConcat", {"s", "z", "a", "s", "z", "b", "s", "z"}, {"out"},
            {{"axis", int64_t{-1}}});
  join.Output("out");
  EXPECT_EQ(Import(join).ResultType(), "tensor<2x6xi8>");

  // Without a scale of the result it is a float.
  ModelBuilder gemm(17);
  gemm.Input("a", {2, 3}, TensorProto::UINT8).Input("b", {4, 3}, TensorProto::INT8);
  gemm.Input("s", {}).Input("z", {}, TensorProto::UINT8).Input("t", {4});
  gemm.Input("y", {4}, TensorProto::INT8).Input("c", {4}, TensorProto::INT32);
  gemm.Node("QGemm", {"a", "s", "z", "b", "t", "y", "c"}, {"out"}, {{"transB", int64_t{1}}});
  gemm.Output("out");
  EXPECT_EQ(Import(gemm).ResultType(), "tensor<2x4xf32>");
}

TEST(MicrosoftAdapters, ProductsOfBytesAsFloats) {
  ModelBuilder whole(17);
  whole.Input("a", {"M", 3}, TensorProto::UINT8).Input("b", {3, 4}, TensorProto::INT8);
  whole.Input("s", {}).Input("t", {4}).Input("c", {4});
  whole.Node("MatMulIntegerToFloat", {"a", "b", "s", "t", "", "", "c"}, {"out"}).Output("out");
  EXPECT_EQ(Import(whole).ResultType(), R"(tensor<?x4xf32, ["M", ""]>)");

  ModelBuilder ranged(17);
  ranged.Input("a", {"M", 3}).Input("b", {3, 4}, TensorProto::INT8).Input("t", {4});
  ranged.Node("DynamicQuantizeMatMul", {"a", "b", "t"}, {"out"}).Output("out");
  const Imported result = Import(ranged);
  EXPECT_EQ(result.ResultType(), R"(tensor<?x4xf32, ["M", ""]>)");
  EXPECT_EQ(result.Find("ten.reduce_max").size(), 1u);

  // By constant weights, sums are integers.
  ModelBuilder weights(17);
  TensorProto& b = *weights.graph().add_initializer();
  b.set_name("b");
  b.set_data_type(TensorProto::INT8);
  b.add_dims(3);
  b.add_dims(4);
  b.set_raw_data(std::string(12, '\x05'));
  weights.Input("a", {"M", 3}).Input("t", {4});
  weights.Node("DynamicQuantizeMatMul", {"a", "b", "t"}, {"out"}).Output("out");
  EXPECT_EQ(Import(weights).Find("q.linear").size(), 1u);
}

// Weights lie [directions, inputs, gates * hidden], with scales of directions or of columns.
TEST(MicrosoftAdapters, LstmOfBytes) {
  const auto model = [](const std::vector<Dim>& scale, const char* name) {
    ModelBuilder made(17);
    made.Input("x", {"S", "B", 3}).Input("w", {2, 3, 20}, TensorProto::INT8);
    made.Input("r", {2, 5, 20}, TensorProto::INT8).Input("s", scale);
    made.Input("z", scale, TensorProto::INT8);
    made.Node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", name, "z", name, "z"},
              {"y", "h"},
              {{"hidden_size", int64_t{5}}, {"direction", std::string("bidirectional")}});
    made.Output("y").Output("h");
    return Import(made);
  };
  for (const std::vector<Dim>& scale : {std::vector<Dim>{2}, std::vector<Dim>{2, 20}}) {
    const Imported lstm = model(scale, "s");
    EXPECT_EQ(lstm.ResultType(0), R"(tensor<?x2x?x5xf32, ["S", "", "B", ""]>)");
    EXPECT_EQ(lstm.ResultType(1), R"(tensor<2x?x5xf32, ["", "B", ""]>)");
    EXPECT_EQ(lstm.Find("nn.recurrence").size(), 2u);
  }
  EXPECT_TRUE(model({2}, "").HasDiagnostic("error: input 8 of DynamicQuantizeLSTM is missing"));
  EXPECT_TRUE(model({2, 20, 1}, "s").HasDiagnostic("is tensor<2x20x1xf32>, expected rank 1 or 2"));
}

// As ONNX Runtime does, which the arithmetic by itself would broadcast.
TEST(MicrosoftAdapters, ScalesAreOneNumber) {
  for (const char* name : {"QLinearSigmoid", "QLinearGlobalAveragePool"}) {
    ModelBuilder one(17);
    one.Input("x", {1, 2, 3}, TensorProto::UINT8).Input("s", {3}).Input("t", {});
    one.Node(name, {"x", "s", "", "t"}, {"out"}).Output("out");
    EXPECT_TRUE(Import(one).HasDiagnostic("error: input 1 of " + std::string(name) +
                                          " must be one number, got tensor<3xf32>"));
  }
  ModelBuilder sum(17);
  sum.Input("a", {2, 3}, TensorProto::UINT8).Input("s", {}).Input("z", {2, 3}, TensorProto::UINT8);
  sum.Node("QLinearAdd", {"a", "s", "", "a", "s", "z", "s"}, {"out"}).Output("out");
  EXPECT_TRUE(Import(sum).HasDiagnostic("input 5 of QLinearAdd must be one number"));
}

// Elements of 4 bits, the low ones first; each row's zero points begin at a whole byte.
TEST(MicrosoftAdapters, PackedWeights) {
  ModelBuilder model(17);
  const auto bytes = [&](const char* name, std::vector<int64_t> dims, const std::string& data) {
    TensorProto& tensor = *model.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::UINT8);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_raw_data(data);
  };
  model.Input("x", {"M", 6}).Floats("s", {4}, {1, 2, 3, 4});
  bytes("w", {2, 2, 2}, {0x10, 0x32, 0x54, 0x76, 0x18, 0x29, 0x3a, 0x4b});
  bytes("z", {2, 1}, {0x21, 0x43});
  model.Node(
      "MatMulNBits", {"x", "w", "s", "z"}, {"out"},
      {{"N", int64_t{2}}, {"K", int64_t{6}}, {"bits", int64_t{4}}, {"block_size", int64_t{4}}});
  model.Output("out");
  const Imported result = Import(model);
  EXPECT_EQ(result.ResultType(), R"(tensor<?x2xf32, ["M", ""]>)");
  std::vector<std::vector<int64_t>> found;
  for (Operation* op : result.Find("core.constant")) {
    const Attribute value = core::ConstantOp(op).value();
    if (value.type().dtype() != DType::kU8 || value.type().num_elements() == 8) continue;
    std::vector<int64_t>& elements = found.emplace_back();
    for (int64_t i = 0; i < value.type().num_elements(); ++i) {
      elements.push_back(value.ElementAsInt(i));
    }
  }
  ASSERT_EQ(found.size(), 3u);  // packed zero points, elements, zero points
  EXPECT_EQ(found[1], (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 2, 10, 3, 11, 4}));
  EXPECT_EQ(found[2], (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST(MicrosoftAdapters, RowsOfPackedTables) {
  ModelBuilder model(17);
  TensorProto& table = *model.graph().add_initializer();
  table.set_name("t");
  table.set_data_type(TensorProto::UINT8);
  table.add_dims(2);
  table.add_dims(16);
  table.set_raw_data(std::string(32, '\x21'));
  model.Input("i", {"B", "S"}, TensorProto::INT64).Floats("s", {2, 2}, {1, 2, 3, 4});
  model.Node("GatherBlockQuantized", {"t", "i", "s"}, {"out"}, {{"block_size", int64_t{16}}});
  model.Output("out");
  EXPECT_EQ(Import(model).ResultType(), R"(tensor<?x?x32xf32, ["B", "S", ""]>)");
  // Scales of more blocks than the table has.
  model.graph().mutable_node(0)->mutable_attribute(0)->set_i(32);
  EXPECT_EQ(Import(model).Ops(), "onnx.com.microsoft.GatherBlockQuantized");
}

}  // namespace
}  // namespace tenon::onnx
