// Sequences and optional values: what becomes of them, and that they run.
#include "frontends/cpp/files/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "frontends/onnx/file/test_data.h"
#include "tests/executor/run_util.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx::sequences_test {
namespace {

using onnxpb::GraphProto;
using onnxpb::TensorProto;
using onnxpb::TypeProto;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInt64 = TensorProto::INT64;

// A sequence of floats of a rank; -1: the model does not say it.
TypeProto SequenceOf(int rank) {
  TypeProto type;
  TypeProto::Tensor& tensor =
      *type.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  tensor.set_elem_type(TensorProto::FLOAT);
  if (rank >= 0) tensor.mutable_shape();
  for (int i = 0; i < rank; ++i) tensor.mutable_shape()->add_dim();
  return type;
}

TypeProto OptionalOf(const TypeProto& inner) {
  TypeProto type;
  *type.mutable_optional_type()->mutable_elem_type() = inner;
  return type;
}

TypeProto TensorOf(int rank) { return SequenceOf(rank).sequence_type().elem_type(); }

ModelBuilder& Input(ModelBuilder& model, const std::string& name, const TypeProto& type) {
  onnxpb::ValueInfoProto& info = *model.graph().add_input();
  info.set_name(name);
  *info.mutable_type() = type;
  return model;
}

Tensor Numbers(std::vector<int64_t> shape, float first = 0) {
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.as<float>()[i] = first + static_cast<float>(i);
  }
  return tensor;
}

Tensor Scalar(int64_t value) { return Tensor::Copy(DType::kI64, {}, &value); }
Tensor Flag(bool value) { return Tensor::Copy(DType::kBool, {}, &value); }

std::string Text(const Tensor& tensor) {
  std::string text = tensor.type_text() + ":";
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const auto* at = static_cast<const std::byte*>(tensor.data()) +
                     static_cast<size_t>(i) * SizeOf(tensor.dtype());
    text += fmt::format(" {}", LoadAsDouble(tensor.dtype(), at));
  }
  return text;
}

std::string Text(const SequenceValue& value) {
  std::string text = value.present ? "" : "absent";
  for (const Tensor& element : value.elements) {
    text += (text.empty() ? "" : "; ") + Text(element);
  }
  return text;
}

struct Inputs {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, SequenceValue> sequences;
};

absl::StatusOr<std::string> RunAt(const ModelBuilder& builder, const Inputs& given, int level) {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, LoadFromBytes(builder.Serialize(), "case.onnx"));
  TENON_RETURN_IF_ERROR(Optimize(model, {.level = level}));
  TENON_ASSIGN_OR_RETURN(const Program program,
                         Compile(model, {.threads = 1, .check_memory = true}));
  std::vector<Tensor> inputs(program.inputs().size());
  for (const SequencePorts& ports : FindSequences(program.inputs())) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> parts,
                           PackSequence(ports, given.sequences.at(ports.name)));
    std::copy(parts.begin(), parts.end(),
              inputs.begin() + static_cast<std::ptrdiff_t>(ports.first));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) inputs[i] = given.tensors.at(program.inputs()[i].name);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, program.Run(inputs));
  const std::vector<SequencePorts> sequences = FindSequences(program.outputs());
  if (sequences.empty()) return Text(outputs[0]);
  TENON_ASSIGN_OR_RETURN(const SequenceValue value,
                         UnpackSequence(sequences[0], std::span(outputs).subspan(
                                                          sequences[0].first, sequences[0].count)));
  return Text(value);
}

// The first output, the same at all levels; or the message of an error.
std::string Result(const ModelBuilder& builder, const Inputs& given) {
  EXPECT_TRUE(ImportModel(builder).status.ok());
  std::string result;
  for (const int level : {0, 2}) {
    const absl::StatusOr<std::string> text = RunAt(builder, given, level);
    const std::string now = text.ok() ? *text : std::string(text.status().message());
    EXPECT_NE(text.status().code(), absl::StatusCode::kInternal) << now;
    if (level == 0) result = now;
    if (text.ok()) {
      EXPECT_EQ(now, result) << "at level " << level;
    }
  }
  return result;
}

