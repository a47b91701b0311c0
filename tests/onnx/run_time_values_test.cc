// ONNX models whose inputs decide shapes, positions, axes, lengths and counts: wrong values are
// errors at the node, and the special ones of ONNX keep their meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;
using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kSingle = 1;

Tensor V(const std::vector<int64_t>& values) {
  return Ints({static_cast<int64_t>(values.size())}, values);
}
Tensor S(int64_t value) { return Ints({}, {value}); }
Tensor I32s(const std::vector<int32_t>& values) {
  return MakeTensor(DType::kI32, {static_cast<int64_t>(values.size())}, values);
}
Tensor FloatNumber(float value) { return Floats({}, {value}); }
Tensor F(const std::vector<float>& values) {
  return Floats({static_cast<int64_t>(values.size())}, values);
}

// A model, inputs with which it runs, and other values of one of them.
struct ValueNode {
  std::string name;
  ModelBuilder model;
  std::vector<Tensor> inputs;
  size_t input;  // the one that has other values
  std::vector<Tensor> wrong, right;
};

int32_t ProtoType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return TensorProto::FLOAT;
    case DType::kI32:
      return TensorProto::INT32;
    case DType::kBool:
      return TensorProto::BOOL;
    default:
      return TensorProto::INT64;
  }
}

// One node "the_node" with inputs i0, i1, … ("" where a tensor is null) and outputs o0, …
ValueNode Case(const std::string& op, std::vector<Tensor> inputs, size_t input,
               std::vector<Tensor> wrong, std::vector<Tensor> right = {},
               const NamedValues& attributes = {}, int outputs = 1,
               const std::string& domain = "") {
  ModelBuilder model(domain.empty() ? 24 : 17);
  Names names, results;
  std::vector<Tensor> given;
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      names.emplace_back();
      continue;
    }
    if (i == input) at = given.size();
    names.push_back(fmt::format("i{}", i));
    std::vector<Dim> dims;
    for (int64_t extent : inputs[i].shape()) dims.emplace_back(static_cast<int>(extent));
    model.Input(names.back(), dims, ProtoType(inputs[i].dtype()));
    given.push_back(inputs[i]);
  }
  for (int i = 0; i < outputs; ++i) results.push_back(fmt::format("o{}", i));
  model.Node(op, names, results, attributes, "the_node");
  for (const std::string& result : results) model.Output(result);
  if (!domain.empty()) {
    model.graph().mutable_node(0)->set_domain(domain);
    onnxpb::OperatorSetIdProto& opset = *model.model().add_opset_import();
    opset.set_domain(domain);
    opset.set_version(1);
  }
  return {op, std::move(model), std::move(given), at, std::move(wrong), std::move(right)};
}

absl::Status RunModel(const ValueNode& c, std::span<const Tensor> inputs, int level,
                      bool reference) {
  absl::StatusOr<tenon::Model> model = LoadFromBytes(c.model.Serialize(), "case.onnx");
  if (!model.ok()) return model.status();
  absl::Status status = Optimize(*model, {.level = level});
  if (!status.ok()) return status;
  absl::StatusOr<Program> program =
      Compile(*model, {.threads = 1, .reference = reference, .limits = {.loop_trips = 1000}});
  if (!program.ok()) return program.status();
  return program->Run(inputs).status();
}

void Check(const std::vector<ValueNode>& cases) {
  for (const ValueNode& c : cases) {
    for (int level : {0, 2}) {
      for (bool reference : {true, false}) {
        SCOPED_TRACE(fmt::format("{} input {} at -O{}{}", c.name, c.input, level,
                                 reference ? ", reference kernels" : ""));
        const absl::Status status = RunModel(c, c.inputs, level, reference);
        EXPECT_TRUE(status.ok()) << status;
        std::vector<Tensor> inputs = c.inputs;
        for (size_t i = 0; i < c.wrong.size(); ++i) {
          inputs[c.input] = c.wrong[i];
          const absl::Status refused = RunModel(c, inputs, level, reference);
          ASSERT_FALSE(refused.ok()) << "value " << i;
          const std::string message(refused.message());
          EXPECT_THAT(message, HasSubstr("the_node"));
          EXPECT_THAT(message, HasSubstr("expected")) << "value " << i;
          EXPECT_NE(refused.code(), absl::StatusCode::kInternal) << message;
        }
        for (size_t i = 0; i < c.right.size(); ++i) {
          inputs[c.input] = c.right[i];
          const absl::Status taken = RunModel(c, inputs, level, reference);
          EXPECT_TRUE(taken.ok()) << "value " << i << ": " << taken;
        }
      }
    }
  }
}

