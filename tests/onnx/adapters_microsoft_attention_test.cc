// Attention and embeddings of ONNX Runtime's own domain.
#include <gtest/gtest.h>

#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

constexpr int64_t kOne = 1;

ModelBuilder Attention(const NamedValues& attributes, const std::vector<Dim>& mask,
                       const Names& inputs = {"x", "w", "b", "m"}, const Names& outputs = {"out"}) {
  ModelBuilder model(17);
  model.Input("x", {"B", "S", 6}).Input("w", {6, 24}).Input("b", {24});
  model.Input("m", mask, TensorProto::INT32).Input("p", {2, "B", 2, "P", 4});
  NamedValues all = attributes;
  all.emplace_back("num_heads", int64_t{2});
  model.Node("Attention", inputs, outputs, all, "the_node");
  for (const std::string& output : outputs) model.Output(output);
  return model;
}

TEST(MicrosoftAttention, MasksAreAddedToTheScores) {
  const auto mask = [](const std::vector<Dim>& dims) {
    const Imported result = ImportMicrosoft(Attention({}, dims));
    EXPECT_EQ(result.ResultType(), R"(tensor<?x?x8xf32, ["B", "S", ""]>)");
    const Value found = nn::AttentionOp(result.Only("nn.attention")).mask();
    return found ? found.type().text() : "none";
  };
  EXPECT_EQ(mask({"B"}), R"(tensor<?x1x1x?xf32, ["B", "", "", "S"]>)");
  EXPECT_EQ(mask({"B", "S"}), R"(tensor<?x1x1x?xf32, ["B", "", "", "S"]>)");
  EXPECT_EQ(mask({"B", "S", "S"}), R"(tensor<?x1x?x?xf32, ["B", "", "S", "S"]>)");
  EXPECT_EQ(mask({"B", 1}), "none");
  EXPECT_EQ(ImportMicrosoft(Attention({}, {"B", 1, 8, 8})).Ops(), "onnx.com.microsoft.Attention");
}

// Ends, then starts.
TEST(MicrosoftAttention, RangesOfKeys) {
  ModelBuilder model(17);
  model.Input("x", {3, 5, 6}).Input("w", {6, 24}).Input("m", {6}, TensorProto::INT32);
  model.Node("Attention", {"x", "w", "", "m"}, {"out"}, {{"num_heads", int64_t{2}}});
  model.Output("out");
  const Imported result = ImportMicrosoft(model);
  EXPECT_EQ(result.Find("ten.less").size(), 1u);
  EXPECT_EQ(result.Find("ten.greater_equal").size(), 1u);
}

TEST(MicrosoftAttention, PastIsOneTensor) {
  const Imported result =
      ImportMicrosoft(Attention({{"unidirectional", kOne}, {"scale", 0.5f}}, {1},
                                {"x", "w", "b", "", "p"}, {"out", "present"}));
  const nn::AttentionOp attention(result.Only("nn.attention"));
  EXPECT_TRUE(attention.is_causal());
  EXPECT_EQ(attention.scale(), 0.5f);
  ASSERT_EQ(attention.causal_offset().size(), 1u);
  EXPECT_EQ(attention.causal_offset()[0].text(), "P");
  EXPECT_EQ(result.ResultType(1), R"(tensor<2x?x2x?x4xf32, ["", "B", "", "P + S", ""]>)");
}

TEST(MicrosoftAttention, HeadsOfOtherSizes) {
  const Imported result = ImportMicrosoft(
      Attention({{"qkv_hidden_sizes", std::vector<int64_t>{4, 4, 16}}}, {1}, {"x", "w"}));
  EXPECT_EQ(result.ResultType(), R"(tensor<?x?x16xf32, ["B", "S", ""]>)");
  EXPECT_TRUE(ImportMicrosoft(Attention({{"qkv_hidden_sizes", std::vector<int64_t>{4, 8, 12}}}, {1},
                                        {"x", "w"}))
                  .HasDiagnostic("the_node: error: qkv_hidden_sizes of Attention are not three "
                                 "multiples of 2, the first two equal"));
  EXPECT_EQ(ImportMicrosoft(Attention({{"do_rotary", kOne}}, {1}, {"x", "w"})).Ops(),
            "onnx.com.microsoft.Attention");
}

