// Linear attention, causal convolution, FlexAttention, and the steps of optimizers.
#include <gtest/gtest.h>

#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

// The model with its first node in a domain of ONNX.
Imported ImportOf(ModelBuilder model, const std::string& domain) {
  model.graph().mutable_node(0)->set_domain(domain);
  onnxpb::OperatorSetIdProto& opset = *model.model().add_opset_import();
  opset.set_domain(domain);
  opset.set_version(1);
  return ImportModel(model);
}

Imported Train(const ModelBuilder& model) { return ImportOf(model, "ai.onnx.preview.training"); }

// An optimizer's node for `count` tensors of [2, 3], with `lists` lists of them.
ModelBuilder StepModel(const std::string& op, int count, int lists,
                       const NamedValues& attributes = {}) {
  ModelBuilder model(17);
  model.Input("rate", {}).Input("steps", {}, TensorProto::INT64);
  Names inputs = {"rate", "steps"}, outputs;
  for (int i = 0; i < count * lists; ++i) {
    inputs.push_back("in" + std::to_string(i));
    model.Input(inputs.back(), {2, 3});
    if (i < count * (lists - 1)) outputs.push_back("out" + std::to_string(i));
  }
  model.Node(op, inputs, outputs, attributes, "the_node");
  for (const std::string& output : outputs) model.Output(output);
  return model;
}

NamedValues MomentumAttributes(const std::string& mode) {
  return {{"alpha", 0.9f}, {"beta", 0.5f}, {"mode", mode}, {"norm_coefficient", 0.001f}};
}

TEST(TrainingAdapters, EachTensorTakesAStep) {
  const Imported one = Train(StepModel("Adagrad", 1, 3));
  EXPECT_EQ(one.Find("ten.sqrt").size(), 1u);
  EXPECT_EQ(one.ResultType(1), "tensor<2x3xf32>");
  EXPECT_EQ(Train(StepModel("Adagrad", 2, 3)).Find("ten.sqrt").size(), 2u);
  // One root of Adam is that of the correction.
  EXPECT_EQ(Train(StepModel("Adam", 2, 4)).Find("ten.sqrt").size(), 3u);
  EXPECT_EQ(Train(StepModel("Momentum", 1, 3, MomentumAttributes("nesterov"))).ResultType(1),
            "tensor<2x3xf32>");
}

TEST(TrainingAdapters, WrongNodesAreErrors) {
  EXPECT_TRUE(Train(StepModel("Momentum", 1, 3, MomentumAttributes("lazy")))
                  .HasDiagnostic("the mode \"lazy\" (expected standard or nesterov)"));
  EXPECT_TRUE(
      Train(StepModel("Momentum", 1, 3)).HasDiagnostic("Momentum needs the attribute \"alpha\""));
  ModelBuilder lists = StepModel("Adam", 1, 4);
  lists.graph().mutable_node(0)->mutable_input()->RemoveLast();
  EXPECT_TRUE(Train(lists).HasDiagnostic("Adam has 5 inputs (expected 2 and 4 for each tensor)"));
  ModelBuilder shapes = StepModel("Adagrad", 1, 3);
  shapes.Input("other", {2, 3}, TensorProto::DOUBLE);
  shapes.graph().mutable_node(0)->set_input(4, "other");
  EXPECT_TRUE(Train(shapes).HasDiagnostic("tensors of tensor<2x3xf32> and tensor<2x3xf64>"));
  ModelBuilder outputs = StepModel("Adagrad", 1, 3);
  outputs.graph().mutable_node(0)->add_output("more");
  EXPECT_TRUE(Train(outputs).HasDiagnostic("Adagrad of 1 tensors has 3 outputs (expected 2)"));
  EXPECT_EQ(
      Train(StepModel("Gradient", 1, 3)).Find("onnx.ai.onnx.preview.training.Gradient").size(), 1u);
}

// A graph `name` with one input, which is multiplied by itself, or by a value around it.
onnxpb::GraphProto Square(const std::string& factor) {
  ModelBuilder body(26);
  body.Input("score", {1, 4, "L", "S"}).Node("Mul", {"score", factor}, {"changed"});
  body.Output("changed");
  return body.graph();
}

ModelBuilder FlexModel(int key_heads) {
  ModelBuilder model(26);
  model.Input("q", {1, 4, "L", 8}).Input("k", {1, key_heads, "S", 8});
  model.Input("v", {1, key_heads, "S", 6}).Input("factor", {});
  model.Node("FlexAttention", {"q", "k", "v"}, {"out"}, {}, "the_node").Output("out");
  return model;
}

void AddGraph(ModelBuilder& model, const std::string& name, const onnxpb::GraphProto& graph) {
  onnxpb::AttributeProto& attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnxpb::AttributeProto::GRAPH);
  *attribute.mutable_g() = graph;
}

Imported Flex(const ModelBuilder& model) { return ImportOf(model, "ai.onnx.preview"); }

