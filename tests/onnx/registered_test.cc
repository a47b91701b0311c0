// Nodes of domains whose operations a host has registered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/define_op.h"
#include "ir/dialect/shapes/shape_functions.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using ::testing::HasSubstr;

OpDef FilterDef() {
  const TypeConstraint f32 = TensorOf({DType::kF32});
  OpDef def;
  def.name = "acme.signal.Filter";
  def.operands = {{"x", Arity::kSingle, f32},
                  {"window", Arity::kOptional, f32},
                  {"more", Arity::kVariadic, f32}};
  def.results = {{"out", Arity::kSingle, f32}};
  def.attrs = {{"gain", AttrType::kF32, false, "1.0 : f32", {}},
               {"mode", AttrType::kEnum, false, "\"same\"", {"same", "valid"}},
               {"operandSegmentSizes", AttrType::kAny, false, "", {}},
               {"taps", AttrType::kI64s, true, "", {}}};
  def.traits = TraitBits({Trait::kPure});
  def.infer = InferSameAsFirst;
  return def;
}

// A model with one node Filter.
absl::StatusOr<tenon::Model> LoadFilter(const Names& inputs, const NamedValues& attributes) {
  ModelBuilder model(17);
  auto* opset = model.model().add_opset_import();
  opset->set_domain("acme.signal");
  opset->set_version(1);
  model.Input("x", {"N", 4}).Input("w", {4}).Input("y", {2});
  model.Node("Filter", inputs, {"out"}, attributes, "/filter").Output("out");
  model.graph().mutable_node(0)->set_domain("acme.signal");
  auto extension = std::make_shared<Extension>();
  extension->dialects = {{"acme", "", {FilterDef()}}};
  LoadOptions options;
  options.extension = extension;
  return LoadFromBytes(model.Serialize(), "filter.onnx", options);
}

const std::vector<int64_t> kTaps = {1, 2};

TEST(Registered, NodesBecomeTheirOperations) {
  absl::StatusOr<tenon::Model> model =
      LoadFilter({"x", "", "y", "w"}, {{"taps", kTaps}, {"gain", 0.5f}, {"mode", "valid"}});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string text = Print(*model->module());
  EXPECT_THAT(text, HasSubstr("acme.signal.Filter"));
  EXPECT_THAT(text, HasSubstr(R"(gain = 5.000000e-01 : f32)"));
  EXPECT_THAT(text, HasSubstr(R"(mode = "valid")"));
  EXPECT_THAT(text, HasSubstr("acme.signal.Filter(%x, more = [%y, %w])"));
  EXPECT_THAT(text, HasSubstr("taps = array<i64: 1, 2>"));
  EXPECT_THAT(text, HasSubstr(R"(-> tensor<?x4xf32, ["N", ""]>)"));
  // There is no kernel: that is said of the node.
  EXPECT_THAT(Compile(*model).status().ToString(), HasSubstr("/filter: no kernel runs acme"));
}

TEST(Registered, WhatDoesNotFitIsNamed) {
  const auto message = [](const Names& inputs, const NamedValues& attributes) {
    return std::string(LoadFilter(inputs, attributes).status().message());
  };
  EXPECT_THAT(message({"x"}, {}), HasSubstr("/filter: attribute \"taps\" of Filter is missing"));
  EXPECT_THAT(message({"", "w"}, {{"taps", kTaps}}),
              HasSubstr("/filter: input 0 ('x') of Filter is missing"));
  EXPECT_THAT(message({"x", "w", "", "y"}, {{"taps", kTaps}}), HasSubstr("input 2 ('more')"));
  EXPECT_THAT(message({"x"}, {{"taps", int64_t{3}}}), HasSubstr("taps"));
  EXPECT_THAT(message({"x"}, {{"taps", kTaps}, {"mode", "full"}}), HasSubstr("mode"));
  EXPECT_THAT(message({"x"}, {{"taps", kTaps}, {"Gain", 1.0f}}),
              HasSubstr("/filter: Filter has no attribute \"Gain\" (expected gain, mode, taps)"));
  EXPECT_THAT(message({"x"}, {{"taps", kTaps}, {"operandSegmentSizes", kTaps}}),
              HasSubstr("Filter has no attribute \"operandSegmentSizes\""));
}

}  // namespace
}  // namespace tenon::onnx