TEST(MicrosoftAttention, ProjectedOperands) {
  ModelBuilder model(17);
  model.Input("q", {"B", "S", 8}).Input("k", {"B", "T", 8}).Input("v", {"B", "T", 12});
  model.Input("b", {28}).Input("c", {"B", 1, "S", "T"});
  const NamedValues heads = {{"num_heads", int64_t{2}}};
  model.Node("MultiHeadAttention", {"q", "k", "v", "b", "", "c"}, {"out"}, heads).Output("out");
  const Imported result = ImportMicrosoft(model);
  EXPECT_EQ(result.ResultType(), R"(tensor<?x?x12xf32, ["B", "S", ""]>)");
  EXPECT_EQ(result.Find("ten.slice").size(), 3u);

  // Keys and values with split heads get no bias.
  ModelBuilder cross(17);
  cross.Input("q", {"B", "S", 8}).Input("k", {"B", 2, "T", 4}).Input("b", {24});
  cross.Node("MultiHeadAttention", {"q", "k", "k", "b"}, {"out"}, heads).Output("out");
  EXPECT_EQ(ImportMicrosoft(cross).Find("ten.slice").size(), 1u);

  ModelBuilder packed(17);
  packed.Input("q", {"B", "S", 2, 3, 4});
  packed.Node("MultiHeadAttention", {"q"}, {"out"}, heads).Output("out");
  EXPECT_EQ(ImportMicrosoft(packed).Ops(), "onnx.com.microsoft.MultiHeadAttention");
}

// Projections of bytes; the mask and the past are other inputs.
TEST(MicrosoftAttention, ProjectionsOfBytes) {
  ModelBuilder model(17);
  model.Input("x", {"B", "S", 6}, TensorProto::UINT8).Input("w", {6, 24}, TensorProto::INT8);
  model.Input("b", {24}).Input("s", {}).Input("t", {24}).Input("z", {}, TensorProto::UINT8);
  model.Input("m", {"B"}, TensorProto::INT32).Input("p", {2, "B", 2, "P", 4});
  model.Node("QAttention", {"x", "w", "b", "s", "t", "m", "z", "", "p"}, {"out", "present"},
             {{"num_heads", int64_t{2}}});
  model.Output("out").Output("present");
  const Imported result = ImportMicrosoft(model);
  EXPECT_EQ(nn::AttentionOp(result.Only("nn.attention")).mask().type().text(),
            R"(tensor<?x1x1x?xf32, ["B", "", "", "P + S"]>)");
  EXPECT_EQ(result.ResultType(0), R"(tensor<?x?x8xf32, ["B", "S", ""]>)");
  EXPECT_EQ(result.ResultType(1), R"(tensor<2x?x2x?x4xf32, ["", "B", "", "P + S", ""]>)");
}

ModelBuilder Grouped(Dim batch, Dim cached, const NamedValues& attributes = {}) {
  ModelBuilder model(17);
  model.Input("q", {batch, "S", 96})
      .Input("k", {batch, "S", 32})
      .Input("c", {batch, 2, cached, 16});
  model.Input("n", {batch}, TensorProto::INT32).Input("t", {}, TensorProto::INT32);
  NamedValues all = {{"num_heads", int64_t{6}}, {"kv_num_heads", int64_t{2}}};
  all.insert(all.end(), attributes.begin(), attributes.end());
  model.Node("GroupQueryAttention", {"q", "k", "k", "c", "c", "n", "t"}, {"out", "pk", "pv"}, all,
             "the_node");
  return model.Output("out").Output("pk");
}

TEST(MicrosoftAttention, GroupsWithoutPast) {
  const Imported result = ImportMicrosoft(Grouped("B", 0));
  const nn::AttentionOp attention(result.Only("nn.attention"));
  EXPECT_TRUE(attention.is_causal());
  EXPECT_FALSE(attention.mask());
  EXPECT_EQ(result.ResultType(0), R"(tensor<?x?x96xf32, ["B", "S", ""]>)");
}

