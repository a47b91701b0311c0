// Why a node becomes opaque: the remark names its operator, what is wrong with it and what Tenon
// would take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;
using ::testing::HasSubstr;

struct Case {
  std::string op;
  int64_t opset;
  Names inputs;  // of OneNode, and of those below
  NamedValues attributes;
  std::string remark;
  bool microsoft = false;
  Names outputs = {"out"};
};

constexpr int64_t kYes = 1;

// Inputs: x, y [2, 3, 4] (f32), i [2] (i64); those that begin with u have unknown extents.
ModelBuilder ModelOf(const Case& c) {
  ModelBuilder model = OneNode(c.opset, c.op, c.inputs, c.attributes, c.outputs);
  for (size_t i = 1; i < c.outputs.size(); ++i) model.Output(c.outputs[i]);
  model.Input("u", {"A", "B", "C"}).Input("m", {4, 5}).Input("b", {4}, TensorProto::UINT8);
  model.Input("v", {4}).Input("q", {2, 3, 8}).Input("n", {2, 2}, TensorProto::INT64);
  model.Input("k", {2, 3, 2, 2, 4}).Input("image", {"N", 2, "H", "W"}).Input("w", {1, 20, 4});
  model.Input("r", {1, 20, 5}).Input("long", {4}, TensorProto::INT64).Input("s", {}, 1);
  model.Input("mask4", {2, 1, 3, 3}, TensorProto::INT32).Input("text", {2}, TensorProto::STRING);
  model.Input("train", {}, TensorProto::BOOL)
      .Input("len", {2}, TensorProto::INT32)
      .Input("one", {1}, TensorProto::INT32);
  model.Input("unsized", {"U"}, TensorProto::INT64);
  model.Input("cache", {2, 2, 6, 4}).Input("w24", {4, 24}).Input("b24", {24});
  model.Ints("four", {1}, {4}).Floats("scales", {3}, {1, 1, 1.3f}).Floats("c4", {4}, {1, 2, 3, 4});
  return model;
}

