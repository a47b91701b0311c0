// Operators of the domain ai.onnx.ml.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "frontends/cpp/tenon.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/dialect/ten_ops.h"
#include "tests/onnx/one_node.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;
using onnxpb::TensorProto;
using FloatList = std::vector<float>;
using IntList = std::vector<int64_t>;

// Moves all nodes into the domain.
void AddOpset(ModelBuilder& model, int64_t version) {
  for (onnxpb::NodeProto& node : *model.graph().mutable_node()) node.set_domain("ai.onnx.ml");
  onnxpb::OperatorSetIdProto& opset = *model.model().add_opset_import();
  opset.set_domain("ai.onnx.ml");
  opset.set_version(version);
}

Imported ImportMl(ModelBuilder model, int64_t version = 3) {
  AddOpset(model, version);
  return ImportModel(model);
}

ModelBuilder OfRows(const std::string& op_type, const NamedValues& attributes,
                    const Names& outputs = {"out"}, int32_t type = TensorProto::FLOAT) {
  ModelBuilder model(18);
  model.Input("x", {"N", 3}, type).Node(op_type, {"x"}, outputs, attributes, "the_node");
  for (const std::string& output : outputs) {
    if (!output.empty()) model.Output(output);
  }
  return model;
}

void AddStrings(ModelBuilder& model, const std::string& name, const Names& values) {
  AttributeProto& attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
}

TEST(MlAdapters, Preprocessing) {
  EXPECT_EQ(
      ImportMl(OfRows("Scaler", {{"offset", FloatList{1, 2, 3}}, {"scale", FloatList{2}}})).Ops(),
      "ten.sub ten.mul");
  EXPECT_TRUE(ImportMl(OfRows("Scaler", {{"offset", FloatList{1, 2}}}))
                  .HasDiagnostic("error: offset of Scaler has 2 elements, expected 1 or 3"));
  for (const char* norm : {"MAX", "L1", "L2"}) {
    const Imported made = ImportMl(OfRows("Normalizer", {{"norm", std::string(norm)}}));
    EXPECT_EQ(made.ResultType(), R"(tensor<?x3xf32, ["N", ""]>)") << norm;
  }
  EXPECT_TRUE(ImportMl(OfRows("Normalizer", {{"norm", std::string("L3")}}))
                  .HasDiagnostic("Normalizer has the norm L3 (expected MAX, L1 or L2)"));
  EXPECT_EQ(ImportMl(OfRows("Binarizer", {{"threshold", 0.5f}})).Ops(), "ten.greater ten.cast");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ImportMl(OfRows("Imputer", {{"imputed_value_floats", FloatList{1, 2, 3}},
                                        {"replaced_value_float", nan}}))
                .Ops(),
            "ten.is_nan ten.where");
  const Imported one_hot = ImportMl(
      OfRows("OneHotEncoder", {{"cats_int64s", IntList{4, 5}}}, {"out"}, TensorProto::INT64));
  EXPECT_EQ(one_hot.ResultType(), R"(tensor<?x3x2xf32, ["N", "", ""]>)");
  EXPECT_EQ(ImportMl(OfRows("FeatureVectorizer", {{"inputdimensions", IntList{3}}})).ResultType(),
            R"(tensor<?x3xf32, ["N", ""]>)");

  ModelBuilder picked(18);
  picked.Input("x", {"N", 3}).Input("i", {1, 2}, TensorProto::INT64);
  picked.Node("ArrayFeatureExtractor", {"x", "i"}, {"out"}).Output("out");
  EXPECT_EQ(ImportMl(picked).ResultType(), R"(tensor<?x2xf32, ["N", ""]>)");
}