// What a cache has room for, and how many keys there are, only a run knows.
TEST(MicrosoftAttention, GroupsBehindCaches) {
  const Imported result = ImportMicrosoft(Grouped("B", "P"));
  const nn::AttentionOp attention(result.Only("nn.attention"));
  EXPECT_TRUE(attention.is_causal());
  EXPECT_EQ(attention.causal_offset().size(), 1u);
  // Texts differ in length, the mask has a row for each.
  ASSERT_TRUE(attention.mask());
  EXPECT_TRUE(attention.mask().type().dim(2).is_constant(1));
  // A single text has as many keys as there are.
  EXPECT_FALSE(nn::AttentionOp(ImportMicrosoft(Grouped(1, "P")).Only("nn.attention")).mask());
}

// -1 is what the saved models of ONNX Runtime say for "no".
TEST(MicrosoftAttention, SinksOfGroups) {
  const auto keys = [](int64_t smooth) {
    const Imported result = ImportMicrosoft(Grouped("B", 0, {{"smooth_softmax", smooth}}));
    return nn::AttentionOp(result.Only("nn.attention")).k().type().dim(2).text();
  };
  EXPECT_EQ(keys(1), "S + 1");
  EXPECT_EQ(keys(0), "S");
  EXPECT_EQ(keys(-1), "S");
}

TEST(MicrosoftAttention, WhatGroupsHaveNot) {
  for (const auto& attribute :
       NamedValues{{"sliding_window_cache", kOne}, {"k_quant_type", std::string("PER_TENSOR")}}) {
    EXPECT_EQ(ImportMicrosoft(Grouped("B", "P", {attribute})).Ops(),
              "onnx.com.microsoft.GroupQueryAttention");
  }
  EXPECT_TRUE(
      ImportMicrosoft(Grouped("B", "P", {{"causal", int64_t{0}}, {"local_window_size", kOne}}))
          .HasDiagnostic("the_node: error: GroupQueryAttention has a local_window_size "
                         "without being causal"));
}

TEST(MicrosoftAttention, RotaryPositionsFollowTheFirst) {
  ModelBuilder model(17);
  model.Input("x", {"B", "S", 48}).Input("i", {1}, TensorProto::INT64).Input("c", {99, 8});
  model.Node("RotaryEmbedding", {"x", "i", "c", "c"}, {"out"}).Output("out");
  const Imported result = ImportMicrosoft(model);
  const nn::RotaryEmbeddingOp rotary(result.Only("nn.rotary_embedding"));
  EXPECT_EQ(rotary.num_heads(), 3);
  EXPECT_EQ(rotary.position_ids().type().text(), R"(tensor<?x?xi64, ["B", "S"]>)");
}

TEST(MicrosoftAttention, Embeddings) {
  ModelBuilder model(17);
  model.Input("i", {"B", "S"}, TensorProto::INT32).Input("w", {9, 8}).Input("g", {8});
  model.Node("EmbedLayerNormalization", {"i", "i", "w", "w", "w", "g", "g", "i"},
             {"out", "n", "sum"});
  model.Output("out").Output("n").Output("sum");
  const Imported result = ImportMicrosoft(model);
  EXPECT_EQ(result.Find("ten.gather").size(), 3u);
  EXPECT_EQ(result.ResultType(1), R"(tensor<?xi32, ["B"]>)");
  EXPECT_EQ(result.ResultType(2), R"(tensor<?x?x8xf32, ["B", "S", ""]>)");
}

TEST(MicrosoftAttention, EmbeddingsOfBytes) {
  ModelBuilder model(17);
  model.Input("i", {"B", "S"}, TensorProto::INT32).Input("w", {9, 8}, TensorProto::UINT8);
  model.Input("g", {8}, TensorProto::UINT8).Input("s", {}).Input("z", {}, TensorProto::UINT8);
  model.Node("QEmbedLayerNormalization",
             {"i", "", "w", "w", "", "g", "g", "", "s", "s", "", "s", "s", "z", "z", "", "z", "z"},
             {"out", "n"}, {}, "the_node");
  model.Output("out");
  EXPECT_EQ(ImportMicrosoft(model).ResultType(), R"(tensor<?x?x8xf32, ["B", "S", ""]>)");
  model.graph().mutable_node(0)->set_input(8, "");
  EXPECT_TRUE(ImportMicrosoft(model).HasDiagnostic(
      "the_node: error: input 2 of QEmbedLayerNormalization has no scale or zero point"));
}

}  // namespace
}  // namespace tenon::onnx