TEST(OnnxRunTimeValues, Parts) {
  const Tensor x = Ramp({6, 2});
  Check({
      Case("Split", {x, V({2, 4})}, 1,
           {V({2, 3}), V({2, 5}), V({-1, 7}), V({7, -1}), V({kMax, kMin}), V({kMax, kMax}),
            V({kMin, kMin}), V({0, 0})},
           {V({0, 6}), V({6, 0}), V({3, 3})}, {}, 2),
      Case("Slice", {x, V({1}), V({5}), V({0}), V({2})}, 4, {V({0})}, {V({-1}), V({kMin})}),
      Case("Slice", {x, V({1}), V({5}), V({0}), V({2})}, 3, {V({2}), V({-3}), V({kMin})},
           {V({1}), V({-1})}),
      Case("Slice", {x, V({1}), V({5})}, 1, {}, {V({kMin}), V({kMax}), V({-1})}),
      Case("Slice", {x, V({1}), V({5})}, 2, {}, {V({kMin}), V({kMax}), V({-1})}),
      Case("Pad", {x, V({1, 0, 0, 0})}, 1,
           {V({-4, 0, -4, 0}), V({kMax, 0, kMax, 0}), V({kMin, 0, 0, 0})}, {V({-1, 0, 0, 0})}),
      Case("Pad", {x, V({1, 0}), Tensor(), V({0})}, 3, {V({2}), V({-3}), V({kMax})}, {V({-1})}),
      Case("Tile", {x, V({1, 2})}, 1, {V({-1, 2}), V({kMax, 1}), V({kMin, 1}), V({kMax, kMax})},
           {V({0, 1})}),
      Case("Expand", {x, V({6, 2})}, 1, {V({6, 3}), V({-1, 2}), V({6, kMin}), V({kMax, kMax})},
           {V({1, 1}), V({6, 1})}),
      Case("Reshape", {x, V({3, 4})}, 1,
           {V({3, 5}), V({-1, -1}), V({-2, 6}), V({5, -1}), V({kMax, kMax}), V({kMin, -1})},
           {V({-1, 4}), V({0, -1}), V({0, 2})}),
      Case("ConstantOfShape", {V({2, 3})}, 0, {V({-1, 3}), V({kMax, kMax}), V({2, kMin})},
           {V({0, 3})}),
      Case("Range", {S(0), S(5), S(1)}, 2, {S(0)}, {S(-1), S(kMax), S(kMin)}),
      Case("Range", {S(0), S(5), S(1)}, 1, {S(kMax)}, {S(kMin)}),
      Case("Squeeze", {Ramp({1, 3}), V({0})}, 1, {V({1}), V({2}), V({-3}), V({kMin})}, {V({-2})}),
      Case("Unsqueeze", {x, V({0})}, 1, {V({3}), V({-4}), V({kMax})}, {V({-1}), V({2})}),
      Case("Trilu", {x, S(0)}, 1, {}, {S(kMin), S(kMax)}),
  });
}