TEST(MlAdapters, LabelEncoder) {
  const NamedValues numbers = {{"keys_int64s", IntList{1, 2}},
                               {"values_floats", FloatList{0.5, 1.5}}};
  const Imported made = ImportMl(OfRows("LabelEncoder", numbers, {"out"}, TensorProto::INT64));
  EXPECT_EQ(made.ResultType(), R"(tensor<?x3xf32, ["N", ""]>)");
  EXPECT_TRUE(ImportMl(OfRows("LabelEncoder", numbers))
                  .HasDiagnostic("error: LabelEncoder has keys of i64, got tensor<?x3xf32"));
  EXPECT_TRUE(ImportMl(OfRows("LabelEncoder", {{"keys_int64s", IntList{1}},
                                               {"values_floats", FloatList{0.5, 1.5}}}))
                  .HasDiagnostic("error: LabelEncoder has 1 keys and 2 values"));
  ModelBuilder words = OfRows("LabelEncoder", {{"values_floats", FloatList{1}}});
  AddStrings(words, "keys_strings", {"a"});
  EXPECT_TRUE(
      ImportMl(words).HasDiagnostic("error: input 0 of LabelEncoder must be a tensor of "
                                    "strings"));
}

TEST(MlAdapters, LinearModels) {
  const FloatList weights = {1, 2, 3, 4, 5, 6};
  const Imported two = ImportMl(OfRows(
      "LinearRegressor",
      {{"targets", int64_t{2}}, {"coefficients", weights}, {"intercepts", FloatList{1, 2}}}));
  EXPECT_EQ(two.ResultType(), R"(tensor<?x2xf32, ["N", ""]>)");
  EXPECT_EQ(two.Ops(), "ten.matmul ten.add");
  EXPECT_TRUE(ImportMl(OfRows("LinearRegressor", {{"coefficients", weights}}))
                  .HasDiagnostic("error: LinearRegressor has 6 coefficients a result"));

  const NamedValues classifier = {{"coefficients", weights},
                                  {"intercepts", FloatList{1, 2}},
                                  {"post_transform", std::string("SOFTMAX")}};
  NamedValues labelled = classifier;
  labelled.emplace_back("classlabels_ints", IntList{3, 4});
  const Imported labels = ImportMl(OfRows("LinearClassifier", labelled, {"label", "scores"}));
  EXPECT_EQ(labels.ResultType(0), R"(tensor<?xi64, ["N"]>)");
  EXPECT_EQ(labels.ResultType(1), R"(tensor<?x2xf32, ["N", ""]>)");
  ModelBuilder scores = OfRows("LinearClassifier", classifier, {"", "scores"});
  AddStrings(scores, "classlabels_strings", {"a", "b"});
  EXPECT_EQ(ImportMl(scores).Find("nn.softmax").size(), 1u);
  ModelBuilder words = OfRows("LinearClassifier", classifier, {"label", "scores"});
  AddStrings(words, "classlabels_strings", {"a", "b"});
  EXPECT_NE(ImportMl(words).Only("str.pack"), nullptr);

  for (const char* kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    const Imported made = ImportMl(OfRows("SVMRegressor", {{"n_supports", int64_t{2}},
                                                           {"support_vectors", weights},
                                                           {"coefficients", FloatList{1, 2}},
                                                           {"rho", FloatList{0.5}},
                                                           {"kernel_params", FloatList{0.5, 1, 2}},
                                                           {"kernel_type", std::string(kernel)}}));
    EXPECT_EQ(made.ResultType(), R"(tensor<?x1xf32, ["N", ""]>)") << kernel;
  }
}

TEST(MlAdapters, VectorMachines) {
  NamedValues machine = {{"vectors_per_class", IntList{1, 1, 1}},
                         {"support_vectors", FloatList{1, 2, 3, 4, 5, 6, 7, 8, 9}},
                         {"coefficients", FloatList{1, -2, 3, -4, 5, -6}},
                         {"rho", FloatList{1, 2, 3}},
                         {"classlabels_ints", IntList{3, 4, 5}}};
  const Imported three = ImportMl(OfRows("SVMClassifier", machine, {"label", "scores"}));
  EXPECT_EQ(three.ResultType(0), R"(tensor<?xi64, ["N"]>)");
  EXPECT_EQ(three.ResultType(1), R"(tensor<?x3xf32, ["N", ""]>)");
  machine[3].second = FloatList{1, 2};
  EXPECT_TRUE(ImportMl(OfRows("SVMClassifier", machine, {"label", "scores"}))
                  .HasDiagnostic("error: SVMClassifier of 3 classes has vectors_per_class"));
  machine[3].second = FloatList{1, 2, 3};
  machine.emplace_back("prob_a", FloatList{1, 2, 3});
  EXPECT_TRUE(ImportMl(OfRows("SVMClassifier", machine, {"label", "scores"}))
                  .HasDiagnostic("SVMClassifier has 3 prob_a and 0 prob_b (expected 3 of each)"));
}