GraphProto Graph(const std::vector<onnxpb::NodeProto>& nodes, const Names& inputs,
                 const Names& outputs) {
  GraphProto graph;
  graph.set_name("g");
  for (const onnxpb::NodeProto& node : nodes) *graph.add_node() = node;
  for (const std::string& input : inputs) graph.add_input()->set_name(input);
  for (const std::string& output : outputs) *graph.add_output() = MakeInfo(output, {});
  return graph;
}

// ---- what is known vanishes

TEST(Sequences, ListsAreNotSeen) {
  ModelBuilder model(17);
  model.Input("x", {6, "N"}).Ints("at", {}, {-1});
  model.Node("SplitToSequence", {"x"}, {"parts"}, {{"keepdims", int64_t{0}}});
  model.Node("SequenceErase", {"parts"}, {"fewer"}).Node("SequenceAt", {"fewer", "at"}, {"e"});
  model.Node("SequenceInsert", {"fewer", "e", "at"}, {"more"});
  model.Node("ConcatFromSequence", {"more"}, {"r"},
             {{"axis", int64_t{1}}, {"new_axis", int64_t{1}}});
  model.Output("r");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.Ops(), Not(HasSubstr("sequence")));
  EXPECT_THAT(result.Ops(), HasSubstr("ten.concat"));
  EXPECT_THAT(result.Ops(), Not(HasSubstr("dynamic")));
  EXPECT_EQ(result.ResultType(), "tensor<?x6xf32, [\"N\", \"\"]>");
}

TEST(Sequences, SlicesOfAnUnknownNumberAreGathered) {
  ModelBuilder model(17);
  model.Input("x", {"N", 3}).Input("at", {}, kInt64);
  model.Node("SplitToSequence", {"x"}, {"parts"}).Node("SequenceAt", {"parts", "at"}, {"r"});
  model.Output("r");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.Ops(), HasSubstr("ten.gather"));
  EXPECT_EQ(result.ResultType(), "tensor<1x3xf32>");
}

// ---- runs

TEST(Sequences, InputsAndOutputs) {
  ModelBuilder model(17);
  Input(model, "s", SequenceOf(-1)).Node("Identity", {"s"}, {"r"}).Output("r");
  const SequenceValue value{{Numbers({2, 3}), Numbers({}), Numbers({0, 4}), Numbers({2}, 7)}};
  EXPECT_EQ(Result(model, {{}, {{"s", value}}}),
            "2x3xf32: 0 1 2 3 4 5; f32: 0; 0x4xf32:; 2xf32: 7 8");
  EXPECT_EQ(Result(model, {{}, {{"s", {}}}}), "");
}