TEST(PreviewAdapters, FlexAttention) {
  const Imported plain = Flex(FlexModel(2));
  EXPECT_EQ(plain.Ops(), "nn.attention");
  EXPECT_EQ(plain.ResultType(), "tensor<1x4x?x6xf32, [\"\", \"\", \"L\", \"\"]>");

  ModelBuilder changed = FlexModel(2);
  AddGraph(changed, "score_mod", Square("factor"));
  AddGraph(changed, "prob_mod", Square("score"));
  const Imported both = Flex(changed);
  EXPECT_EQ(both.Ops(),
            "ten.reshape ten.matmul ten.mul ten.reshape ten.mul nn.softmax ten.mul ten.reshape "
            "ten.matmul ten.reshape");
  EXPECT_EQ(both.ResultType(), "tensor<1x4x?x6xf32, [\"\", \"\", \"L\", \"\"]>");

  EXPECT_TRUE(Flex(FlexModel(3)).HasDiagnostic("4 heads of queries and 3 of keys"));
  ModelBuilder two = FlexModel(2);
  onnxpb::GraphProto graph = Square("score");
  *graph.add_input() = graph.input(0);
  graph.mutable_input(1)->set_name("another");
  AddGraph(two, "score_mod", graph);
  EXPECT_TRUE(Flex(two).HasDiagnostic("score_mod of FlexAttention has 2 inputs and 1 outputs"));
}

ModelBuilder LinearModel(const std::string& rule, const Names& inputs) {
  ModelBuilder model(27);
  model.Input("q", {"B", "T", 16}).Input("k", {"B", "T", 8}).Input("v", {"B", "T", 6});
  model.Input("past", {"B", 2, 4, 3}).Input("short", {"B", 2, 4, 2});
  model.Input("decay", {"B", "T", 2}).Input("decays", {"B", "T", 8}).Input("beta", {"B", "T", 1});
  model.Input("free", {"B", "T", "F"}).Input("ones", {"B", "T", "G"});
  model.Node("LinearAttention", inputs, {"out", "state"},
             {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", rule}},
             "the_node");
  model.Output("out").Output("state");
  return model;
}

TEST(StateAdapters, LinearAttentionIsALoopOverTokens) {
  const Imported linear = ImportModel(LinearModel("linear", {"q", "k", "v"}));
  ASSERT_EQ(linear.Find("ctl.for").size(), 1u) << linear.Ops();
  EXPECT_EQ(linear.ResultType(), "tensor<?x?x12xf32, [\"B\", \"T\", \"\"]>");
  EXPECT_EQ(linear.ResultType(1), "tensor<?x2x4x3xf32, [\"B\", \"\", \"\", \"\"]>");
  EXPECT_TRUE(linear.Find("ten.exp").empty());
  const Imported gated =
      ImportModel(LinearModel("gated_delta", {"q", "k", "v", "past", "decays", "beta"}));
  EXPECT_EQ(gated.Find("ten.exp").size(), 1u);
  EXPECT_EQ(gated.Find("ten.matmul").size(), 2u);
}

// A decay for each head and one for each element of a key differ in an extent that a run may tell.
TEST(StateAdapters, LinearAttentionOfUnknownExtents) {
  const Imported result =
      ImportModel(LinearModel("gated_delta", {"q", "k", "v", "past", "free", "ones"}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.ResultType(1), "tensor<?x2x4x3xf32, [\"B\", \"\", \"\", \"\"]>");
}

TEST(StateAdapters, WrongLinearAttentionIsAnError) {
  EXPECT_TRUE(ImportModel(LinearModel("linear", {"q", "k", "v", "", "decay"}))
                  .HasDiagnostic("the update_rule \"linear\" needs no decay and no beta"));
  EXPECT_TRUE(ImportModel(LinearModel("fast", {"q", "k", "v"}))
                  .HasDiagnostic("the update_rule \"fast\" (expected linear, gated, delta or"));
  EXPECT_TRUE(ImportModel(LinearModel("linear", {"q", "k", "v", "short"}))
                  .HasDiagnostic("the past_state of LinearAttention is"));
  EXPECT_TRUE(ImportModel(LinearModel("linear", {"q", "k", "beta"}))
                  .HasDiagnostic("expected a multiple of 2 heads"));
  EXPECT_TRUE(ImportModel(LinearModel("gated", {"q", "k", "v", "", "v"}))
                  .HasDiagnostic("the decay of LinearAttention is"));
}

ModelBuilder ConvModel(const Names& inputs, const std::string& activation) {
  ModelBuilder model(27);
  model.Input("x", {"B", 3, "T"}).Input("w", {3, 1, 4}).Input("b", {3}).Input("past", {"B", 3, 3});
  model.Input("wide", {"C", 1, 4});
  model.Node("CausalConvWithState", inputs, {"out", "state"}, {{"activation", activation}},
             "the_node");
  model.Output("out").Output("state");
  return model;
}

TEST(StateAdapters, CausalConvWithState) {
  const Imported first = ImportModel(ConvModel({"x", "w"}, "none"));
  EXPECT_EQ(first.Ops(), "ten.pad nn.conv ten.slice ten.slice");
  EXPECT_EQ(first.ResultType(), "tensor<?x3x?xf32, [\"B\", \"\", \"T\"]>");
  EXPECT_EQ(first.ResultType(1), "tensor<?x3x3xf32, [\"B\", \"\", \"\"]>");
  const Imported next = ImportModel(ConvModel({"x", "w", "b", "past"}, "silu"));
  EXPECT_EQ(next.Ops(), "ten.reshape ten.concat nn.conv nn.silu ten.slice ten.slice");
  EXPECT_EQ(next.ResultType(), "tensor<?x3x?xf32, [\"B\", \"\", \"T\"]>");
  EXPECT_EQ(ImportModel(ConvModel({"x", "wide"}, "none")).Ops(), "onnx.CausalConvWithState");
  EXPECT_TRUE(ImportModel(ConvModel({"x", "w"}, "relu"))
                  .HasDiagnostic("the activation \"relu\" (expected none, silu or swish)"));
  EXPECT_TRUE(ImportModel(ConvModel({"x", "w", "b", "x"}, "none")).status.ok());
}

}  // namespace
}  // namespace tenon::onnx