// The results of a model for four rows.
std::vector<Tensor> RunOnRows(ModelBuilder model, int level) {
  AddOpset(model, 3);
  const std::vector<float> rows = {0.1f,  -0.2f, 0.05f, 0.3f, 0.1f, -0.4f,
                                   -0.2f, 0.02f, 0.1f,  0,    0,    0};
  const int64_t shape[] = {4, 3};
  const Tensor x = Tensor::Copy(DType::kF32, shape, rows.data());
  absl::StatusOr<tenon::Model> loaded = LoadFromBytes(model.Serialize(), "case.onnx");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok() || !Optimize(*loaded, {.level = level}).ok()) return {};
  const absl::StatusOr<Program> program = Compile(*loaded, {.threads = 1, .check_memory = true});
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  absl::StatusOr<std::vector<Tensor>> made = program->Run(std::span(&x, 1));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : std::vector<Tensor>();
}

void ExpectNear(const Tensor& actual, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(actual.numel()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual.as<float>()[i], expected[i], 2e-6) << i;
}

// The expected numbers are those of ONNX Runtime.
TEST(MlAdapters, ProbabilitiesOfVectorMachines) {
  NamedValues machine = {
      {"vectors_per_class", IntList{1, 1, 1}},
      {"support_vectors", FloatList{0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f, 2, 2.25f}},
      {"coefficients", FloatList{1, -2, 3, -4, 5, -6}},
      {"rho", FloatList{0.1f, 0.2f, -0.3f}},
      {"classlabels_ints", IntList{3, 4, 5}},
      {"prob_a", FloatList{-1, -2, -0.5f}},
      {"prob_b", FloatList{0.1f, 0.2f, 0.3f}}};
  for (const int level : {0, 2}) {
    const std::vector<Tensor> three =
        RunOnRows(OfRows("SVMClassifier", machine, {"label", "scores"}), level);
    ASSERT_EQ(three.size(), 2u);
    ExpectNear(three[1], {0.3227771818637848f, 0.28966182470321655f, 0.3875609040260315f,
                          0.4195384383201599f, 0.2820521593093872f, 0.29840943217277527f,
                          0.27174028754234314f, 0.2969454526901245f, 0.43131425976753235f,
                          0.3590148985385895f, 0.28667908906936646f, 0.3543061912059784f});
  }

  machine[0].second = IntList{2, 1};
  machine[2].second = FloatList{1, 2, 3};
  machine[3].second = FloatList{0.1f};
  machine[4].second = IntList{3, 4};
  machine[5].second = FloatList{-1.5f};
  machine[6].second = FloatList{-0.05f};
  machine.emplace_back("post_transform", std::string("SOFTMAX"));
  for (const int level : {0, 2}) {
    const std::vector<Tensor> two =
        RunOnRows(OfRows("SVMClassifier", machine, {"label", "scores"}), level);
    ASSERT_EQ(two.size(), 2u);
    const int64_t* labels = two[0].as<int64_t>();
    EXPECT_EQ(IntList(labels, labels + 4), (IntList{4, 4, 4, 3}));
    ExpectNear(two[1], {0.4272840619087219f, 0.5727159380912781f, 0.35515889525413513f,
                        0.6448411345481873f, 0.4744572341442108f, 0.5255427956581116f,
                        0.5248746871948242f, 0.47512534260749817f});
  }
}

