// Tensors of strings: what becomes of them, and that they run.
#include "frontends/cpp/files/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "frontends/cpp/tenon.h"
#include "frontends/onnx/file/test_data.h"
#include "ir/base/check.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx::strings_test {
namespace {

using onnxpb::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kString = TensorProto::STRING;
using Words = std::vector<std::string>;
using ByName = std::map<std::string, StringTensor>;

// Runs a model, with optimization or without, on tensors of strings.
absl::StatusOr<std::vector<Tensor>> RunModel(const ModelBuilder& model, const ByName& inputs,
                                             bool optimize, std::vector<TensorSpec>* outputs) {
  EXPECT_TRUE(ImportModel(model).status.ok());
  TENON_ASSIGN_OR_RETURN(tenon::Model loaded, LoadFromBytes(model.Serialize(), "case.onnx"));
  TENON_RETURN_IF_ERROR(Optimize(loaded, {.level = optimize ? 2 : 0}));
  TENON_ASSIGN_OR_RETURN(const Program program,
                         Compile(loaded, {.threads = 1, .check_memory = true}));
  std::vector<Tensor> tensors(program.inputs().size());
  for (const StringPorts& ports : FindStrings(program.inputs())) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> packed, PackStrings(inputs.at(ports.name)));
    std::copy(packed.begin(), packed.end(),
              tensors.begin() + static_cast<std::ptrdiff_t>(ports.first));
  }
  outputs->assign(program.outputs().begin(), program.outputs().end());
  return program.Run(tensors);
}

// The strings of the only output, which are the same with optimization and without.
StringTensor StringsOf(const ModelBuilder& model, const ByName& inputs) {
  StringTensor results[2];
  for (const bool optimize : {false, true}) {
    std::vector<TensorSpec> outputs;
    const auto made = RunModel(model, inputs, optimize, &outputs);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!made.ok()) return {};
    EXPECT_EQ(FindStrings(outputs).size(), 1u);
    const absl::StatusOr<StringTensor> strings = UnpackStrings((*made)[0], (*made)[1]);
    EXPECT_TRUE(strings.ok()) << strings.status();
    if (strings.ok()) results[optimize] = *strings;
  }
  EXPECT_EQ(results[0].shape, results[1].shape);
  EXPECT_EQ(results[0].strings, results[1].strings);
  return results[0];
}

std::string ErrorOf(const ModelBuilder& model, const ByName& inputs) {
  std::vector<TensorSpec> outputs;
  return std::string(RunModel(model, inputs, false, &outputs).status().message());
}

TEST(Strings, MoveAsOthersDo) {
  ModelBuilder model(17);
  model.Input("x", {"N"}, kString).Input("y", {2}, kString).Ints("at", {2}, {-1, 0});
  model.Node("Concat", {"x", "y"}, {"all"}, {{"axis", int64_t{0}}})
      .Node("Gather", {"all", "at"}, {"two"})
      .Ints("rows", {2}, {2, 1})
      .Node("Reshape", {"two", "rows"}, {"column"})
      .Node("Concat", {"column", "column"}, {"out"}, {{"axis", int64_t{1}}})
      .Output("out");
  const StringTensor made = StringsOf(model, {{"x", {{1}, {"ä b"}}}, {"y", {{2}, {"", "z"}}}});
  EXPECT_THAT(made.shape, ElementsAre(2, 2));
  EXPECT_THAT(made.strings, ElementsAre("z", "z", "ä b", "ä b"));
  const Imported imported = ImportModel(model);
  EXPECT_EQ(imported.ResultType(0), "tensor<2x2xi64>");
  EXPECT_EQ(imported.Find("ten.gather").size(), 1u);
}