TEST(OnnxRunTimeValues, Gathers) {
  const Tensor x = Ramp({3, 2});
  const Tensor at = Ints({1, 2}, {0, -1}), update = Ramp({1, 2});
  Check({
      Case("Gather", {x, V({0, -3})}, 1, {V({3, 0}), V({-4, 0}), V({kMin, kMax})}),
      Case("GatherElements", {x, at}, 1,
           {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, -4}), Ints({1, 2}, {kMin, kMax})}),
      Case("GatherND", {x, at}, 1,
           {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, 2}), Ints({1, 2}, {kMin, kMax})}),
      Case("ScatterElements", {x, at, update}, 1,
           {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, -4}), Ints({1, 2}, {kMin, kMax})}),
      Case("ScatterND", {x, at, Ramp({1})}, 1,
           {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, -3}), Ints({1, 2}, {kMin, kMax})}),
      Case("TensorScatter", {Ramp({2, 4, 3}), Ramp({2, 2, 3}), V({0, 2})}, 2,
           {V({-1, 0}), V({0, 3}), V({kMin, kMax})}),
      Case("TensorScatter", {Ramp({2, 4, 3}), Ramp({2, 2, 3}), V({0, 2})}, 2,
           {V({-1, 0}), V({0, 4}), V({kMin, kMax})}, {V({3, 0})}, {{"mode", "circular"}}),
      Case("OneHot", {V({0, -1}), S(3), F({0, 1})}, 1, {S(-1), S(kMin), S(kMax)}, {S(0)}),
      Case("OneHot", {V({0, -1}), F({3}), F({0, 1})}, 1,
           {F({kNaN}), F({-1}), F({1e30f}), F({-kInf})}, {F({2})}),
      Case("OneHot", {V({0, -1}), S(3), F({0, 1})}, 0, {}, {V({kMin, kMax}), V({3, -4})}),
      Case("OneHot", {F({0, 1}), S(3), F({0, 1})}, 0, {F({0, kNaN})}, {F({-1, 1e30f})}),
      Case("NegativeLogLikelihoodLoss", {Ramp({2, 3}), V({0, 2})}, 1,
           {V({0, 3}), V({-1, 0}), V({kMin, kMax})}, {}),
      Case("SoftmaxCrossEntropyLoss", {Ramp({2, 3}), V({0, 2}), F({1, 2, 3})}, 1,
           {V({0, 3}), V({-1, 0}), V({kMin, kMax})}, {V({-100, 1})},
           {{"ignore_index", int64_t{-100}}}),
      Case("TopK", {x, V({2})}, 1, {V({-1}), V({3}), V({kMax}), V({kMin})}, {V({0}), V({1})}, {},
           2),
      Case("Compress", {x, MakeTensor<uint8_t>(DType::kBool, {2}, {1, 0})}, 1, {}, {},
           {{"axis", int64_t{0}}}),
  });
}

TEST(OnnxRunTimeValues, AxesLengthsAndSizes) {
  const Tensor x = Ramp({2, 3});
  const Tensor image = Ramp({1, 1, 2, 2}), states = Ramp({1, 2, 3});
  Check({
      Case("CumSum", {x, S(0)}, 1, {S(2), S(-3), S(kMin)}, {S(-1)}),
      Case("ReduceSum", {x, V({0})}, 1, {V({2}), V({-3}), V({kMax})}, {V({-1})}),
      Case("ReduceMax", {x, V({0, 1})}, 1, {V({0, 0}), V({1, -1}), V({kMin, kMax})}, {},
           {{"keepdims", int64_t{0}}}),
      Case("ReverseSequence", {x, V({3, 2})}, 1, {V({4, 1}), V({1, -1}), V({kMin, kMax})}, {},
           {{"batch_axis", int64_t{0}}, {"time_axis", kSingle}}),
      Case("Resize", {image, Tensor(), Tensor(), V({1, 1, 4, 4})}, 3,
           {V({1, 1, -4, 4}), V({1, 1, kMax, 4}), V({1, kMin, 4, 4})}, {V({1, 1, 1, 3})}),
      Case("Resize", {image, Tensor(), F({1, 1, 2, 2})}, 2,
           {F({1, 1, 0, 2}), F({1, 1, -1, 2}), F({1, 1, kNaN, 2}), F({1, 1, kInf, 2}),
            F({1, 1, 1e30f, 2})},
           {F({1, 1, 0.5f, 1.5f})}),
      Case("RNN", {Ramp({4, 2, 3}), Ramp({1, 3, 3}), Ramp({1, 3, 3}), Tensor(), I32s({4, 2})}, 4,
           {I32s({5, 1}), I32s({1, -1}), I32s({INT32_MIN, INT32_MAX})}, {I32s({0, 4})},
           {{"hidden_size", int64_t{3}}}),
      Case("RotaryEmbedding",
           {Ramp({1, 1, 2, 4}), Ramp({3, 2}), Ramp({3, 2}), Ints({1, 2}, {0, 2})}, 3,
           {Ints({1, 2}, {0, 3}), Ints({1, 2}, {-1, 0}), Ints({1, 2}, {kMin, kMax})}),
      Case("Attention",
           {Ramp({2, 1, 2, 4}), Ramp({2, 1, 3, 4}), Ramp({2, 1, 3, 4}), Tensor(), Tensor(),
            Tensor(), V({3, 2})},
           6, {V({4, 1}), V({3, -1}), V({kMin, kMax})}, {V({0, 3})}),
      Case("Attention",
           {Ramp({2, 1, 2, 4}), Ramp({2, 1, 3, 4}), Ramp({2, 1, 3, 4}), Tensor(), Tensor(),
            Tensor(), V({3, 2})},
           6, {V({4, 1}), V({3, -1}), V({kMin, kMax})}, {V({0, 3})}, {{"is_causal", kSingle}}),
  });
}