// Maps are the keys, which all have in common, and a row of values for each. Keys are sorted.
TEST(MlAdapters, Maps) {
  const Imported numbers =
      ImportMl(OfRows("ZipMap", {{"classlabels_int64s", IntList{3, 7, 8}}}, {"scores"}));
  EXPECT_EQ(numbers.Ops(), "");
  EXPECT_EQ(numbers.ResultType(0), "tensor<3xi64>");
  EXPECT_EQ(numbers.ResultType(1), R"(tensor<?x3xf32, ["N", ""]>)");

  ModelBuilder words = OfRows("ZipMap", {}, {"scores"});
  AddStrings(words, "classlabels_strings", {"b", "c", "a"});
  const Imported sorted = ImportMl(words);
  EXPECT_EQ(sorted.ResultType(0), "tensor<3xi64>");
  EXPECT_EQ(sorted.ResultType(1), "tensor<3xui8>");
  EXPECT_EQ(sorted.ResultType(2), R"(tensor<?x3xf32, ["N", ""]>)");
  EXPECT_EQ(sorted.Find("ten.gather").size(), 1u);
  for (const int level : {0, 2}) {
    const std::vector<Tensor> maps = RunOnRows(words, level);
    ASSERT_EQ(maps.size(), 3u);
    EXPECT_EQ(std::string(maps[1].as<char>(), 3), "abc");
    ExpectNear(maps[2], {0.05f, 0.1f, -0.2f, -0.4f, 0.3f, 0.1f, 0.1f, -0.2f, 0.02f, 0, 0, 0});
  }

  EXPECT_TRUE(ImportMl(OfRows("ZipMap", {{"classlabels_int64s", IntList{3, 7}}}, {"scores"}))
                  .HasDiagnostic("ZipMap has 2 labels for 3 scores (expected one for each)"));
  EXPECT_TRUE(ImportMl(OfRows("ZipMap", {{"classlabels_int64s", IntList{3, 7, 3}}}, {"scores"}))
                  .HasDiagnostic("ZipMap has the label 3 twice (expected once)"));
}