TEST(Strings, ThroughControlFlow) {
  ModelBuilder model(17);
  model.Input("x", {1}, kString);
  ModelBuilder body(17);
  body.Input("i", {}, TensorProto::INT64).Input("again", {}, TensorProto::BOOL);
  body.Input("carried", {1}, kString);
  body.Node("Identity", {"again"}, {"on"}).Output("on");
  body.Node("StringConcat", {"carried", "x"}, {"next"}).Output("next");
  model.Ints("three", {}, {3});
  model.Node("Loop", {"three", "", "x"}, {"out"}, {{"body", body.graph()}}).Output("out");
  EXPECT_THAT(StringsOf(model, {{"x", {{1}, {"ab"}}}}).strings, ElementsAre("abababab"));

  ModelBuilder branches(17), twice(17), joined(17);
  branches.Input("x", {"N"}, kString).Input("w", {1}, kString);
  twice.Node("Concat", {"x", "x"}, {"t"}, {{"axis", int64_t{0}}}).Output("t");
  joined.Node("StringConcat", {"x", "w"}, {"e"}).Output("e");
  branches.Node("Equal", {"w", "word"}, {"same"})
      .Node("If", {"same"}, {"out"},
            {{"then_branch", twice.graph()}, {"else_branch", joined.graph()}})
      .Output("out");
  TensorProto& word = *branches.graph().add_initializer();
  word.set_name("word");
  word.set_data_type(kString);
  word.add_dims(1);
  word.add_string_data("w");
  EXPECT_THAT(StringsOf(branches, {{"x", {{2}, {"a", ""}}}, {"w", {{1}, {"w"}}}}).strings,
              ElementsAre("a", "", "a", ""));
  EXPECT_THAT(StringsOf(branches, {{"x", {{2}, {"a", ""}}}, {"w", {{1}, {"z"}}}}).strings,
              ElementsAre("az", "z"));
}

TEST(Strings, NumbersAndBack) {
  ModelBuilder model(17);
  model.Floats("x", {5}, {1, -0.1f, 1e20f, 1e-5f, 3.14159274f});
  model.Node("Cast", {"x"}, {"out"}, {{"to", int64_t{kString}}}).Output("out");
  EXPECT_THAT(StringsOf(model, {}).strings,
              ElementsAre("1.0", "-0.1", "1e+20", "1e-05", "3.1415927"));
  ModelBuilder back(17);
  back.Input("x", {1}, kString);
  back.Node("Cast", {"x"}, {"y"}, {{"to", int64_t{TensorProto::INT8}}})
      .Node("Cast", {"y"}, {"out"}, {{"to", int64_t{kString}}})
      .Output("out");
  EXPECT_THAT(StringsOf(back, {{"x", {{1}, {" +12 "}}}}).strings, ElementsAre("12"));
  for (const char* wrong : {"", "12x", "1.5", "128", "+-1", "nan"}) {
    EXPECT_THAT(ErrorOf(back, {{"x", {{1}, {wrong}}}}), HasSubstr("(expected a number of type i8)"))
        << wrong;
  }
}

TEST(Strings, SplitAndNormalized) {
  ModelBuilder split(20);
  split.Input("x", {"N"}, kString);
  split.Node("StringSplit", {"x"}, {"out", "counts"}, {{"delimiter", std::string(",")}});
  const StringTensor parts = StringsOf(split.Output("out"), {{"x", {{2}, {"a,b", "c"}}}});
  EXPECT_THAT(parts.shape, ElementsAre(2, 2));
  EXPECT_THAT(parts.strings, ElementsAre("a", "b", "c", ""));

  ModelBuilder normal(17);
  normal.Input("x", {"N"}, kString);
  normal.Node("StringNormalizer", {"x"}, {"out"}, {{"case_change_action", std::string("UPPER")}});
  onnxpb::AttributeProto& words = *normal.graph().mutable_node(0)->add_attribute();
  words.set_name("stopwords");
  words.set_type(onnxpb::AttributeProto::STRINGS);
  words.add_strings("THE");
  normal.Output("out");
  EXPECT_THAT(StringsOf(normal, {{"x", {{3}, {"the", "é", "tree"}}}}).strings,
              ElementsAre("É", "TREE"));
  EXPECT_THAT(StringsOf(normal, {{"x", {{1}, {"the"}}}}).strings, ElementsAre(""));
}

TEST(Strings, ImagesAreDecoded) {
  ModelBuilder model(20);
  model.Input("x", {"n"}, TensorProto::UINT8);
  model.Node("ImageDecoder", {"x"}, {"out"}, {{"pixel_format", std::string("Grayscale")}});
  const Imported made = ImportModel(model.Output("out"));
  EXPECT_EQ(made.Ops(), "image.decode");
  EXPECT_THAT(made.ResultType(), HasSubstr("tensor<?x?x1xui8"));
  ModelBuilder wrong(20);
  wrong.Input("x", {"n"}, TensorProto::UINT8);
  wrong.Node("ImageDecoder", {"x"}, {"out"}, {{"pixel_format", std::string("CMYK")}});
  EXPECT_FALSE(ImportModel(wrong.Output("out")).status.ok());
}

