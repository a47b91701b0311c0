// Operators that no other test of this folder reads, one node each, and what they become.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

struct NodeCase {
  const char* op_type;
  int64_t opset;
  Names inputs;
  NamedValues attributes;
  const char* ops;   // the operations that it becomes
  const char* type;  // of the first output
  Names outputs = {"out"};
};

void PrintTo(const NodeCase& c, std::ostream* out) { *out << c.op_type << " of opset " << c.opset; }

// Declares what the cases read.
ModelBuilder Model(const NodeCase& c) {
  ModelBuilder model(c.opset);
  model.Input("x", {2, 3, 4}).Input("y", {2, 3, 4}).Input("square", {3, 3}).Input("vector", {4});
  model.Input("image", {1, 4, 6, 6}).Input("grid", {1, 2, 2, 2}).Input("filter", {4, 2, 3, 3});
  model.Input("scale", {4}).Input("scalar", {});
  model.Input("b", {2, 3, 4}, TensorProto::BOOL).Input("c", {3, 4}, TensorProto::BOOL);
  model.Input("i", {2, 3, 4}, TensorProto::INT64).Input("j", {2, 3, 4}, TensorProto::INT32);
  model.Input("u", {2, 3, 4}, TensorProto::UINT8).Input("lengths", {3}, TensorProto::INT64);
  model.Input("u8", {1, 4, 6, 6}, TensorProto::UINT8);
  model.Input("u8_filter", {2, 4, 3, 3}, TensorProto::UINT8);
  model.Input("u8_square", {3, 3}, TensorProto::UINT8).Input("zero_point", {}, TensorProto::UINT8);
  model.Input("labels", {2, 4}, TensorProto::INT64).Input("mask", {3}, TensorProto::BOOL);
  model.Input("sequence", {5, 2, 4}).Input("rnn_w", {1, 3, 4}).Input("rnn_r", {1, 3, 3});
  model.Ints("axis", {}, {1});
  model.Node(c.op_type, c.inputs, c.outputs, c.attributes, "the_node").Output(c.outputs[0]);
  return model;
}

class Operators : public ::testing::TestWithParam<NodeCase> {};
class MicrosoftOperators : public ::testing::TestWithParam<NodeCase> {};

TEST_P(Operators, BecomeOurs) {
  const Imported result = ImportModel(Model(GetParam()));
  EXPECT_EQ(result.Ops(), GetParam().ops);
  EXPECT_EQ(result.ResultType(), GetParam().type);
}

TEST_P(MicrosoftOperators, BecomeOurs) {
  const Imported result = ImportMicrosoft(Model(GetParam()));
  EXPECT_EQ(result.Ops(), GetParam().ops);
  EXPECT_EQ(result.ResultType(), GetParam().type);
}

const std::vector<int64_t> kWindow = {3, 3};

