// Broken and hostile models: an error that names the place, never a crash.
#include <gtest/gtest.h>

#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

ModelBuilder AddModel() {
  ModelBuilder model(17);
  model.Input("x", {2, 3}).Floats("w", {3}, {1, 2, 3});
  model.Node("Add", {"x", "w"}, {"out"}, {}, "add").Output("out");
  return model;
}

std::string FirstErrorOf(const Imported& result) {
  for (const std::string& text : result.diagnostics) {
    if (text.find("error: ") != std::string::npos) return text;
  }
  return result.status.ok() ? "no error" : "an error that was not reported";
}

TEST(Malformed, MissingAndEmptyFiles) {
  EXPECT_NE(FirstErrorOf(ImportFile("/no/such/model.onnx")).find("/no/such/model.onnx: error: "),
            std::string::npos);
  EXPECT_FALSE(ImportFile(TENON_SOURCE_DIR).status.ok());
  EXPECT_NE(FirstErrorOf(ImportBytes("")).find("the model has no graph"), std::string::npos);
  EXPECT_FALSE(ImportBytes("this is not a model").status.ok());
}

TEST(Malformed, Truncated) {
  const std::string bytes = AddModel().Serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Imported result = ImportBytes(bytes.substr(0, size));
    EXPECT_NE(FirstErrorOf(result), "an error that was not reported");
  }
  EXPECT_NE(FirstErrorOf(ImportBytes(bytes.substr(0, bytes.size() / 2))).find("truncated"),
            std::string::npos);
}

TEST(Malformed, OpsetsOfTwoVersions) {
  for (const int64_t second : {13, 14}) {
    ModelBuilder model(13);
    model.Input("x", {2}).Node("Relu", {"x"}, {"y"}).Output("y");
    model.model().add_opset_import()->set_version(second);
    const Imported result = ImportModel(model);
    EXPECT_EQ(result.status.ok(), second == 13);
    EXPECT_EQ(result.HasDiagnostic("imports the opset \"\" as version 13 and as 14"), second != 13);
  }
}

TEST(Malformed, NoOpset) {
  ModelBuilder model = AddModel();
  model.model().clear_opset_import();
  EXPECT_NE(FirstErrorOf(ImportModel(model)).find("imports no opset"), std::string::npos);
}

TEST(Malformed, Tensors) {
  struct Case {
    std::vector<int64_t> dims;
    const char* message;
  };
  for (const Case& c :
       {Case{{-3}, "has the dimension -3"}, Case{{4}, "has 12 bytes, its dimensions need 16"},
        Case{{2}, "has 12 bytes, its dimensions need 8"},
        Case{{int64_t{1} << 40, int64_t{1} << 40}, "product overflows"},
        Case{{INT64_MAX}, "product overflows"}}) {
    ModelBuilder model = AddModel();
    model.graph().mutable_initializer(0)->mutable_dims()->Assign(c.dims.begin(), c.dims.end());
    const std::string error = FirstErrorOf(ImportModel(model));
    EXPECT_NE(error.find(c.message), std::string::npos) << error;
    EXPECT_NE(error.find("tensor \"w\""), std::string::npos) << error;
  }
  ModelBuilder rank = AddModel();
  for (int i = 0; i < 2000; ++i) rank.graph().mutable_initializer(0)->add_dims(1);
  EXPECT_NE(FirstErrorOf(ImportModel(rank)).find("dimensions (expected at most 256)"),
            std::string::npos);
}

TEST(Malformed, MoreElementsThan64BitsCount) {
  ModelBuilder model(17);
  model.Input("x", {1 << 30, 1 << 30, 1 << 30});
  model.Node("Neg", {"x"}, {"out"}, {}, "neg").Output("out");
  const std::string error = FirstErrorOf(ImportModel(model));
  EXPECT_NE(error.find("\"x\" is declared with more elements than 64 bits can count"),
            std::string::npos)
      << error;
}