std::vector<Case> Cases() {
  const std::vector<int64_t> window = {2, 2};
  return {
      {"NoSuchOperator",
       17,
       {"x"},
       {},
       "NoSuchOperator has no counterpart (expected an operator of docs/"},
      {"Relu",
       5,
       {"text"},
       {},
       "Relu with strings is not supported (expected numbers, or an operator of docs/guide/"},
      {"Cast",
       17,
       {"x"},
       {{"to", int64_t{14}}},
       "Cast to COMPLEX64 is not supported (expected booleans"},
      {"BitCast",
       26,
       {"x"},
       {{"to", int64_t{10}}},
       "BitCast from f32 to FLOAT16 is not supported "
       "(expected element types of one size"},
      {"RandomUniformLike",
       17,
       {"i"},
       {},
       "RandomUniformLike of i64 is not supported (expected a floating-point type)"},
      {"Bernoulli",
       17,
       {"x"},
       {{"dtype", int64_t{8}}},
       "Bernoulli of STRING is not supported (expected a type of numbers or booleans)"},
      {"Constant",
       17,
       {},
       {{"sparse_value", std::string("a")}},
       "Constant with sparse_value is not supported (expected a dense constant"},
      {"Gemm",
       13,
       {"n", "n"},
       {{"alpha", 2.0f}},
       "Gemm of integers with factors is not supported (expected alpha = beta = 1, or floats)"},
      {"EyeLike",
       9,
       {"m"},
       {{"dtype", int64_t{8}}},
       "EyeLike with the dtype 8 is not supported (expected booleans"},
      {"Attention",
       23,
       {"cache", "cache", "cache"},
       {{"scale", 0.0f}},
       "Attention with a scale of 0 is not supported (expected another scale"},
      {"Col2Im",
       18,
       {"x", "unsized", "unsized"},
       {},
       "Col2Im of an unknown number of axes is not supported (expected an image_shape and"},
      {"BatchNormalization",
       9,
       {"x", "v", "v", "v", "v"},
       {{"spatial", int64_t{0}}},
       "BatchNormalization with spatial = 0 is not supported (expected spatial = 1)"},
      {"LSTM",
       14,
       {"x", "w", "r"},
       {{"hidden_size", int64_t{5}}, {"clip", 3.0f}},
       "LSTM with clip is not supported (expected a layer without clip)"},
      {"LSTM",
       14,
       {"x", "w", "r"},
       {{"hidden_size", int64_t{5}}, {"input_forget", kYes}},
       "LSTM with input_forget is not supported (expected input_forget = 0)"},
      {"MatMulInteger",
       10,
       {"n", "n"},
       {},
       "MatMulInteger of i64 is not supported (expected i8 or "
       "ui8)"},
      {"DequantizeLinear",
       25,
       {"b", "s"},
       {{"output_dtype", int64_t{8}}},
       "DequantizeLinear to STRING is not supported (expected"},
      {"SkipLayerNormalization",
       17,
       {"x", "y", "v"},
       {},
       "SkipLayerNormalization with a statistics output in use is not supported (expected a node "
       "that leaves it out)",
       true,
       {"out", "mean"}},
      {"FusedMatMul",
       17,
       {"x", "y"},
       {{"transBatchA", kYes}},
       "FusedMatMul with transBatchA is not supported (expected transBatchA = 0 and a Transpose "
       "before it)",
       true},
      {"FusedGemm",
       17,
       {"m", "m"},
       {{"activation", std::string("Erf")}, {"transB", kYes}},
       "FusedGemm with the activation Erf is not supported (expected Relu, Tanh, Sigmoid, "
       "LeakyRelu or HardSigmoid)",
       true},
      {"MultiHeadAttention",
       17,
       {"k"},
       {{"num_heads", int64_t{2}}},
       "MultiHeadAttention of packed operands is not supported (expected query, key and value",
       true},
      {"MultiHeadAttention",
       17,
       {"q", "q", "q"},
       {{"num_heads", int64_t{2}}},
       "MultiHeadAttention with the output qk in use is not supported (expected a node that leaves "
       "it out)",
       true,
       {"out", "pk", "pv", "qk"}},
      {"Attention",
       17,
       {"x", "w24", "b24", "mask4"},
       {{"num_heads", int64_t{2}}},
       "Attention with a mask that is tensor<2x1x3x3xi32> is not supported (expected a mask of "
       "rank "
       "1, 2 or 3)",
       true},
      {"Attention",
       17,
       {"x", "w24", "b24"},
       {{"num_heads", int64_t{2}}, {"do_rotary", kYes}},
       "Attention with do_rotary is not supported (expected do_rotary = 0 and RotaryEmbedding "
       "before it)",
       true},
      {"GroupQueryAttention",
       17,
       {"q", "q", "q", "cache", "cache", "len", "one"},
       {{"num_heads", int64_t{2}},
        {"kv_num_heads", int64_t{2}},
        {"k_quant_type", std::string("PER_TENSOR")}},
       "GroupQueryAttention with quantized caches is not supported (expected k_quant_type = NONE)",
       true},
      {"GroupQueryAttention",
       17,
       {"q", "q", "q", "cache", "cache", "len", "one"},
       {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"sliding_window_cache", kYes}},
       "GroupQueryAttention with sliding_window_cache is not supported (expected "
       "sliding_window_cache = 0",
       true},
      {"MatMulNBits",
       17,
       {"x", "b", "v"},
       {{"N", int64_t{2}}, {"K", int64_t{4}}, {"bits", int64_t{4}}, {"block_size", int64_t{4}}},
       "MatMulNBits whose input 1 is not constant is not supported (expected an initializer)",
       true},
      {"GatherBlockQuantized",
       17,
       {"x", "i", "v"},
       {},
       "GatherBlockQuantized of tensor<2x3x4xf32> along axis 0 in blocks of axis 1 is not "
       "supported "
       "(expected a constant matrix of ui8",
       true},
  };
}

TEST(OpaqueReasons, NameTheOperatorAndWhatWasExpected) {
  for (const Case& c : Cases()) {
    const ModelBuilder model = ModelOf(c);
    const Imported imported = c.microsoft ? ImportMicrosoft(model) : ImportModel(model);
    const std::string all = absl::StrJoin(imported.diagnostics, "\n");
    EXPECT_THAT(all, HasSubstr("the_node: remark: imported as an opaque op: " + c.remark));
    EXPECT_TRUE(imported.status.ok()) << c.op << ": " << imported.status;
  }
}

// No remark comes without them, whatever the adapter says.
TEST(OpaqueReasons, AllHaveBothParts) {
  for (const Case& c : Cases()) {
    const ModelBuilder model = ModelOf(c);
    const Imported imported = c.microsoft ? ImportMicrosoft(model) : ImportModel(model);
    for (const std::string& line : imported.diagnostics) {
      if (line.find("imported as an opaque op") == std::string::npos) continue;
      EXPECT_THAT(line, HasSubstr(": " + c.op + " "));
      EXPECT_THAT(line, HasSubstr("(expected "));
    }
  }
}

}  // namespace
}  // namespace tenon::onnx