TEST(OnnxRunTimeValues, ImagesAndSignals) {
  const Tensor x = Ramp({2, 3}), pooled = Ramp({1, 1, 2}), at = Ints({1, 1, 2}, {1, 2});
  const std::vector<Tensor> mel = {S(2), S(8), S(8000), FloatNumber(0), FloatNumber(4000)};
  const NamedValues window = {{"kernel_shape", std::vector<int64_t>{2}},
                              {"strides", std::vector<int64_t>{2}}};
  Check({
      Case("HannWindow", {S(4)}, 0, {S(-3), S(kMax), S(kMin)}, {S(0), S(1)}),
      Case("BlackmanWindow", {S(4)}, 0, {S(-1), S(kMin)}, {S(0)}, {{"periodic", int64_t{0}}}),
      Case("MelWeightMatrix", mel, 0, {S(-1), S(kMax), S(kMin)}, {S(0)}),
      Case("MelWeightMatrix", mel, 1, {S(-1), S(kMax), S(kMin)}, {S(0)}),
      Case("MelWeightMatrix", mel, 2, {S(0), S(-1), S(kMax), S(kMin)}),
      Case("MelWeightMatrix", mel, 3, {},
           {FloatNumber(kNaN), FloatNumber(-kInf), FloatNumber(1e30f)}),
      Case("DFT", {Ramp({1, 4, 3, 1}), S(5), S(1)}, 1, {S(0), S(-5), S(kMin), S(kMax)},
           {S(1), S(4)}),
      Case("DFT", {Ramp({1, 4, 3, 1}), Tensor(), S(1)}, 2, {S(3), S(-1), S(-5), S(kMin), S(kMax)},
           {S(0), S(-2)}, {{"onesided", kSingle}}),
      Case("STFT", {Ramp({1, 8, 1}), S(2), Tensor(), S(4)}, 1, {S(0), S(-1), S(kMin), S(kMax)},
           {S(1), S(9)}),
      Case("STFT", {Ramp({1, 8, 1}), S(2), Tensor(), S(4)}, 3,
           {S(0), S(-1), S(9), S(kMin), S(kMax)}, {S(1), S(8)}),
      Case("STFT", {Ramp({1, 8, 1}), S(2), Ramp({4}), S(4)}, 3, {S(0), S(3), S(5), S(kMax)}),
      Case("RoiAlign", {Ramp({2, 1, 4, 4}), Floats({1, 4}, {0, 0, 2, 2}), V({1})}, 2,
           {V({2}), V({-1}), V({kMin}), V({kMax})}, {V({0})}),
      Case("NonMaxSuppression",
           {Floats({1, 2, 4}, {0, 0, 1, 1, 0, 0, 2, 2}), Ramp({1, 1, 2}), V({2}), F({0.5f})}, 3,
           {F({-1}), F({2}), F({kNaN})}, {F({0}), F({1})}),
      Case("NonMaxSuppression",
           {Floats({1, 2, 4}, {0, 0, 1, 1, 0, 0, 2, 2}), Ramp({1, 1, 2}), V({2}), F({0.5f})}, 2, {},
           {V({0}), V({-1}), V({kMin}), V({kMax})}),
      Case("AffineGrid", {Ramp({1, 2, 3}), V({1, 1, 2, 2})}, 1,
           {V({2, 1, 2, 2}), V({0, 1, 2, 2}), V({1, 1, -2, 2}), V({1, -1, 2, 2}),
            V({1, 1, kMax, 2}), V({1, 1, 2, kMin})},
           {V({1, 9, 0, 3})}),
      Case("CenterCropPad", {x, V({4, 1})}, 1,
           {V({-1, 3}), V({2, kMin}), V({kMax, 2}), V({kMax, kMax})}, {V({0, 3}), V({2, 3})}),
      Case("MaxUnpool", {pooled, at}, 1,
           {Ints({1, 1, 2}, {1, 4}), Ints({1, 1, 2}, {-1, 0}), Ints({1, 1, 2}, {kMin, kMax})}, {},
           window),
      Case("MaxUnpool", {pooled, at, V({1, 1, 5})}, 2,
           {V({1, 1, 3}), V({0, 1, 5}), V({1, 1, kMin}), V({1, 1, kMax})}, {V({1, 1, 4})}, window),
  });
}

