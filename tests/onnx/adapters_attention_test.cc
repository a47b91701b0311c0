// What ONNX's attention and rotary embedding become.
#include <gtest/gtest.h>

#include "ir/dialect/nn_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

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
  // One length does not stand for two texts.
  ModelBuilder one(24);
  one.Input("q", {2, 4, 3, 8}).Input("k", {2, 2, 5, 8}).Input("n", {1}, TensorProto::INT64);
  one.Node("Attention", {"q", "k", "k", "", "", "", "n"}, {"out"}, {}, "the_node").Output("out");
  EXPECT_TRUE(ImportModel(one).HasDiagnostic(
      "the_node: error: Attention needs a vector of 2 elements, got tensor<1xi64>"));
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

// All of it is in f64 then.
TEST(Adapters, AttentionInDouble) {
  ModelBuilder model(24);
  model.Input("q", {2, 4, 3, 8}).Input("v", {2, 4, 3, 8}, TensorProto::FLOAT16);
  model.Node("Attention", {"q", "q", "v", "", "q", "v"}, {"out", "k", "w"},
             {{"softmax_precision", int64_t{TensorProto::DOUBLE}}});
  model.Output("out").Output("k").Output("w");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(nn::AttentionOp(result.Only("nn.attention")).q().type().dtype(), DType::kF64);
  EXPECT_EQ(result.ResultType(0), "tensor<2x4x3x8xf32>");
  EXPECT_EQ(result.ResultType(1), "tensor<2x4x6x8xf32>");
  EXPECT_EQ(result.ResultType(2), "tensor<2x4x6x8xf16>");
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

}  // namespace
}  // namespace tenon::onnx
