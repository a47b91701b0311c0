// What ONNX's layers become: products, windows, norms, recurrent layers, resize.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

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

// What follows from extents that are not constant stays an ONNX operation, and a remark says why.
TEST(Adapters, ConvTransposeUnsupported) {
  ModelBuilder model(14);
  model.Input("x", {1, 2, "H", 4}).Input("w", {2, 3, 3, 3});
  model.Node("ConvTranspose", {"x", "w"}, {"y"}, {{"output_shape", std::vector<int64_t>{9, 9}}},
             "the_node");
  model.Output("y");
  const Imported imported = ImportModel(model);
  EXPECT_NE(imported.Only("onnx.ConvTranspose"), nullptr);
  EXPECT_TRUE(
      imported.HasDiagnostic("ConvTranspose with output_shape needs a constant extent of axis 2"));
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

// A state of known batch size says that of X, which a run checks.
TEST(Adapters, RecurrentTakesTheBatchSizeOfItsState) {
  ModelBuilder model(14);
  model.Input("x", {"S", "B", 3}).Input("w", {1, 20, 3}).Input("r", {1, 20, 5});
  model.Input("h", {1, 1, 5}).Input("c", {1, 1, 5});
  model.Node("LSTM", {"x", "w", "r", "", "", "h", "c"}, {"y"}, {{"hidden_size", int64_t{5}}});
  model.Output("y");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x1x1x5xf32, ["S", "", "", ""]>)");
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
  for (const auto& [op, opset] : {std::pair{"Resize", 10}, {"Upsample", 9}}) {
    EXPECT_TRUE(ImportModel(OneNode(opset, op, {"x"})).HasDiagnostic("input 1 is missing")) << op;
    EXPECT_TRUE(ImportModel(OneNode(opset, op, {"x", "y"}, {{"mode", "cubic"}}))
                    .HasDiagnostic("mode of " + std::string(op) + " is \"cubic\""));
  }
}

TEST(Adapters, Einsum) {
  ModelBuilder model(12);
  model.Input("a", {2, 3}).Input("b", {3, 4});
  model.Node("Einsum", {"a", "b"}, {"out"}, {{"equation", "i j, j k -> i k"}}).Output("out");
  const Imported result = ImportModel(model);
  EXPECT_EQ(ten::EinsumOp(result.Only("ten.einsum")).equation(), "ij,jk->ik");
  EXPECT_EQ(result.ResultType(), "tensor<2x4xf32>");
}

}  // namespace
}  // namespace tenon::onnx