TEST(OnnxRunTimeValues, OnnxRuntimesOwn) {
  const std::string microsoft = "com.microsoft";
  const Tensor q = Ramp({2, 1, 4}), cache = Ramp({2, 1, 3, 4});
  const NamedValues heads = {{"num_heads", kSingle}, {"kv_num_heads", kSingle}};
  Check({
      Case("GroupQueryAttention", {q, q, q, cache, cache, I32s({3, 1}), I32s({4})}, 5,
           {I32s({4, 1}), I32s({-2, 3}), I32s({INT32_MIN, INT32_MAX})}, {I32s({-1, 3})}, heads, 3,
           microsoft),
      Case("GroupQueryAttention", {q, q, q, cache, cache, I32s({0, 0}), I32s({4})}, 6,
           {I32s({0}), I32s({-1}), I32s({INT32_MIN})}, {I32s({2})}, heads, 3, microsoft),
      Case("Attention", {Ramp({2, 3, 4}), Ramp({4, 12}), Ramp({12}), I32s({3, 1})}, 3,
           {I32s({4, 1}), I32s({3, -1}), I32s({INT32_MIN, INT32_MAX})}, {I32s({0, 3})},
           {{"num_heads", kSingle}}, 1, microsoft),
      Case("RotaryEmbedding", {Ramp({1, 1, 2, 4}), V({1}), Ramp({3, 2}), Ramp({3, 2})}, 1,
           {V({2}), V({-1}), V({kMin})}, {V({0})}, {}, 1, microsoft),
  });
}

TEST(OnnxRunTimeValues, TripCounts) {
  onnxpb::GraphProto body;
  body.set_name("body");
  *body.add_node() = MakeNode("Identity", {"go"}, {"on"});
  *body.add_node() = MakeNode("Neg", {"c"}, {"n"});
  for (const char* input : {"i", "go", "c"}) body.add_input()->set_name(input);
  for (const char* output : {"on", "n"}) body.add_output()->set_name(output);
  for (bool while_loop : {false, true}) {
    ModelBuilder model(17);
    model.Input("n", {}, TensorProto::INT64).Input("x", {2});
    if (while_loop) model.Input("go", {}, TensorProto::BOOL);
    model.Node("Loop", {"n", while_loop ? "go" : "", "x"}, {"r"}, {{"body", body}}, "the_node");
    model.Output("r");
    std::vector<Tensor> inputs = {S(3), Ramp({2})};
    if (while_loop) inputs.push_back(MakeTensor<uint8_t>(DType::kBool, {}, {1}));
    // Without iterations the result is the initial value, as ONNX has it.
    Check({{"Loop", model, inputs, 0, {S(kMax), S(1001)}, {S(-1), S(kMin), S(0)}}});
  }
}

TEST(OnnxRunTimeValues, Col2Im) {
  const std::vector<Tensor> inputs = {Ramp({1, 4, 9}), V({4, 4}), V({2, 2})};
  Check({Case("Col2Im", inputs, 1,
              {V({0, 4}), V({-1, 4}), V({1, 4}), V({4, 5}), V({kMax, 4}), V({kMin, 4})},
              {V({2, 10})}),
         Case("Col2Im", inputs, 2,
              {V({0, 2}), V({-1, 2}), V({5, 2}), V({2, 3}), V({kMax, 2}), V({kMin, 2})})});
}

TEST(OnnxRunTimeValues, RatioOfDropout) {
  const Tensor training = MakeTensor<uint8_t>(DType::kBool, {}, {1});
  Check({Case("Dropout", {Ramp({4, 6}), FloatNumber(0.25f), training}, 1,
              {FloatNumber(-1), FloatNumber(1), FloatNumber(kInf), FloatNumber(kNaN)},
              {FloatNumber(0), FloatNumber(0.5f)})});
}

