#include "tests/onnx/model_builder.h"

#include <gtest/gtest.h>

#include "ir/core/block.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"

namespace tenon::onnx {

using onnxpb::AttributeProto;
using onnxpb::TensorProto;

AttributeProto MakeAttribute(const std::string& name, const AttributeValue& value) {
  AttributeProto attribute;
  attribute.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    attribute.set_type(AttributeProto::INTS);
    attribute.mutable_ints()->Assign(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    attribute.set_type(AttributeProto::FLOATS);
    attribute.mutable_floats()->Assign(floats->begin(), floats->end());
  } else if (const auto* tensor = std::get_if<TensorProto>(&value)) {
    attribute.set_type(AttributeProto::TENSOR);
    *attribute.mutable_t() = *tensor;
  } else {
    attribute.set_type(AttributeProto::GRAPH);
    *attribute.mutable_g() = std::get<onnxpb::GraphProto>(value);
  }
  return attribute;
}

TensorProto FloatTensor(std::string name, std::vector<int64_t> dims, std::vector<float> values) {
  TensorProto tensor;
  tensor.set_name(std::move(name));
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

TensorProto IntTensor(std::string name, std::vector<int64_t> dims, std::vector<int64_t> values) {
  TensorProto tensor;
  tensor.set_name(std::move(name));
  tensor.set_data_type(TensorProto::INT64);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.mutable_int64_data()->Assign(values.begin(), values.end());
  return tensor;
}

onnxpb::NodeProto MakeNode(const std::string& op_type, const Names& inputs, const Names& outputs,
                           const NamedValues& attributes, const std::string& name) {
  onnxpb::NodeProto node;
  node.set_op_type(op_type);
  if (!name.empty()) node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  for (const auto& [key, value] : attributes) *node.add_attribute() = MakeAttribute(key, value);
  return node;
}

onnxpb::ValueInfoProto MakeInfo(const std::string& name, const std::vector<Dim>& dims,
                                int32_t type) {
  onnxpb::ValueInfoProto info;
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* shape = info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const Dim& dim : dims) {
    if (const auto* value = std::get_if<int>(&dim)) {
      shape->add_dim()->set_dim_value(*value);
    } else if (std::get<std::string>(dim).empty()) {
      shape->add_dim();
    } else {
      shape->add_dim()->set_dim_param(std::get<std::string>(dim));
    }
  }
  return info;
}

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("test");
}

ModelBuilder& ModelBuilder::Input(const std::string& name, const std::vector<Dim>& dims,
                                  int32_t type) {
  *graph().add_input() = MakeInfo(name, dims, type);
  return *this;
}

ModelBuilder& ModelBuilder::Output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

ModelBuilder& ModelBuilder::Floats(const std::string& name, std::vector<int64_t> dims,
                                   std::vector<float> values) {
  *graph().add_initializer() = FloatTensor(name, std::move(dims), std::move(values));
  return *this;
}

ModelBuilder& ModelBuilder::Ints(const std::string& name, std::vector<int64_t> dims,
                                 std::vector<int64_t> values) {
  *graph().add_initializer() = IntTensor(name, std::move(dims), std::move(values));
  return *this;
}

ModelBuilder& ModelBuilder::Node(const std::string& op_type, const Names& inputs,
                                 const Names& outputs, const NamedValues& attributes,
                                 const std::string& name) {
  *graph().add_node() = MakeNode(op_type, inputs, outputs, attributes, name);
  return *this;
}

namespace {

void Prepare(Imported& result) {
  RegisterAllDialects(*result.context);
  result.context->diagnostics().SetHandler([&result](const Diagnostic& diagnostic) {
    result.diagnostics.push_back(FormatDiagnostic(*result.context, diagnostic));
  });
}

std::set<std::string>& MutableImportedOps() {
  static std::set<std::string> ops;
  return ops;
}

void CollectOps(const onnxpb::GraphProto& graph, std::set<std::string>& ops) {
  for (const onnxpb::NodeProto& node : graph.node()) {
    ops.insert(node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type());
    for (const onnxpb::AttributeProto& attribute : node.attribute()) {
      CollectOps(attribute.g(), ops);
      for (const onnxpb::GraphProto& inner : attribute.graphs()) CollectOps(inner, ops);
    }
  }
}

void Finish(Imported& result, absl::StatusOr<OwnedOp> module) {
  result.status = module.status();
  if (module.ok()) result.module = *std::move(module);
  result.context->diagnostics().SetHandler(nullptr);
}

void CountOps(const Imported& result, const std::string& bytes) {
  onnxpb::ModelProto model;
  if (result.module == nullptr || !model.ParseFromString(bytes)) return;
  std::set<std::string> ops;
  CollectOps(model.graph(), ops);
  for (const std::string& op : ops) {
    if (result.Find("onnx." + op).empty()) MutableImportedOps().insert(op);
  }
}

Block& Body(const Imported& result) {
  return result.module->region().front().front()->region().front();
}

}  // namespace

std::string Imported::Ops() const {
  if (module == nullptr) return "error: " + std::string(status.message());
  std::string text;
  for (Operation& op : Body(*this)) {
    if (op.name() == "core.constant" || op.name() == "func.return") continue;
    if (!text.empty()) text += ' ';
    text += op.name();
  }
  return text;
}

std::vector<Operation*> Imported::Find(std::string_view name) const {
  std::vector<Operation*> found;
  if (module == nullptr) return found;
  module->WalkPreOrder([&](Operation* op) {
    if (op->name() == name) found.push_back(op);
    return true;
  });
  return found;
}

Operation* Imported::Only(std::string_view name) const {
  const std::vector<Operation*> found = Find(name);
  EXPECT_EQ(found.size(), 1u) << name << " in " << Ops();
  return found.size() == 1 ? found[0] : nullptr;
}

std::string Imported::ResultType(int i) const {
  if (module == nullptr) return "error: " + std::string(status.message());
  return Body(*this).back()->operand(static_cast<unsigned>(i)).type().text();
}

std::string Imported::Text() const {
  return module == nullptr ? "" : Print(*module, {.elide_resources = true});
}

bool Imported::HasDiagnostic(std::string_view part) const {
  for (const std::string& text : diagnostics) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

const std::set<std::string>& ImportedOps() { return MutableImportedOps(); }

Imported ImportBytes(const std::string& bytes, const ImportOptions& options) {
  Imported result;
  Prepare(result);
  Finish(result,
         ImportOnnxFromBytes(*result.context, std::as_bytes(std::span(bytes)), nullptr, options));
  CountOps(result, bytes);
  return result;
}

Imported ImportModel(const ModelBuilder& builder) { return ImportBytes(builder.Serialize()); }

Imported ImportFile(const std::string& path, const ImportOptions& options) {
  Imported result;
  Prepare(result);
  Finish(result, ImportOnnx(*result.context, path, options));
  return result;
}

}  // namespace tenon::onnx