INSTANTIATE_TEST_SUITE_P(
    All, Operators,
    ::testing::Values(
        NodeCase{"Acos", 22, {"x"}, {}, "ten.acos", "tensor<2x3x4xf32>"},
        NodeCase{"Acosh", 22, {"x"}, {}, "ten.acosh", "tensor<2x3x4xf32>"},
        NodeCase{"Asin", 22, {"x"}, {}, "ten.asin", "tensor<2x3x4xf32>"},
        NodeCase{"Asinh", 22, {"x"}, {}, "ten.asinh", "tensor<2x3x4xf32>"},
        NodeCase{"Atan", 22, {"x"}, {}, "ten.atan", "tensor<2x3x4xf32>"},
        NodeCase{"Atanh", 22, {"x"}, {}, "ten.atanh", "tensor<2x3x4xf32>"},
        NodeCase{"Cosh", 22, {"x"}, {}, "ten.cosh", "tensor<2x3x4xf32>"},
        NodeCase{"Sinh", 22, {"x"}, {}, "ten.sinh", "tensor<2x3x4xf32>"},
        NodeCase{"Tan", 22, {"x"}, {}, "ten.tan", "tensor<2x3x4xf32>"},
        NodeCase{"Softplus", 22, {"x"}, {}, "ten.softplus", "tensor<2x3x4xf32>"},
        NodeCase{"Softsign", 22, {"x"}, {}, "ten.abs ten.add ten.div", "tensor<2x3x4xf32>"},
        NodeCase{"Mish", 18, {"x"}, {}, "ten.softplus ten.tanh ten.mul", "tensor<2x3x4xf32>"},
        NodeCase{"Elu", 22, {"x"}, {}, "ten.elu", "tensor<2x3x4xf32>"},
        NodeCase{"HardSigmoid", 22, {"x"}, {}, "ten.hard_sigmoid", "tensor<2x3x4xf32>"},
        NodeCase{"Shrink", 22, {"x"}, {}, "ten.shrink", "tensor<2x3x4xf32>"},
        NodeCase{"ThresholdedRelu", 22, {"x"}, {}, "ten.thresholded_relu", "tensor<2x3x4xf32>"},
        NodeCase{"Hardmax", 22, {"x"}, {}, "nn.hardmax", "tensor<2x3x4xf32>"},
        NodeCase{"IsInf", 22, {"x"}, {}, "ten.is_inf", "tensor<2x3x4xi1>"},
        NodeCase{"Swish", 24, {"x"}, {}, "nn.silu", "tensor<2x3x4xf32>"},
        NodeCase{"And", 21, {"b", "c"}, {}, "ten.and", "tensor<2x3x4xi1>"},
        NodeCase{"Or", 21, {"b", "c"}, {}, "ten.or", "tensor<2x3x4xi1>"},
        NodeCase{"Xor", 21, {"b", "c"}, {}, "ten.xor", "tensor<2x3x4xi1>"},
        NodeCase{"Not", 21, {"b"}, {}, "ten.not", "tensor<2x3x4xi1>"},
        NodeCase{"Where", 21, {"b", "x", "y"}, {}, "ten.where", "tensor<2x3x4xf32>"},
        NodeCase{"ArgMax", 21, {"x"}, {{"axis", int64_t{1}}}, "ten.argmax", "tensor<2x1x4xi64>"},
        NodeCase{"ArgMin",
                 21,
                 {"x"},
                 {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}},
                 "ten.argmin",
                 "tensor<2x4xi64>"},
        NodeCase{"BitCast",
                 26,
                 {"x"},
                 {{"to", int64_t{TensorProto::INT32}}},
                 "ten.bitcast",
                 "tensor<2x3x4xi32>"},
        NodeCase{"BitShift",
                 21,
                 {"u", "u"},
                 {{"direction", "LEFT"}},
                 "ten.bit_shift",
                 "tensor<2x3x4xui8>"},
        NodeCase{"BitwiseAnd", 21, {"i", "i"}, {}, "ten.bitwise_and", "tensor<2x3x4xi64>"},
        NodeCase{"BitwiseOr", 21, {"i", "i"}, {}, "ten.bitwise_or", "tensor<2x3x4xi64>"},
        NodeCase{"BitwiseXor", 21, {"i", "i"}, {}, "ten.bitwise_xor", "tensor<2x3x4xi64>"},
        NodeCase{"BitwiseNot", 21, {"i"}, {}, "ten.bitwise_not", "tensor<2x3x4xi64>"},
        NodeCase{"Compress",
                 21,
                 {"x", "mask"},
                 {{"axis", int64_t{1}}},
                 "ten.nonzero ten.reshape ten.gather",
                 R"(tensor<2x?x4xf32, ["", "the_node.d1", ""]>)"},
        NodeCase{"ConvInteger",
                 21,
                 {"u8", "u8_filter", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.cast ten.sub nn.conv ten.round ten.cast",
                 "tensor<1x2x4x4xi32>"},
        NodeCase{"ConvTranspose",
                 21,
                 {"image", "filter"},
                 {{"strides", std::vector<int64_t>{2, 2}}},
                 "nn.conv_transpose",
                 "tensor<1x2x13x13xf32>"},
        NodeCase{"CumProd", 26, {"x", "axis"}, {}, "ten.cumulate", "tensor<2x3x4xf32>"},
        NodeCase{"DepthToSpace",
                 21,
                 {"image"},
                 {{"blocksize", int64_t{2}}},
                 "ten.reshape ten.transpose ten.reshape",
                 "tensor<1x1x12x12xf32>"},
        NodeCase{"EyeLike",
                 21,
                 {"square"},
                 {{"k", int64_t{1}}},
                 "ten.expand ten.trilu ten.trilu",
                 "tensor<3x3xf32>"},
        NodeCase{"GlobalLpPool",
                 21,
                 {"image"},
                 {},
                 "ten.abs ten.pow ten.reduce_sum ten.pow",
                 "tensor<1x4x1x1xf32>"},
        NodeCase{"LpPool",
                 21,
                 {"image"},
                 {{"kernel_shape", kWindow}},
                 "nn.lp_pool",
                 "tensor<1x4x4x4xf32>"},
        NodeCase{"GridSample", 21, {"image", "grid"}, {}, "nn.grid_sample", "tensor<1x4x2x2xf32>"},
        NodeCase{"GroupNormalization",
                 21,
                 {"image", "scale", "scale"},
                 {{"num_groups", int64_t{2}}},
                 "ten.reshape nn.layer_norm ten.reshape ten.reshape ten.mul ten.reshape ten.add",
                 "tensor<1x4x6x6xf32>"},
        NodeCase{"InstanceNormalization",
                 21,
                 {"image", "scale", "scale"},
                 {},
                 "nn.layer_norm ten.reshape ten.mul ten.reshape ten.add",
                 "tensor<1x4x6x6xf32>"},
        NodeCase{"LRN", 21, {"image"}, {{"size", int64_t{3}}}, "nn.lrn", "tensor<1x4x6x6xf32>"},
        NodeCase{"LpNormalization",
                 21,
                 {"x"},
                 {{"axis", int64_t{1}}, {"p", int64_t{1}}},
                 "ten.abs ten.reduce_sum ten.equal ten.where ten.div",
                 "tensor<2x3x4xf32>"},
        NodeCase{"MatMul", 21, {"square", "square"}, {}, "ten.matmul", "tensor<3x3xf32>"},
        NodeCase{"MeanVarianceNormalization",
                 21,
                 {"image"},
                 {},
                 "ten.reduce_mean ten.sub ten.mul ten.reduce_mean ten.sqrt ten.add ten.sub ten.div",
                 "tensor<1x4x6x6xf32>"},
        NodeCase{
            "NegativeLogLikelihoodLoss",
            21,
            {"x", "labels"},
            {},
            "ten.check_range ten.reshape ten.gather_elements ten.reshape ten.neg ten.reduce_mean",
            "tensor<f32>"},
        NodeCase{
            "SoftmaxCrossEntropyLoss",
            21,
            {"x", "labels"},
            {{"reduction", "sum"}},
            "nn.log_softmax ten.check_range ten.reshape ten.gather_elements ten.reshape ten.neg "
            "ten.reduce_sum",
            "tensor<f32>"},
        NodeCase{"QLinearMatMul",
                 21,
                 {"u8_square", "scalar", "zero_point", "u8_square", "scalar", "zero_point",
                  "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.cast ten.cast ten.sub ten.mul ten.div ten.matmul "
                 "ten.mul ten.round ten.cast ten.add ten.clip ten.cast",
                 "tensor<3x3xui8>"},
        NodeCase{"RNN",
                 21,
                 {"sequence", "rnn_w", "rnn_r"},
                 {{"hidden_size", int64_t{3}}},
                 "ten.reshape ten.reshape ten.matmul ten.expand nn.recurrence ten.reshape",
                 "tensor<5x1x2x3xf32>",
                 {"out", "last"}},
        NodeCase{"ReverseSequence",
                 21,
                 {"x", "lengths"},
                 {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}},
                 "ten.reverse_sequence",
                 "tensor<2x3x4xf32>"},
        NodeCase{"Scatter",
                 9,
                 {"x", "i", "y"},
                 {{"axis", int64_t{1}}},
                 "ten.scatter_elements",
                 "tensor<2x3x4xf32>"},
        NodeCase{"ScatterElements",
                 18,
                 {"x", "i", "y"},
                 {{"reduction", "add"}},
                 "ten.scatter_elements",
                 "tensor<2x3x4xf32>"},
        NodeCase{"SimplifiedLayerNormalization",
                 17,
                 {"x", "scale"},
                 {},
                 "nn.rms_norm",
                 "tensor<2x3x4xf32>"},
        NodeCase{"Unique", 21, {"vector"}, {}, "ten.unique", R"(tensor<?xf32, ["the_node.d0"]>)"}));

