// The inputs and outputs of a graph as arguments and results of a function.
#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "ir/base/check.h"
#include "ir/core/block.h"

namespace tenon::onnx {

using onnxpb::GraphProto;
using onnxpb::NodeProto;
using onnxpb::TensorProto;

absl::StatusOr<std::vector<GraphImporter::Input>> GraphImporter::DeclareInputs(
    const GraphProto& graph, std::vector<Type>& types, std::vector<std::string>& names) {
  std::vector<Input> inputs;
  NameSet weights;
  for (const TensorProto& tensor : graph.initializer()) weights.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) weights.insert(tensor.values().name());
  for (const onnxpb::ValueInfoProto& input : graph.input()) {
    if (input.name().empty()) return Error(file_location_, "an input has no name");
    if (weights.contains(input.name())) {
      // Older files list every initializer here; newer ones those that a caller may replace.
      if (model_.ir_version() >= 4) {
        EmitRemark(context_, Location::Name(context_, input.name()),
                   "the input has a default value and is imported as a constant");
      }
      continue;
    }
    if (!input.has_type()) {
      return Error(file_location_, fmt::format("input \"{}\" has no type", input.name()));
    }
    TENON_RETURN_IF_ERROR(CheckSize(input));
    auto container = ConvertStrings(input.type(), /*binding=*/true);
    if (!container) container = ConvertContainer(input.type());
    if (container) {
      const std::vector<Type> packed = PackedTypes(context_, *container);
      for (const std::string& name : PackedNames(input.name(), *container)) names.push_back(name);
      types.insert(types.end(), packed.begin(), packed.end());
      inputs.push_back({input.name(), container, packed.size()});
      continue;
    }
    const Type type = Convert(input.type(), /*binding=*/true);
    types.push_back(type ? type : Type::Opaque(context_, "!onnx.any"));
    names.push_back(input.name());
    inputs.push_back({input.name(), std::nullopt, 1});
  }
  return inputs;
}

void GraphImporter::SetName(Value value, std::string name) {
  if (value.has_name()) return;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  value.set_name(name);
}

absl::Status GraphImporter::BindInputs(std::span<const Input> inputs, Scope& scope) {
  OpBuilder builder = OpBuilder::AtEnd(context_, scope.block);
  unsigned next = 0;
  for (const Input& input : inputs) {
    std::vector<Value> arguments;
    std::vector<std::string> names = {input.name};
    if (input.container) names = PackedNames(input.name, *input.container);
    for (const std::string& name : names) {
      arguments.push_back(scope.block->argument(next++));
      SetName(arguments.back(), name);
      NameDims(arguments.back(), name);
    }
    const Value value = input.container ? Wrap(builder, Location::Name(context_, input.name),
                                               FromPacked(*input.container, arguments))
                                        : arguments[0];
    if (!scope.values.emplace(input.name, value).second) {
      return Error(file_location_, fmt::format("two inputs are called \"{}\"", input.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> GraphImporter::Results(const GraphProto& graph, Scope& scope,
                                                          OpBuilder& builder,
                                                          std::vector<std::string>& names) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> outputs, Outputs(graph, scope));
  std::vector<Value> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const onnxpb::ValueInfoProto& output = graph.output(static_cast<int>(i));
    const std::optional<Container> container = Unwrap(outputs[i]);
    std::optional<ContainerType> type = ConvertContainer(output.type());
    if (!container && !(type && type->is_optional() && outputs[i].type().is_tensor())) {
      results.push_back(outputs[i]);
      names.push_back(output.name());
      continue;
    }
    if (container && (container->is_strings() || container->is_maps())) type.reset();
    // Whether the value is optional is a matter of the declaration, if there is one.
    if (!type) type = *container;
    NodeProto proto;
    Node node(*this, proto, scope, builder, main_, Location::Name(context_, output.name()));
    SequenceFormula formula(node);
    if (type->is_strings()) {
      const Container ordered = InOrder(formula.formula(), *container);
      results.insert(results.end(), ordered.parts.begin(), ordered.parts.end());
    } else {
      for (const Value part : formula.PackedAs(outputs[i], *type)) results.push_back(part);
    }
    TENON_RETURN_IF_ERROR(formula.status());
    for (std::string& name : PackedNames(output.name(), *type)) names.push_back(std::move(name));
  }
  return results;
}

}  // namespace tenon::onnx