// Positions that only a run knows, against the same on a list.
TEST(Sequences, PositionsOfARun) {
  const std::vector<Tensor> elements = {Numbers({1}), Numbers({2}, 10), Numbers({3}, 20)};
  const auto list = [&](std::vector<int> order) {
    SequenceValue value;
    for (const int i : order) value.elements.push_back(i < 0 ? Numbers({2}, 90) : elements[i]);
    return Text(value);
  };
  ModelBuilder insert(17), erase(17), at(17);
  for (ModelBuilder* model : {&insert, &erase, &at}) {
    Input(*model, "s", SequenceOf(1)).Input("at", {}, kInt64);
  }
  insert.Input("x", {2}).Node("SequenceInsert", {"s", "x", "at"}, {"r"}, {}, "put").Output("r");
  erase.Node("SequenceErase", {"s", "at"}, {"r"}, {}, "cut").Output("r");
  at.Node("SequenceAt", {"s", "at"}, {"r"}, {}, "get").Output("r");
  const auto run = [&](const ModelBuilder& model, int64_t position) {
    return Result(model,
                  {{{"at", Scalar(position)}, {"x", Numbers({2}, 90)}}, {{"s", {elements}}}});
  };
  EXPECT_EQ(run(insert, 0), list({-1, 0, 1, 2}));
  EXPECT_EQ(run(insert, 3), list({0, 1, 2, -1}));
  EXPECT_EQ(run(insert, -1), list({0, 1, -1, 2}));
  EXPECT_EQ(run(insert, -3), list({-1, 0, 1, 2}));
  EXPECT_EQ(run(erase, 1), list({0, 2}));
  EXPECT_EQ(run(erase, -1), list({0, 1}));
  EXPECT_EQ(run(at, 2), Text(elements[2]));
  EXPECT_EQ(run(at, -3), Text(elements[0]));
  for (const int64_t wrong : {int64_t{4}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(run(insert, wrong), HasSubstr("put")) << wrong;
    EXPECT_THAT(run(erase, wrong), HasSubstr("cut")) << wrong;
    EXPECT_THAT(run(at, wrong), HasSubstr("the position of SequenceAt")) << wrong;
  }
  EXPECT_THAT(Result(erase, {{{"at", Scalar(0)}}, {{"s", {}}}}), HasSubstr("SequenceErase"));
}

// The elements of a sequence that is an input, joined in all ways.
TEST(Sequences, Joined) {
  const auto run = [](int64_t axis, bool new_axis, std::vector<Tensor> elements) {
    ModelBuilder model(17);
    Input(model, "s", SequenceOf(2));
    model.Node("ConcatFromSequence", {"s"}, {"r"},
               {{"axis", axis}, {"new_axis", int64_t{new_axis}}}, "join");
    model.Output("r");
    return Result(model, {{}, {{"s", {std::move(elements)}}}});
  };
  EXPECT_EQ(run(0, false, {Numbers({1, 2}), Numbers({2, 2}, 10)}), "3x2xf32: 0 1 10 11 12 13");
  EXPECT_EQ(run(-1, false, {Numbers({2, 1}), Numbers({2, 2}, 10), Numbers({2, 0})}),
            "2x3xf32: 0 10 11 1 12 13");
  EXPECT_EQ(run(2, true, {Numbers({2, 1}), Numbers({2, 1}, 10)}), "2x1x2xf32: 0 10 1 11");
  EXPECT_EQ(run(0, true, {Numbers({1, 2})}), "1x1x2xf32: 0 1");
  EXPECT_THAT(run(0, false, {Numbers({1, 2}), Numbers({1, 3})}), HasSubstr("join"));
  EXPECT_THAT(run(0, true, {Numbers({1, 2}), Numbers({2, 2})}), HasSubstr("join"));
  EXPECT_THAT(run(0, false, {Numbers({4}), Numbers({1, 1})}), HasSubstr("join"));
  EXPECT_THAT(run(0, false, {Numbers({1}), Numbers({1, 1, 1})}),
              HasSubstr("the rank of an element"));
  EXPECT_THAT(run(0, false, {}), HasSubstr("join"));
}

// What is cut at run time and joined again is the same.
TEST(Sequences, CutAtRunTime) {
  const std::vector<int64_t> shape = {2, 4, 3};
  for (const int64_t axis : {0, 1, 2}) {
    for (const bool vector : {false, true}) {
      ModelBuilder model(17);
      model.Input("x", {"A", "B", "C"});
      vector ? model.Input("sizes", {2}, kInt64) : model.Input("sizes", {}, kInt64);
      model.Node("SplitToSequence", {"x", "sizes"}, {"s"}, {{"axis", axis}}, "split");
      model.Node("ConcatFromSequence", {"s"}, {"r"}, {{"axis", axis}}).Output("r");
      const auto run = [&](std::vector<int64_t> sizes) {
        const int64_t two = 2;
        const Tensor given =
            vector ? Tensor::Copy(DType::kI64, std::span(&two, 1), sizes.data()) : Scalar(sizes[0]);
        return Result(model, {{{"x", Numbers(shape)}, {"sizes", given}}, {}});
      };
      const std::string whole = Text(Numbers(shape));
      EXPECT_EQ(run(vector ? std::vector<int64_t>{1, shape[axis] - 1} : std::vector<int64_t>{2}),
                whole);
      EXPECT_EQ(run(vector ? std::vector<int64_t>{shape[axis], 0} : std::vector<int64_t>{99}),
                whole);
      const std::vector<int64_t> wrong = {vector ? 1 : 0, 1};
      if (!vector || axis != 0) {
        EXPECT_THAT(run(wrong), HasSubstr("split"));
      }
      EXPECT_THAT(run({-1, shape[axis] + 1}), HasSubstr("split"));
    }
  }
  ModelBuilder model(17);
  model.Input("x", {2, 3}).Input("n", {}, kInt64);
  model.Node("SplitToSequence", {"x", "n"}, {"r"}, {{"axis", int64_t{1}}}).Output("r");
  EXPECT_EQ(Result(model, {{{"x", Numbers({2, 3})}, {"n", Scalar(2)}}, {}}),
            "2x2xf32: 0 1 3 4; 2x1xf32: 2 5");
}

// ---- control flow

TEST(Sequences, LoopsThatCollect) {
  ModelBuilder model(17);
  model.Input("n", {}, kInt64).Input("x", {2}).Ints("one", {}, {1});
  model.Node("SequenceEmpty", {}, {"none"});
  const GraphProto body = Graph({MakeNode("Identity", {"c"}, {"c2"}),
                                 MakeNode("Concat", {"v", "v"}, {"v2"}, {{"axis", int64_t{0}}}),
                                 MakeNode("SequenceInsert", {"s", "v"}, {"s2"})},
                                {"i", "c", "v", "s"}, {"c2", "v2", "s2"});
  model.Node("Loop", {"n", "", "x", "none"}, {"last", "all"}, {{"body", body}});
  model.Node("SequenceLength", {"all"}, {"length"}).Node("Sub", {"length", "one"}, {"at"});
  model.Node("SequenceAt", {"all", "at"}, {"r"}).Output("r").Output("last");
  EXPECT_EQ(Result(model, {{{"n", Scalar(2)}, {"x", Numbers({2})}}, {}}), "4xf32: 0 1 0 1");
  EXPECT_EQ(Result(model, {{{"n", Scalar(1)}, {"x", Numbers({2})}}, {}}), "2xf32: 0 1");
}

TEST(Sequences, BranchesOfDifferentLengths) {
  ModelBuilder model(17);
  model.Input("go", {}, TensorProto::BOOL).Input("x", {2}).Input("y", {1, 2});
  model.Node("If", {"go"}, {"r"},
             {{"then_branch", Graph({MakeNode("SequenceConstruct", {"x", "y"}, {"a"})}, {}, {"a"})},
              {"else_branch", Graph({MakeNode("SequenceEmpty", {}, {"b"})}, {}, {"b"})}});
  model.Output("r");
  const auto run = [&](bool go) {
    return Result(model, {{{"go", Flag(go)}, {"x", Numbers({2})}, {"y", Numbers({1, 2}, 5)}}, {}});
  };
  EXPECT_EQ(run(true), "2xf32: 0 1; 1x2xf32: 5 6");
  EXPECT_EQ(run(false), "");
}

TEST(Sequences, Maps) {
  GraphProto body = Graph({MakeNode("Add", {"a", "b"}, {"c"})}, {"a", "b"}, {"c"});
  ModelBuilder of_input(17), of_list(17);
  Input(of_input, "s", SequenceOf(1)).Input("y", {1});
  of_list.Input("p", {1}).Input("q", {2}).Input("y", {1});
  of_list.Node("SequenceConstruct", {"p", "q"}, {"s"});
  for (ModelBuilder* model : {&of_input, &of_list}) {
    model->Node("SequenceMap", {"s", "y"}, {"r"}, {{"body", body}}).Output("r");
  }
  const Inputs given = {{{"y", Numbers({1}, 100)}, {"p", Numbers({1})}, {"q", Numbers({2}, 5)}},
                        {{"s", {{Numbers({1}), Numbers({2}, 5)}}}}};
  EXPECT_EQ(Result(of_input, given), "1xf32: 100; 2xf32: 105 106");
  EXPECT_EQ(Result(of_list, given), "1xf32: 100; 2xf32: 105 106");
}

// ---- optional values

TEST(Sequences, OptionalTensors) {
  ModelBuilder has(18), get(18);
  for (ModelBuilder* model : {&has, &get}) Input(*model, "o", OptionalOf(TensorOf(1)));
  has.Node("OptionalHasElement", {"o"}, {"r"}).Output("r");
  get.Node("OptionalGetElement", {"o"}, {"r"}, {}, "get").Output("r");
  const Inputs some = {{}, {{"o", {{Numbers({2}, 4)}}}}}, none = {{}, {{"o", {}}}};
  EXPECT_EQ(Result(has, some), "i1: 1");
  EXPECT_EQ(Result(has, none), "i1: 0");
  EXPECT_EQ(Result(get, some), "2xf32: 4 5");
  EXPECT_THAT(Result(get, none), HasSubstr("get"));
}

TEST(Sequences, OptionalSequences) {
  ModelBuilder get(18), make(18);
  Input(get, "o", OptionalOf(SequenceOf(1)));
  get.Node("OptionalGetElement", {"o"}, {"r"}, {}, "get").Output("r");
  EXPECT_EQ(Result(get, {{}, {{"o", {{Numbers({2}), Numbers({1})}}}}}), "2xf32: 0 1; 1xf32: 0");
  EXPECT_EQ(Result(get, {{}, {{"o", {}}}}), "");
  EXPECT_THAT(Result(get, {{}, {{"o", {{}, false}}}}), HasSubstr("get"));
  // A branch that gives one and a branch that gives none.
  onnxpb::NodeProto none = MakeNode("Optional", {}, {"b"});
  onnxpb::AttributeProto& type = *none.add_attribute();
  type.set_name("type");
  type.set_type(onnxpb::AttributeProto::TYPE_PROTO);
  *type.mutable_tp() = SequenceOf(1);
  make.Input("go", {}, TensorProto::BOOL).Input("x", {2});
  make.Node("SequenceConstruct", {"x"}, {"s"});
  make.Node("If", {"go"}, {"r"},
            {{"then_branch", Graph({MakeNode("Optional", {"s"}, {"a"})}, {}, {"a"})},
             {"else_branch", Graph({none}, {}, {"b"})}});
  make.Output("r");
  EXPECT_EQ(Result(make, {{{"go", Flag(true)}, {"x", Numbers({2})}}, {}}), "2xf32: 0 1");
  EXPECT_EQ(Result(make, {{{"go", Flag(false)}, {"x", Numbers({2})}}, {}}), "absent");
}

// ---- mistakes

std::string FirstError(const ModelBuilder& model) {
  const Imported result = ImportModel(model);
  return result.status.ok() ? "" : std::string(result.status.message());
}

TEST(Sequences, MistakesAreErrorsOfTheImport) {
  const auto model = [] {
    ModelBuilder builder(17);
    builder.Input("x", {2}).Input("i", {2}, kInt64).Ints("five", {}, {5});
    builder.Node("SequenceConstruct", {"x", "x"}, {"s"});
    return builder;
  };
  EXPECT_THAT(FirstError(model().Node("SequenceConstruct", {"x", "i"}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: SequenceConstruct of f32 and i64 (expected one element type)"));
  EXPECT_THAT(FirstError(model().Node("SequenceInsert", {"s", "i"}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: SequenceInsert puts tensor<2xi64> into a sequence of f32"));
  EXPECT_THAT(FirstError(model().Node("SequenceAt", {"s", "five"}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: the position of SequenceAt is 5 (expected -2 to 1)"));
  EXPECT_THAT(FirstError(model().Node("SequenceAt", {"x", "five"}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: input 0 of SequenceAt must be a sequence"));
  EXPECT_THAT(FirstError(model().Node("SequenceAt", {"s", "x"}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: the position of SequenceAt must be one integer"));
  EXPECT_THAT(FirstError(model()
                             .Node("SequenceEmpty", {}, {"e"})
                             .Node("SequenceErase", {"e"}, {"r"}, {}, "n")
                             .Output("r")),
              HasSubstr("n: the position of SequenceErase is -1 (expected 0 to -1)"));
  EXPECT_THAT(FirstError(model()
                             .Node("SequenceEmpty", {}, {"e"})
                             .Node("ConcatFromSequence", {"e"}, {"r"}, {{"axis", int64_t{0}}}, "n")
                             .Output("r")),
              HasSubstr("n: ConcatFromSequence joins a sequence without elements"));
  EXPECT_THAT(FirstError(model().Node("SplitToSequence", {"x", "five"}, {"p"}).Output("p")), "");
  EXPECT_THAT(FirstError(model().Node("Optional", {}, {"r"}, {}, "n").Output("r")),
              HasSubstr("n: Optional needs an input, or the attribute \"type\""));
}

// A small file must not become a large program.
TEST(Sequences, ManyCopiesAreRefused) {
  ModelBuilder model(17);
  model.Input("x", {2}).Input("at", {}, kInt64);
  model.Node("SequenceConstruct", Names(2000, "x"), {"s"});
  for (int i = 0; i < 200; ++i) {
    model.Node("SequenceAt", {"s", "at"}, {fmt::format("r{}", i)}).Output(fmt::format("r{}", i));
  }
  EXPECT_THAT(FirstError(model), HasSubstr("expand to more than"));
  ModelBuilder chain(17);
  chain.Input("x", {2}).Node("SequenceConstruct", {"x"}, {"s0"});
  for (int i = 0; i < 600; ++i) {
    chain.Node("SequenceInsert", {fmt::format("s{}", i), "x"}, {fmt::format("s{}", i + 1)});
  }
  chain.Node("SequenceLength", {"s600"}, {"r"}).Output("r");
  EXPECT_EQ(Result(chain, {{{"x", Numbers({2})}}, {}}), "i64: 601");
}

// An operator on tensors that reads a sequence stays opaque, and the sequence with it.
TEST(Sequences, WhereTensorsAreExpected) {
  ModelBuilder model(17);
  model.Input("x", {2}).Node("SequenceConstruct", {"x"}, {"s"}).Node("Neg", {"s"}, {"r"}, {}, "n");
  model.Output("r");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "onnx.sequence onnx.Neg");
  EXPECT_TRUE(result.HasDiagnostic("Neg whose input \"s\" has a sequence of f32"));
}

TEST(Sequences, Files) {
  const std::string path = fmt::format("{}sequences_test_{}.pb", testing::TempDir(), getpid());
  const auto element = [](const Tensor& tensor) {
    NamedTensor data;
    data.dtype = tensor.dtype();
    data.dims.assign(tensor.shape().begin(), tensor.shape().end());
    data.blob = Blob::Copy({static_cast<const std::byte*>(tensor.data()), tensor.num_bytes()});
    return data;
  };
  const SequenceData some{"s", {element(Numbers({2, 3})), element(Numbers({}))}};
  for (const bool optional : {false, true}) {
    ASSERT_TRUE(WriteSequenceProto(path, some, optional).ok());
    const absl::StatusOr<SequenceData> read = ReadSequenceProto(path, optional);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->name, "s");
    EXPECT_TRUE(read->present);
    ASSERT_EQ(read->elements.size(), 2u);
    EXPECT_EQ(read->elements[0].dims, some.elements[0].dims);
    EXPECT_EQ(std::memcmp(read->elements[0].blob->bytes().data(),
                          some.elements[0].blob->bytes().data(), 24),
              0);
    // A file that ends too early is an error or a shorter sequence.
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
    const absl::StatusOr<SequenceData> cut = ReadSequenceProto(path, optional);
    EXPECT_FALSE(cut.ok());
  }
  ASSERT_TRUE(WriteSequenceProto(path, {"s", {}, false}, true).ok());
  const absl::StatusOr<SequenceData> none = ReadSequenceProto(path, true);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->present);
  std::filesystem::remove(path);
}

TEST(Sequences, TensorsThatDoNotFit) {
  const SequencePorts ports{.name = "s", .first = 0, .count = 3, .dtype = DType::kF32};
  EXPECT_FALSE(PackSequence(ports, {{Scalar(1)}}).ok());
  EXPECT_FALSE(PackSequence(ports, {{}, false}).ok());
  const absl::StatusOr<std::vector<Tensor>> packed =
      PackSequence(ports, {{Numbers({2, 2}), Numbers({1})}});
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(Text(*UnpackSequence(ports, *packed)), "2x2xf32: 0 1 2 3; 1xf32: 0");
  for (const int64_t wrong : {int64_t{-1}, int64_t{9}, INT64_MAX}) {
    for (int i = 0; i < 6; ++i) {
      std::vector<Tensor> tensors = *packed;
      tensors[0] = Tensor::Copy(DType::kI64, tensors[0].shape(), tensors[0].data());
      tensors[0].as<int64_t>()[i] = wrong;
      EXPECT_FALSE(UnpackSequence(ports, tensors).ok()) << wrong << " at " << i;
    }
  }
  EXPECT_FALSE(UnpackSequence(ports, std::span(*packed).first(2)).ok());
}

}  // namespace
}  // namespace tenon::onnx::sequences_test
