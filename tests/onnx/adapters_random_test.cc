// Random numbers, and what draws them.
#include <gtest/gtest.h>

#include "ir/dialect/random_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

constexpr int64_t kDouble = TensorProto::DOUBLE;

TEST(RandomAdapters, Uniform) {
  const Imported made = ImportModel(OneNode(
      22, "RandomUniform", {},
      {{"shape", std::vector<int64_t>{2, 5}}, {"low", -1.0f}, {"high", 2.0f}, {"seed", 7.0f}}));
  const random::UniformOp op(made.Only("random.uniform"));
  EXPECT_EQ(made.ResultType(), "tensor<2x5xf32>");
  EXPECT_EQ(op.low(), -1);
  EXPECT_EQ(op.high(), 2);
  EXPECT_EQ(op.attrs().seed, 7.0);
  const Imported like = ImportModel(OneNode(1, "RandomUniformLike", {"i"}, {{"dtype", kDouble}}));
  EXPECT_EQ(like.ResultType(), "tensor<2xf64>");
  EXPECT_EQ(random::UniformOp(like.Only("random.uniform")).attrs().seed, std::nullopt);
  EXPECT_TRUE(ImportModel(OneNode(22, "RandomUniform", {}))
                  .HasDiagnostic("RandomUniform needs the attribute \"shape\""));
}

TEST(RandomAdapters, Normal) {
  const Imported like =
      ImportModel(OneNode(22, "RandomNormalLike", {"x"}, {{"mean", 3.0f}, {"scale", 0.5f}}));
  const random::NormalOp op(like.Only("random.normal"));
  EXPECT_EQ(like.ResultType(), "tensor<2x3x4xf32>");
  EXPECT_EQ(op.mean(), 3);
  EXPECT_EQ(op.scale(), 0.5f);
  const Imported made = ImportModel(
      OneNode(1, "RandomNormal", {}, {{"shape", std::vector<int64_t>{4}}, {"dtype", kDouble}}));
  EXPECT_EQ(made.ResultType(), "tensor<4xf64>");
}

TEST(RandomAdapters, EachNodeHasAStream) {
  ModelBuilder model(22);
  model.Input("x", {"N"});
  for (const char* name : {"a", "b"}) model.Node("RandomUniformLike", {"x"}, {name}).Output(name);
  const Imported two = ImportModel(model);
  const std::vector<Operation*> ops = two.Find("random.uniform");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_NE(random::UniformOp(ops[0]).stream(), random::UniformOp(ops[1]).stream());
  EXPECT_EQ(two.ResultType(), "tensor<?xf32, [\"N\"]>");
}

TEST(RandomAdapters, WhatDraws) {
  EXPECT_EQ(Ops(OneNode(22, "Bernoulli", {"x"})), "random.uniform ten.less ten.cast");
  EXPECT_EQ(ImportModel(OneNode(15, "Bernoulli", {"x"}, {{"dtype", kDouble}})).ResultType(),
            "tensor<2x3x4xf64>");
  ModelBuilder model(22);
  model.Input("x", {"N", 5}).Node("Multinomial", {"x"}, {"out"}, {{"sample_size", int64_t{3}}});
  EXPECT_EQ(ImportModel(model.Output("out")).ResultType(), "tensor<?x3xi32, [\"N\", \"\"]>");
  EXPECT_TRUE(ImportModel(OneNode(22, "Multinomial", {"x"})).HasDiagnostic("(expected rank 2)"));
}

ModelBuilder Dropout(const Names& inputs) {
  ModelBuilder model = OneNode(13, "Dropout", inputs, {{"seed", int64_t{3}}}, {"out", "mask"});
  model.Output("mask").Input("ratio", {}).Input("train", {}, TensorProto::BOOL);
  model.Floats("none", {}, {0.0f});
  TensorProto& yes = *model.graph().add_initializer();
  yes.set_name("yes");
  yes.set_data_type(TensorProto::BOOL);
  yes.add_int32_data(1);
  return model;
}

TEST(RandomAdapters, DropoutInTraining) {
  const Imported trained = ImportModel(Dropout({"x", "ratio", "yes"}));
  EXPECT_EQ(trained.Ops(),
            "ten.check_range random.uniform ten.greater_equal ten.sub ten.div ten.mul ten.where");
  EXPECT_EQ(trained.ResultType(1), "tensor<2x3x4xi1>");
  EXPECT_EQ(random::UniformOp(trained.Only("random.uniform")).attrs().seed, 3.0);
  // Only a run knows whether it trains.
  EXPECT_EQ(ImportModel(Dropout({"x", "ratio", "train"})).Find("ten.or").size(), 1u);
  EXPECT_EQ(Ops(Dropout({"x", "none", "yes"})), "ten.expand");
}

}  // namespace
}  // namespace tenon::onnx
