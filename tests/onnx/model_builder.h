// Writes small ONNX models for tests.
#ifndef TENON_TESTS_ONNX_MODEL_BUILDER_H_
#define TENON_TESTS_ONNX_MODEL_BUILDER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/context/context.h"

namespace tenon::onnx {

using Names = std::vector<std::string>;
using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                                    std::vector<float>, onnxpb::TensorProto, onnxpb::GraphProto>;
using NamedValues = std::vector<std::pair<std::string, AttributeValue>>;

onnxpb::AttributeProto MakeAttribute(const std::string& name, const AttributeValue& value);
// Raw data unless `typed`.
onnxpb::TensorProto FloatTensor(std::string name, std::vector<int64_t> dims,
                                std::vector<float> values);
onnxpb::TensorProto IntTensor(std::string name, std::vector<int64_t> dims,
                              std::vector<int64_t> values);
onnxpb::NodeProto MakeNode(const std::string& op_type, const Names& inputs, const Names& outputs,
                           const NamedValues& attributes = {}, const std::string& name = "");
// A dimension is a number or a name.
using Dim = std::variant<int, std::string>;
onnxpb::ValueInfoProto MakeInfo(const std::string& name, const std::vector<Dim>& dims,
                                int32_t type = onnxpb::TensorProto::FLOAT);

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset);

  ModelBuilder& Input(const std::string& name, const std::vector<Dim>& dims,
                      int32_t type = onnxpb::TensorProto::FLOAT);
  ModelBuilder& Output(const std::string& name);
  ModelBuilder& Floats(const std::string& name, std::vector<int64_t> dims,
                       std::vector<float> values);
  ModelBuilder& Ints(const std::string& name, std::vector<int64_t> dims,
                     std::vector<int64_t> values);
  ModelBuilder& Node(const std::string& op_type, const Names& inputs, const Names& outputs,
                     const NamedValues& attributes = {}, const std::string& name = "");

  onnxpb::ModelProto& model() { return model_; }
  onnxpb::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string Serialize() const { return model_.SerializeAsString(); }

 private:
  onnxpb::ModelProto model_;
};

// An imported model with everything that was said about it.
struct Imported {
  std::unique_ptr<Context> context = std::make_unique<Context>();
  OwnedOp module;  // null on error
  absl::Status status;
  std::vector<std::string> diagnostics;  // as text, in order

  // The body's ops without constants and the return: "ten.add ten.mul".
  std::string Ops() const;
  // All ops of that name in @main.
  std::vector<Operation*> Find(std::string_view name) const;
  // The only op of that name; null (and a test failure) if there are none or several.
  Operation* Only(std::string_view name) const;
  // Type of result i of @main.
  std::string ResultType(int i = 0) const;
  std::string Text() const;
  bool HasDiagnostic(std::string_view part) const;
};

// Operators that ImportBytes and ImportModel have read so far, each as one of ours at least once:
// "Add", "com.microsoft.Attention". Models of files do not count, since not every machine has them.
const std::set<std::string>& ImportedOps();
Imported ImportBytes(const std::string& bytes, const ImportOptions& options = {});
Imported ImportModel(const ModelBuilder& builder);
Imported ImportFile(const std::string& path, const ImportOptions& options = {});

}  // namespace tenon::onnx

#endif  // TENON_TESTS_ONNX_MODEL_BUILDER_H_
