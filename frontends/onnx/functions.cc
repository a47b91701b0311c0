// Functions defined in the model: their calls are replaced by their nodes.
#include <fmt/format.h>

#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/node.h"
#include "ir/base/check.h"

namespace tenon::onnx {

using onnxpb::FunctionProto;

absl::Status GraphImporter::IndexFunctions() {
  for (const FunctionProto& function : model_.functions()) {
    FunctionKey key(DomainOf(function.domain()), function.name(), function.overload());
    if (!functions_.emplace(std::move(key), &function).second) {
      return Error(file_location_, fmt::format("function \"{}\" of domain \"{}\" is defined twice",
                                               function.name(), function.domain()));
    }
  }
  return absl::OkStatus();
}

const FunctionProto* GraphImporter::FindFunction(const onnxpb::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto it =
      functions_.find(FunctionKey(DomainOf(node.domain()), node.op_type(), node.overload()));
  return it == functions_.end() ? nullptr : it->second;
}

absl::Status GraphImporter::Inline(Node& node, const FunctionProto& function, Scope& scope,
                                   OpBuilder& builder, const Frame& frame) {
  for (const Frame* f = &frame; f != nullptr; f = f->caller) {
    if (f->function == &function) {
      return node.Error(fmt::format("function \"{}\" calls itself", function.name()));
    }
  }
  if (frame.depth >= kMaxCallDepth) {
    return node.Error(fmt::format("calls are nested more than {} deep", kMaxCallDepth));
  }
  inlined_nodes_ += function.node_size();
  if (inlined_nodes_ > kMaxInlinedNodes) {
    return node.Error(fmt::format("calls expand to more than {} nodes", kMaxInlinedNodes));
  }
  if (node.num_inputs() > function.input_size() || node.num_outputs() > function.output_size()) {
    return node.Error(fmt::format(
        "function \"{}\" has {} inputs and {} outputs, the call {} and {}", function.name(),
        function.input_size(), function.output_size(), node.num_inputs(), node.num_outputs()));
  }

  Frame callee;
  callee.caller = &frame;
  callee.function = &function;
  callee.call = node.location();
  callee.depth = frame.depth + 1;
  // A function says which opsets it is written for; domains that it leaves out are the model's.
  callee.opsets = main_.opsets;
  for (const auto& opset : function.opset_import()) {
    callee.opsets[std::string(DomainOf(opset.domain()))] = opset.version();
  }
  for (const auto& attribute : function.attribute_proto()) {
    callee.attributes[attribute.name()] = &attribute;
  }
  for (const auto& attribute : node.proto().attribute()) {
    if (const onnxpb::AttributeProto* value = node.Find(attribute.name())) {
      callee.attributes[attribute.name()] = value;
    }
  }

  Scope body;
  body.block = scope.block;
  NameSet absent;
  for (int i = 0; i < function.input_size(); ++i) {
    const std::string& name = function.input(i);
    if (!node.input(i)) {
      absent.insert(name);
    } else if (!body.values.emplace(name, node.input(i)).second) {
      return node.Error(
          fmt::format("function \"{}\" has two inputs \"{}\"", function.name(), name));
    }
  }
  for (const std::string& name : function.output()) body.used.insert(name);
  // The caller knows the results of a function, which may not declare them.
  for (int i = 0; i < node.num_outputs(); ++i) {
    const auto known = scope.declared.find(node.proto().output(i));
    if (known != scope.declared.end()) body.declared.emplace(function.output(i), known->second);
  }
  for (const auto& info : function.value_info()) body.declared.emplace(info.name(), &info.type());
  if (absent.empty()) {
    TENON_RETURN_IF_ERROR(ImportNodes(function.node(), body, builder, callee));
  } else {
    // Nodes that read an absent input read an absent one themselves.
    NodeList nodes = function.node();
    for (onnxpb::NodeProto& inner : nodes) {
      for (std::string& name : *inner.mutable_input()) {
        if (absent.contains(name)) name.clear();
      }
    }
    TENON_RETURN_IF_ERROR(ImportNodes(nodes, body, builder, callee));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    TENON_ASSIGN_OR_RETURN(const Value value, Lookup(body, function.output(i)));
    if (!value && node.IsOutputUsed(i)) {
      return node.Error(fmt::format("function \"{}\" does not define its output \"{}\"",
                                    function.name(), function.output(i)));
    }
    node.SetOutput(i, value);
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
