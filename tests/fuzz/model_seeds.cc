#include "tests/fuzz/model_seeds.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "tests/onnx/model_builder.h"

namespace tenon::fuzz {
namespace {

using onnx::IntTensor;
using onnx::ModelBuilder;
using onnx::NamedValues;
using onnx::Names;

std::vector<ModelSeed> ExportedModels() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<ModelSeed> seeds;
  for (const std::filesystem::path& folder : folders) {
    std::ifstream in(folder / "model.onnx", std::ios::binary);
    ModelSeed seed{folder.filename().string(), {}};
    for (char& c : seed.name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    seed.bytes.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

struct NodeSeed {
  const char* op_type;
  Names inputs;
  NamedValues attributes;
  Names outputs = {"out"};
};

// Of the values that NodeModel declares.
std::vector<NodeSeed> Nodes() {
  return {
      {"Add", {"x", "row"}, {}},
      {"ArgMax", {"x"}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}},
      {"AveragePool", {"image"}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}},
      {"BatchNormalization", {"image", "two", "two", "two", "two"}, {}},
      {"Cast", {"x"}, {{"to", int64_t{onnxpb::TensorProto::INT64}}}},
      {"Clip", {"x", "low"}, {}},
      {"Concat", {"x", "y"}, {{"axis", int64_t{1}}}},
      {"Conv", {"image", "filter"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}},
      {"ConvTranspose", {"image", "filter"}, {{"strides", std::vector<int64_t>{2, 2}}}},
      {"CumSum", {"x", "one"}, {}},
      {"Einsum", {"x", "y"}, {{"equation", std::string("bij,bkj->bik")}}},
      {"Expand", {"row", "sizes"}, {}},
      {"Gather", {"x", "i"}, {{"axis", int64_t{2}}}},
      {"GatherND", {"x", "pair"}, {}},
      {"Gemm", {"square", "square"}, {{"transB", int64_t{1}}, {"alpha", 0.5f}}},
      {"LayerNormalization", {"x", "row"}, {}},
      {"LSTM", {"x", "lstm_w", "lstm_r"}, {{"hidden_size", int64_t{2}}}, {"out", "h", "c"}},
      {"MatMul", {"x", "square"}, {}},
      {"MaxPool", {"image"}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}},
      {"OneHot", {"i", "four", "values"}, {}},
      {"Pad", {"square", "padding"}, {}},
      {"Range", {"zero", "four", "one"}, {}},
      {"ReduceMean", {"x"}, {{"axes", std::vector<int64_t>{1, 2}}}},
      {"Reshape", {"x", "shape"}, {}},
      {"Resize", {"image", "", "scales"}, {{"mode", std::string("linear")}}},
      {"ScatterND", {"square", "pair", "rows"}, {}},
      {"Slice", {"square", "begin", "end"}, {}},
      {"Softmax", {"x"}, {{"axis", int64_t{1}}}},
      {"Split", {"x", "halves"}, {{"axis", int64_t{2}}}, {"out", "rest"}},
      {"StringConcat", {"words", "words"}, {}},
      {"StringNormalizer", {"words"}, {{"case_change_action", std::string("UPPER")}}},
      {"StringSplit", {"words"}, {{"delimiter", std::string("a")}}, {"out", "parts"}},
      {"Tile", {"square", "begin"}, {}},
      {"TopK", {"x", "two_i"}, {}, {"out", "places"}},
      {"Transpose", {"x"}, {{"perm", std::vector<int64_t>{2, 0, 1}}}},
      {"Trilu", {"square"}, {}},
      {"Unsqueeze", {"x", "begin"}, {}},
      {"Where", {"flags", "x", "y"}, {}},
  };
}

ModelSeed NodeModel(const NodeSeed& seed) {
  ModelBuilder model(17);
  model.Input("x", {"N", 3, 4}).Input("y", {"N", 3, 4}).Input("square", {4, 4});
  model.Input("image", {1, 2, 6, 6}).Input("flags", {3, 4}, onnxpb::TensorProto::BOOL);
  model.Input("i", {2}, onnxpb::TensorProto::INT64)
      .Input("words", {"N"}, onnxpb::TensorProto::STRING);
  model.Floats("row", {4}, {1, -2, 3, 0.5}).Floats("two", {2}, {1, 0.25}).Floats("low", {}, {-0.5});
  model.Floats("filter", {2, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1});
  model.Floats("lstm_w", {1, 8, 4}, std::vector<float>(32, 0.1f));
  model.Floats("lstm_r", {1, 8, 2}, std::vector<float>(16, 0.2f));
  model.Floats("values", {2}, {0, 1}).Floats("scales", {4}, {1, 1, 2, 1.5});
  model.Floats("rows", {1}, {9});
  model.Ints("zero", {}, {0}).Ints("one", {}, {1}).Ints("four", {}, {4}).Ints("two_i", {1}, {2});
  model.Ints("sizes", {3}, {2, 3, 4}).Ints("pair", {1, 2}, {0, 2}).Ints("halves", {2}, {1, 3});
  model.Ints("padding", {4}, {1, 0, 0, 2}).Ints("shape", {2}, {-1, 12});
  model.Ints("begin", {2}, {1, 2}).Ints("end", {2}, {3, 4});
  model.Node(seed.op_type, seed.inputs, seed.outputs, seed.attributes, "the_node");
  for (const std::string& output : seed.outputs) model.Output(output);
  // Only what the node reads.
  const auto unread = [&seed](const auto& value) {
    return std::find(seed.inputs.begin(), seed.inputs.end(), value.name()) == seed.inputs.end();
  };
  auto& inputs = *model.graph().mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(), unread), inputs.end());
  auto& constants = *model.graph().mutable_initializer();
  constants.erase(std::remove_if(constants.begin(), constants.end(), unread), constants.end());
  return {std::string("node_") + seed.op_type, model.Serialize()};
}

}  // namespace

std::vector<ModelSeed> ModelSeeds() {
  std::vector<ModelSeed> seeds = ExportedModels();
  for (const NodeSeed& node : Nodes()) seeds.push_back(NodeModel(node));
  return seeds;
}

}  // namespace tenon::fuzz