TEST(Strings, WeightsBelongToNgrams) {
  ModelBuilder model(17);
  model.Input("x", {"N"}, kString);
  model.Node("TfIdfVectorizer", {"x"}, {"n"},
             {{"mode", std::string("TFIDF")},
              {"ngram_counts", std::vector<int64_t>{0}},
              {"ngram_indexes", std::vector<int64_t>{1, 0}},
              {"weights", std::vector<float>{10, 100}}});
  onnxpb::AttributeProto& pool = *model.graph().mutable_node(0)->add_attribute();
  pool.set_name("pool_strings");
  pool.set_type(onnxpb::AttributeProto::STRINGS);
  for (const char* word : {"a", "b"}) pool.add_strings(word);
  model.Node("Cast", {"n"}, {"out"}, {{"to", int64_t{kString}}}).Output("out");
  EXPECT_THAT(StringsOf(model, {{"x", {{4}, {"a", "c", "a", "b"}}}}).strings,
              ElementsAre("100.0", "20.0"));
}

TEST(Strings, WhatIsWrong) {
  ModelBuilder mixed(17);
  mixed.Input("x", {2}, kString).Input("i", {2}, TensorProto::INT64);
  mixed.Node("Concat", {"x", "i"}, {"out"}, {{"axis", int64_t{0}}}).Output("out");
  EXPECT_TRUE(ImportModel(mixed).HasDiagnostic("input 1 of Concat must be a tensor of strings"));
  ModelBuilder index(17);
  index.Input("x", {2}, kString).Input("y", {2});
  index.Node("Gather", {"y", "x"}, {"out"}).Output("out");
  EXPECT_TRUE(ImportModel(index).HasDiagnostic("input 1 of Gather must be a tensor of numbers"));
  ModelBuilder added(18);
  added.Input("x", {2}, kString).Ints("at", {1}, {0}).Input("u", {1}, kString);
  added.Node("ScatterElements", {"x", "at", "u"}, {"out"}, {{"reduction", std::string("add")}})
      .Output("out");
  EXPECT_TRUE(ImportModel(added).HasDiagnostic("has the reduction \"add\" (expected \"none\")"));
  ModelBuilder pattern(20);
  pattern.Input("x", {1}, kString);
  pattern.Node("RegexFullMatch", {"x"}, {"out"}, {{"pattern", std::string("(")}}).Output("out");
  EXPECT_THAT(ErrorOf(pattern, {{"x", {{1}, {"a"}}}}), HasSubstr("the pattern '(' is wrong"));
}

TEST(Strings, FilesAndSpans) {
  const std::string path = ::testing::TempDir() + "tenon-strings-" + std::to_string(getpid());
  ASSERT_TRUE(WriteStringTensorProto(path, {"x", {2, 1}, {std::string("a\0b", 3), "ü"}}).ok());
  const absl::StatusOr<StringData> read = ReadStringTensorProto(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "x");
  EXPECT_THAT(read->dims, ElementsAre(2, 1));
  EXPECT_THAT(read->strings, ElementsAre(std::string("a\0b", 3), "ü"));
  std::filesystem::remove(path);
  EXPECT_FALSE(PackStrings({{3}, {"a"}}).ok());
  const int64_t outside = int64_t{7} << 31 | 1;
  const int64_t dims[] = {1};
  const absl::StatusOr<StringTensor> wrong =
      UnpackStrings(Tensor::Copy(DType::kI64, dims, &outside), Tensor::Copy(DType::kU8, dims, "a"));
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("outside of a text of 1 bytes"));
}

TEST(Strings, LabelsOfModels) {
  ModelBuilder model(17);
  onnxpb::OperatorSetIdProto& opset = *model.model().add_opset_import();
  opset.set_domain("ai.onnx.ml");
  opset.set_version(3);
  model.Input("x", {"N"}, kString).Node("CategoryMapper", {"x"}, {"n"}, {}, "map");
  onnxpb::NodeProto& node = *model.graph().mutable_node(0);
  node.set_domain("ai.onnx.ml");
  onnxpb::AttributeProto& words = *node.add_attribute();
  words.set_name("cats_strings");
  words.set_type(onnxpb::AttributeProto::STRINGS);
  for (const char* word : {"a", "b"}) words.add_strings(word);
  onnxpb::AttributeProto& numbers = *node.add_attribute();
  numbers.set_name("cats_int64s");
  numbers.set_type(onnxpb::AttributeProto::INTS);
  for (const int64_t number : {7, 8}) numbers.add_ints(number);
  model.Node("Cast", {"n"}, {"out"}, {{"to", int64_t{kString}}}).Output("out");
  EXPECT_THAT(StringsOf(model, {{"x", {{3}, {"b", "c", "a"}}}}).strings,
              ElementsAre("8", "-1", "7"));
}

}  // namespace
}  // namespace tenon::onnx::strings_test