TEST(Malformed, WrongFieldForTheType) {
  ModelBuilder model = AddModel();
  TensorProto* tensor = model.graph().mutable_initializer(0);
  tensor->clear_raw_data();
  for (int i = 0; i < 3; ++i) tensor->add_int64_data(i);
  EXPECT_NE(
      FirstErrorOf(ImportModel(model)).find("tensor \"w\" has 0 elements, its dimensions need 3"),
      std::string::npos);
}

TEST(Malformed, WrongTypesNameTheNode) {
  ModelBuilder model(17);
  model.Input("x", {2}).Input("i", {2}, TensorProto::INT64);
  model.Node("Add", {"x", "i"}, {"out"}, {}, "mixed").Output("out");
  // The verifier's, or the shape function's: the node's name is in it.
  EXPECT_NE(FirstErrorOf(ImportModel(model)).find("mixed"), std::string::npos);
  ModelBuilder shapes(17);
  shapes.Input("x", {2}).Input("y", {3});
  shapes.Node("Add", {"x", "y"}, {"out"}, {}, "unfit").Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(shapes)).find("unfit: error: "), std::string::npos);
}

TEST(Malformed, RanksThatAnAdapterReliesOn) {
  ModelBuilder lengths(24);
  lengths.Input("q", {1, 2, 4, 8}).Input("n", {}, TensorProto::INT64);
  lengths.Node("Attention", {"q", "q", "q", "", "", "", "n"}, {"out"}, {}, "scalar").Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(lengths)).find("scalar: error: Attention needs a vector"),
            std::string::npos);
  ModelBuilder triangle(17);
  triangle.Input("x", {4}).Node("Trilu", {"x"}, {"out"}, {}, "vector").Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(triangle)).find("vector: error: "), std::string::npos);
}

TEST(Malformed, ForgedSlicesAreDropped) {
  // A file that contains the importer's own field.
  ModelBuilder model = AddModel();
  TensorProto* tensor = model.graph().mutable_initializer(0);
  tensor->clear_raw_data();
  tensor->mutable_raw_slice()->set_offset(1000000);
  tensor->mutable_raw_slice()->set_length(12);
  EXPECT_NE(FirstErrorOf(ImportModel(model)).find("has 0 elements"), std::string::npos);
}

TEST(Malformed, DeepNesting) {
  onnxpb::GraphProto graph;
  *graph.add_node() = MakeNode("Identity", {"x"}, {"r"});
  graph.add_output()->set_name("r");
  const onnxpb::GraphProto leaf = graph;
  for (int i = 0; i < 60; ++i) {
    onnxpb::GraphProto outer;
    *outer.add_node() =
        MakeNode("If", {"c"}, {"r"}, {{"then_branch", graph}, {"else_branch", leaf}});
    outer.add_output()->set_name("r");
    graph = outer;
    if (i == 20) {
      ModelBuilder shallow(17);
      shallow.Input("x", {2}).Input("c", {}, TensorProto::BOOL);
      shallow.Node("If", {"c"}, {"out"}, {{"then_branch", graph}, {"else_branch", leaf}});
      shallow.Output("out");
      EXPECT_TRUE(ImportModel(shallow).status.ok());
    }
  }
  ModelBuilder model(17);
  model.Input("x", {2}).Input("c", {}, TensorProto::BOOL);
  model.Node("If", {"c"}, {"out"}, {{"then_branch", graph}}).Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(model)).find("nested more than"), std::string::npos);
}

TEST(Malformed, InputsWithoutTypeOrName) {
  ModelBuilder model(17);
  model.graph().add_input()->set_name("x");
  model.Node("Relu", {"x"}, {"out"}).Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(model)).find("input \"x\" has no type"), std::string::npos);
  ModelBuilder twice(17);
  twice.Input("x", {2}).Input("x", {2}).Node("Relu", {"x"}, {"out"}).Output("out");
  EXPECT_NE(FirstErrorOf(ImportModel(twice)).find("two inputs are called \"x\""),
            std::string::npos);
}

TEST(Malformed, NegativeDimensionsOfInputsAreUnknown) {
  ModelBuilder model(17);
  model.Input("x", {-1, 2}).Node("Relu", {"x"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x2xf32, ["x.d0", ""]>)");
}

}  // namespace
}  // namespace tenon::onnx