// Node 0 has two leaves below it; `changes` replace attributes.
Imported ImportTree(const NamedValues& changes, const Names& modes = {"BRANCH_LEQ", "LEAF", "LEAF"},
                    bool classifier = false) {
  const std::string part = classifier ? "class" : "target";
  NamedValues attributes = {
      {"nodes_treeids", IntList{0, 0, 0}},     {"nodes_nodeids", IntList{0, 1, 2}},
      {"nodes_featureids", IntList{2, 0, 0}},  {"nodes_values", FloatList{0.5, 0, 0}},
      {"nodes_truenodeids", IntList{1, 0, 0}}, {"nodes_falsenodeids", IntList{2, 0, 0}},
      {part + "_treeids", IntList{0, 0}},      {part + "_nodeids", IntList{1, 2}},
      {part + "_ids", IntList{0, 0}},          {part + "_weights", FloatList{1, 2}}};
  for (const auto& [name, value] : changes) {
    const auto it = std::find_if(attributes.begin(), attributes.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    if (it != attributes.end()) attributes.erase(it);
    attributes.emplace_back(name, value);
  }
  ModelBuilder model = classifier
                           ? OfRows("TreeEnsembleClassifier", attributes, {"label", "scores"})
                           : OfRows("TreeEnsembleRegressor", attributes);
  AddStrings(model, "nodes_modes", modes);
  return ImportMl(model);
}

TEST(MlAdapters, Trees) {
  EXPECT_EQ(ImportTree({}).ResultType(), R"(tensor<?x1xf32, ["N", ""]>)");
  EXPECT_EQ(ImportTree({}).Find("nn.tree_ensemble").size(), 1u);
  const Imported labels = ImportTree({{"classlabels_int64s", IntList{7, 8}}},
                                     {"BRANCH_GT", "LEAF", "LEAF"}, /*classifier=*/true);
  EXPECT_EQ(labels.ResultType(0), R"(tensor<?xi64, ["N"]>)");
  EXPECT_EQ(labels.ResultType(1), R"(tensor<?x2xf32, ["N", ""]>)");
  for (const char* how : {"SUM", "AVERAGE", "MIN", "MAX"}) {
    EXPECT_TRUE(ImportTree({{"aggregate_function", std::string(how)}}).status.ok()) << how;
  }
}

TEST(MlAdapters, WrongTrees) {
  const struct {
    NamedValues changes;
    const char* message;
  } cases[] = {
      {{{"nodes_treeids", IntList{0, 0}}}, "nodes_treeids of TreeEnsembleRegressor has 2 elements"},
      {{{"nodes_truenodeids", IntList{9, 0, 0}}}, "TreeEnsembleRegressor has no node 9 of tree 0"},
      {{{"nodes_truenodeids", IntList{0, 0, 0}}},
       "node 0 of a tree of TreeEnsembleRegressor is below"},
      {{{"nodes_nodeids", IntList{0, 1, 1}}}, "TreeEnsembleRegressor has node 1 of tree 0 twice"},
      {{{"nodes_featureids", IntList{3, 0, 0}}}, "TreeEnsembleRegressor compares feature 3"},
      {{{"nodes_featureids", IntList{-1, 0, 0}}}, "compares feature -1 (expected 0 or more)"},
      {{{"target_ids", IntList{0, 1}}}, "has the target 1 (expected 0 to 0)"},
      {{{"target_nodeids", IntList{1, 5}}}, "TreeEnsembleRegressor has no node 5 of tree 0"},
      {{{"n_targets", int64_t{0}}}, "(expected 0 to -1)"},
      {{{"base_values", FloatList{1, 2, 3}}},
       "base_values of TreeEnsembleRegressor has 3 elements"},
      {{{"aggregate_function", std::string("MEAN")}}, "has the aggregate_function MEAN"},
      {{{"post_transform", std::string("EXP")}}, "has the post_transform EXP"},
  };
  for (const auto& [changes, message] : cases) {
    const Imported result = ImportTree(changes);
    EXPECT_FALSE(result.status.ok()) << message;
    EXPECT_TRUE(result.HasDiagnostic(message)) << message;
  }
  EXPECT_TRUE(
      ImportTree({}, {"BRANCH_NO", "LEAF", "LEAF"}).HasDiagnostic("has the mode BRANCH_NO"));
  EXPECT_TRUE(ImportTree({}, {}).HasDiagnostic("TreeEnsembleRegressor has no nodes"));
}

TensorProto WithoutName(TensorProto made) {
  made.clear_name();
  return made;
}

// Leaves and branches have numbers of their own; a set of members becomes a chain of branches.
TEST(MlAdapters, TreesWithSets) {
  TensorProto modes;
  modes.set_data_type(TensorProto::UINT8);
  modes.add_dims(2);
  modes.set_raw_data(std::string({6, 0}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NamedValues attributes = {
      {"nodes_modes", modes},
      {"nodes_splits", WithoutName(FloatTensor("", {2}, {0, 1.5}))},
      {"nodes_featureids", IntList{0, 1}},
      {"nodes_truenodeids", IntList{1, 0}},
      {"nodes_trueleafs", IntList{0, 1}},
      {"nodes_falsenodeids", IntList{2, 1}},
      {"nodes_falseleafs", IntList{1, 1}},
      {"membership_values", WithoutName(FloatTensor("", {4}, {1, 2, 3, nan}))},
      {"leaf_targetids", IntList{0, 1, 0}},
      {"leaf_weights", WithoutName(FloatTensor("", {3}, {5, 6, 7}))},
      {"tree_roots", IntList{0}},
      {"n_targets", int64_t{2}}};
  const Imported made = ImportMl(OfRows("TreeEnsemble", attributes), 5);
  EXPECT_EQ(made.ResultType(), R"(tensor<?x2xf32, ["N", ""]>)");
  // Three members, then the branch below.
  EXPECT_EQ(made.Only("nn.tree_ensemble")->operand(1).type().text(), "tensor<4x5xi64>");
}

}  // namespace
}  // namespace tenon::onnx