// A branch with a wrong node runs as long as it is not taken, at the node's own place otherwise.
TEST(OnnxRunTimeValues, ABranchThatFails) {
  const auto graph = [](const onnxpb::NodeProto& node) {
    onnxpb::GraphProto made;
    *made.add_node() = node;
    made.add_output()->set_name(node.output(0));
    return made;
  };
  ModelBuilder model(17);
  model.Input("x", {2, "N"}).Input("c", {}, TensorProto::BOOL);
  model.Node(
      "If", {"c"}, {"r"},
      {{"then_branch", graph(MakeNode("Neg", {"x"}, {"a"}))},
       {"else_branch", graph(MakeNode("Transpose", {"x"}, {"b"},
                                      {{"perm", std::vector<int64_t>{0, 7}}}, "the_node"))}});
  model.Node("Relu", {"r"}, {"y"}).Output("y");
  const auto bits = [](uint8_t bit) { return MakeTensor<uint8_t>(DType::kBool, {}, {bit}); };
  const ValueNode c{"If", model, {}, 0, {}, {}};
  for (int level : {0, 2}) {
    const Tensor taken[] = {Ramp({2, 3}), bits(1)}, wrong[] = {Ramp({2, 3}), bits(0)};
    EXPECT_TRUE(RunModel(c, taken, level, false).ok());
    const absl::Status refused = RunModel(c, wrong, level, false);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("the_node: ctl.fail: axis 7 of Transpose is outside of"));
  }
}

// What no kernel runs says so before anything runs, whatever the values are.
TEST(OnnxRunTimeValues, OperatorsThatDoNotRun) {
  const ValueNode cases[] = {
      Case("NoSuchOperator", {Ramp({4})}, 0, {}),
  };
  for (const ValueNode& c : cases) {
    for (int level : {0, 2}) {
      const absl::Status status = RunModel(c, c.inputs, level, false);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << c.name << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("the_node"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("onnx." + c.name));
    }
  }
}

// Sizes that are constants are errors of the import or of the run, never of the process.
TEST(OnnxRunTimeValues, Constants) {
  struct Constant {
    const char* op;
    std::vector<int64_t> values;
    bool scalar;
  };
  const Constant constants[] = {
      {"Split", {2, 3}, false},
      {"Split", {-1, 7}, false},
      {"Split", {kMax, kMax}, false},
      {"Tile", {-1, 1}, false},
      {"Tile", {kMax, kMax}, false},
      {"Expand", {6, -2}, false},
      {"Expand", {7, 7}, false},
      {"Reshape", {5, 5}, false},
      {"Reshape", {-2, -6}, false},
      {"Pad", {-4, 0, -4, 0}, false},
      {"Pad", {kMax, 0, kMax, 0}, false},
      {"TopK", {-1}, false},
      {"TopK", {99}, false},
      {"CumSum", {7}, true},
      {"Gather", {6}, false},
      {"Gather", {kMin}, false},
      {"Squeeze", {0}, false},
      {"Unsqueeze", {kMax}, false},
  };
  for (const Constant& constant : constants) {
    ModelBuilder model(18);
    model.Input("x", {6, 2});
    const auto count = static_cast<int64_t>(constant.values.size());
    model.Ints("v", constant.scalar ? std::vector<int64_t>{} : std::vector<int64_t>{count},
               constant.values);
    const bool two =
        std::string_view(constant.op) == "Split" || std::string_view(constant.op) == "TopK";
    model.Node(constant.op, {"x", "v"}, two ? Names{"a", "b"} : Names{"a"}, {}, "the_node");
    model.Output("a");
    for (int level : {0, 2}) {
      const ValueNode c{constant.op, model, {Ramp({6, 2})}, 0, {}, {}};
      const absl::Status status = RunModel(c, c.inputs, level, false);
      EXPECT_FALSE(status.ok()) << constant.op << " " << constant.values[0];
      EXPECT_THAT(std::string(status.message()), HasSubstr("the_node")) << constant.op;
      EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
    }
  }
}

}  // namespace
}  // namespace tenon::onnx