INSTANTIATE_TEST_SUITE_P(
    All, MicrosoftOperators,
    ::testing::Values(
        NodeCase{"Gelu", 17, {"x"}, {}, "nn.gelu", "tensor<2x3x4xf32>"},
        NodeCase{"QuantizeLinear",
                 17,
                 {"x", "scalar", "zero_point"},
                 {},
                 "ten.div ten.round ten.cast ten.add ten.clip ten.cast",
                 "tensor<2x3x4xui8>"},
        NodeCase{"DequantizeLinear",
                 17,
                 {"u", "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.mul",
                 "tensor<2x3x4xf32>"},
        NodeCase{"QLinearGlobalAveragePool",
                 17,
                 {"u8", "scalar", "zero_point", "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.reduce_sum ten.mul ten.div ten.mul ten.round "
                 "ten.cast ten.add ten.clip ten.cast",
                 "tensor<1x4x1x1xui8>"},
        NodeCase{"QLinearLeakyRelu",
                 17,
                 {"u", "scalar", "zero_point", "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.mul ten.leaky_relu ten.div ten.round ten.cast "
                 "ten.add ten.clip ten.cast",
                 "tensor<2x3x4xui8>"},
        NodeCase{"QLinearSigmoid",
                 17,
                 {"u", "scalar", "zero_point", "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.mul ten.sigmoid ten.div ten.round ten.cast ten.add "
                 "ten.clip ten.cast",
                 "tensor<2x3x4xui8>"},
        NodeCase{"QLinearSoftmax",
                 17,
                 {"u", "scalar", "zero_point", "scalar", "zero_point"},
                 {{"axis", int64_t{-1}}, {"opset", int64_t{13}}},
                 "ten.cast ten.cast ten.sub ten.mul nn.softmax ten.div ten.round ten.cast ten.add "
                 "ten.clip ten.cast",
                 "tensor<2x3x4xui8>"},
        NodeCase{"QLinearMul",
                 17,
                 {"u", "scalar", "zero_point", "u", "scalar", "zero_point", "scalar", "zero_point"},
                 {},
                 "ten.cast ten.cast ten.sub ten.cast ten.cast ten.sub ten.mul ten.div ten.mul "
                 "ten.mul ten.round ten.cast ten.add ten.clip ten.cast",
                 "tensor<2x3x4xui8>"}));

}  // namespace
}  // namespace tenon::onnx
