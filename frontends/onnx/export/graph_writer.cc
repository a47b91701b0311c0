#include "frontends/onnx/export/graph_writer.h"

#include <algorithm>

#include "fmt/format.h"
#include "frontends/onnx/export/local_functions.h"
#include "frontends/onnx/export/schema_versions.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;
using onnxpb::NodeProto;

// Entries of an opaque op that are no attributes of its node (graph_importer.h).
constexpr std::string_view kOwnEntries[] = {kCallee, "domain", "opset", "present", "regions"};

// An attribute of a node that has the name of an entry of ours is written with "_" behind it.
std::string_view AttributeName(std::string_view name) {
  std::string_view bare = name;
  while (bare.ends_with('_')) bare.remove_suffix(1);
  for (const std::string_view own : kOwnEntries) {
    if (bare == own && bare != name) return name.substr(0, name.size() - 1);
  }
  return name;
}

bool IsOwnEntry(std::string_view name) {
  for (const std::string_view own : kOwnEntries) {
    if (name == own) return true;
  }
  return false;
}

// Uniform constants of at least so many bytes are computed by a node instead of written whole.
constexpr int64_t kLeastUniform = int64_t{1} << 24;

bool IsLargeUniform(Attribute value) {
  return value.is_splat() &&
         value.type().num_elements() * static_cast<int64_t>(SizeOf(value.type().dtype())) >=
             kLeastUniform;
}

// The names of arguments or results of a function; `prefix` and a number where there is none.
std::vector<std::string> NamesIn(Attribute attrs, size_t count, std::string_view prefix) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    Attribute name;
    if (attrs && i < attrs.elements().size()) name = attrs.elements()[i].Get("core.name");
    names.push_back(name ? std::string(name.str()) : fmt::format("{}{}", prefix, i));
  }
  return names;
}

// True if a result without uses need not be computed. ONNX says which outputs are optional; of
// those of nodes that the model had, the absent ones have no type.
bool MayBeAbsent(const Operation& op, Type type) {
  for (const std::string_view node :
       {"onnx.GRU", "onnx.LSTM", "onnx.MaxPool", "onnx.RNN", "onnx.Unique"}) {
    if (op.name() == node) return true;
  }
  return op.num_regions() == 0 && !type.is_any_tensor();
}

bool IsTerminator(const Operation& op) {
  return op.name() == "onnx.yield" || op.id() == func::ReturnOp::kId;
}

}  // namespace

absl::Status GraphWriter::Error(const Operation& op, std::string_view reason) const {
  const absl::Status error =
      EmitError(context_, op.location(), fmt::format("{} has no ONNX form: {}", op.name(), reason));
  return absl::UnimplementedError(error.message());
}

std::string GraphWriter::Unique(std::string base) {
  if (base.empty()) base = "value";
  std::string name = base;
  while (!used_.insert(name).second) name = fmt::format("{}_{}", base, ++next_[base]);
  return name;
}

std::string GraphWriter::UniqueNode(std::string base) {
  if (base.empty()) base = "node";
  std::string name = base;
  for (int i = 1; !used_nodes_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

const std::string& GraphWriter::NameOf(Value value) {
  std::string& name = names_[value.impl()];
  if (!name.empty()) return name;
  const Operation* op = value.defining_op();
  if (op == nullptr || op->id() != core::ConstantOp::kId) {
    std::string base = DescribeLocation(context_, value.location());
    if (value.is_result()) {
      base += op->num_results() == 1 ? "_output" : fmt::format("_output_{}", value.result_index());
    }
    return name = Unique(std::move(base));
  }
  const Attribute constant = core::ConstantOp(const_cast<Operation*>(op)).value();
  std::string& shared = constants_[constant.storage()];
  if (shared.empty()) {
    shared = Unique(DescribeLocation(context_, op->location()));
    if (IsLargeUniform(constant)) {
      AddUniform(shared, constant);
    } else {
      initializers_.push_back({shared, constant});
    }
  }
  return names_[value.impl()] = shared;
}

void GraphWriter::AddUniform(const std::string& name, Attribute constant) {
  const Type type = constant.type();
  std::vector<int64_t> extents;
  for (const DimExpr dim : type.dims()) extents.push_back(dim.constant());
  const int64_t rank = static_cast<int64_t>(extents.size()), one = 1;
  const std::string shape = Unique(name + "_shape");
  const Type vector = Type::Tensor(context_, DType::kI64, std::span(&rank, 1));
  initializers_.push_back(
      {shape, Attribute::Elements(context_, vector, std::as_bytes(std::span(extents)))});
  NodeProto& node = uniform_.emplace_back();
  node.set_name(UniqueNode(name));
  node.add_output(name);
  // ConstantOfShape takes bf16 from opset 20 on only.
  if (type.dtype() != DType::kBF16) {
    const Type element = Type::Tensor(context_, type.dtype(), std::span(&one, 1));
    const Attribute value = Attribute::Splat(context_, element, constant.raw_bytes());
    node.set_op_type("ConstantOfShape");
    node.add_input(shape);
    SetAttribute("value", value, *node.add_attribute()).IgnoreError();
    return;
  }
  const std::string scalar = Unique(name + "_value");
  const Type element = Type::Tensor(context_, type.dtype(), std::span<const int64_t>());
  initializers_.push_back({scalar, Attribute::Splat(context_, element, constant.raw_bytes())});
  node.set_op_type("Expand");
  node.add_input(scalar);
  node.add_input(shape);
}

absl::Status GraphWriter::Declare(Value value, const std::string& name,
                                  onnxpb::ValueInfoProto& info) {
  info.set_name(name);
  const std::unique_ptr<onnxpb::TypeProto> type = TypeProtoOf(value.type());
  if (type != nullptr) {
    *info.mutable_type() = *type;
    return absl::OkStatus();
  }
  const absl::Status error =
      EmitError(context_, value.location(),
                fmt::format("the value {} has no ONNX form: its type is {} (expected a tensor)",
                            name, value.type().text()));
  return absl::UnimplementedError(error.message());
}

absl::Status GraphWriter::Write(const Operation& function, GraphProto& graph) {
  const_cast<Operation&>(function).Walk([&](const Operation* op) {
    if (op->info().dialect() != "onnx" || op->info().is_registered()) return;
    const ModelNode node = NodeOf(*op);
    if (node.domain.empty()) return;
    int64_t& opset = domains_[std::string(node.domain)];
    opset = std::max(opset, node.opset.value_or(1));
  });
  const Block& body = function.region().front();
  const std::vector<std::string> inputs =
      NamesIn(function.attr("arg_attrs"), body.num_arguments(), "input_");
  const Operation* ret = body.back();
  const std::vector<std::string> outputs =
      NamesIn(function.attr("res_attrs"), ret->num_operands(), "output_");
  for (const std::string& name : outputs) used_.insert(name);
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    // An input of the name of an output keeps it. It is that output, or the output is a copy: see
    // WriteOutputs.
    names_[body.argument(i).impl()] = inputs[i];
    used_.insert(inputs[i]);
    TENON_RETURN_IF_ERROR(Declare(body.argument(i), inputs[i], *graph.add_input()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value value = ret->operand(static_cast<unsigned>(i));
    const bool of_node = value.is_result() && value.defining_op()->id() != core::ConstantOp::kId;
    if (of_node && !names_.contains(value.impl())) names_[value.impl()] = outputs[i];
  }
  // Initializers have the order of the program, and its names come before those that are made.
  for (const Operation& op : body) {
    if (op.id() == core::ConstantOp::kId && op.result().has_uses()) NameOf(op.result());
  }
  TENON_RETURN_IF_ERROR(WriteNodes(body, graph));
  TENON_RETURN_IF_ERROR(WriteOutputs(body, outputs, graph));
  DescribeValues(body, graph);
  // Uniform constants come before the nodes that read them.
  const int nodes = graph.node_size();
  for (NodeProto& node : uniform_) *graph.add_node() = std::move(node);
  std::rotate(graph.mutable_node()->pointer_begin(), graph.mutable_node()->pointer_begin() + nodes,
              graph.mutable_node()->pointer_end());
  return absl::OkStatus();
}

absl::Status GraphWriter::WriteNodes(const Block& block, GraphProto& graph) {
  for (const Operation& op : block) {
    if (IsTerminator(op) || op.id() == core::ConstantOp::kId) continue;
    TENON_RETURN_IF_ERROR(WriteNode(op, graph));
  }
  return absl::OkStatus();
}

absl::Status GraphWriter::SetOperator(const Operation& op, NodeProto& node) const {
  const ModelNode said = NodeOf(op);
  node.set_op_type(std::string(said.type));
  if (said.domain == kFunctionDomain && op.slot(0).Get(kCallee)) {
    node.set_domain(std::string(kFunctionDomain));
    const auto callee = static_cast<size_t>(op.slot(0).Get(kCallee).int_value());
    if (callee >= callees_.size()) return Error(op, "it calls a function that is not there");
    node.set_op_type(callees_[callee]);
    return absl::OkStatus();
  }
  node.set_domain(std::string(said.domain));
  const bool own = said.domain.empty();
  const int64_t opset = own ? opset_ : domains_.at(node.domain());
  const std::string name = own ? node.op_type() : node.domain() + "." + node.op_type();
  if (!said.opset || MeansTheSame(name, *said.opset, opset)) return absl::OkStatus();
  return Error(
      op, fmt::format("it is that of opset {}, and another one in opset {}{}", *said.opset, opset,
                      own ? " (expected an opset that has it: --onnx-opset)"
                          : fmt::format(" of {}, which other nodes need", said.domain)));
}

absl::Status GraphWriter::WriteNode(const Operation& op, GraphProto& graph) {
  if (op.info().dialect() != "onnx" || op.info().is_registered())
    return Error(op, "no node computes it");
  NodeProto& node = *graph.add_node();
  TENON_RETURN_IF_ERROR(SetOperator(op, node));
  const Attribute entries = op.slot(0);
  const auto entry = [&](std::string_view name) {
    return entries ? entries.Get(name) : Attribute();
  };
  node.set_name(UniqueNode(DescribeLocation(context_, op.location())));
  const Attribute present = entry("present");
  unsigned next = 0;
  if (present) {
    for (const int64_t is_present : present.ints())
      node.add_input(is_present != 0 ? NameOf(op.operand(next++)) : "");
  }
  while (next < op.num_operands()) node.add_input(NameOf(op.operand(next++)));
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const Value result = op.result(i);
    const bool absent = i > 0 && !result.has_uses() && MayBeAbsent(op, result.type());
    node.add_output(absent ? "" : NameOf(result));
  }
  while (node.output_size() > 1 && node.output(node.output_size() - 1).empty())
    node.mutable_output()->RemoveLast();
  if (entries) {
    for (const NamedAttribute& attribute : entries.entries()) {
      const std::string_view name = attribute.name.str();
      if (IsOwnEntry(name)) continue;
      const absl::Status set =
          SetAttribute(AttributeName(name), attribute.value, *node.add_attribute());
      if (!set.ok())
        return Error(op, fmt::format("attribute \"{}\" {}", name, std::string(set.message())));
    }
  }
  return op.num_regions() == 0 ? absl::OkStatus() : WriteRegions(op, entry("regions"), node);
}

absl::Status GraphWriter::WriteRegions(const Operation& op, Attribute names, NodeProto& node) {
  if (!names || names.elements().size() != op.num_regions())
    return Error(op, "its graphs have no names");
  for (unsigned i = 0; i < op.num_regions(); ++i) {
    const std::string name(names.elements()[i].str());
    // Graphs of one name are a list.
    const bool list = (i > 0 && names.elements()[i - 1].str() == name) ||
                      (i + 1 < op.num_regions() && names.elements()[i + 1].str() == name);
    GraphProto* graph = nullptr;
    if (list && i > 0 && names.elements()[i - 1].str() == name) {
      graph = node.mutable_attribute(node.attribute_size() - 1)->add_graphs();
    } else {
      onnxpb::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(list ? onnxpb::AttributeProto::GRAPHS : onnxpb::AttributeProto::GRAPH);
      graph = list ? attribute.add_graphs() : attribute.mutable_g();
    }
    graph->set_name(fmt::format("{}_{}", node.name(), name));
    const Block& block = op.region(i).front();
    for (unsigned argument = 0; argument < block.num_arguments(); ++argument) {
      const Value value = block.argument(argument);
      TENON_RETURN_IF_ERROR(Declare(value, NameOf(value), *graph->add_input()));
    }
    TENON_RETURN_IF_ERROR(WriteNodes(block, *graph));
    TENON_RETURN_IF_ERROR(WriteOutputs(block, {}, *graph));
  }
  return absl::OkStatus();
}

absl::Status GraphWriter::WriteOutputs(const Block& block, const std::vector<std::string>& names,
                                       GraphProto& graph) {
  const Operation* end = block.back();
  std::set<std::string> written;
  for (unsigned i = 0; i < end->num_operands(); ++i) {
    const Value value = end->operand(i);
    const bool of_node = value.is_result() && value.defining_op()->id() != core::ConstantOp::kId &&
                         value.parent_block() == &block;
    std::string name = NameOf(value);
    const bool renamed = !names.empty() && name != names[i];
    // An output is the result of a node of the graph, and of no other output.
    const bool is_input = !names.empty() && !renamed && !value.is_result();
    if ((!of_node && !is_input) || renamed || !written.insert(name).second) {
      NodeProto& copy = *graph.add_node();
      copy.set_op_type("Identity");
      copy.set_name(UniqueNode(name + "_copy"));
      copy.add_input(name);
      name = names.empty() ? Unique(name + "_copy") : names[i];
      copy.add_output(name);
      written.insert(name);
    }
    TENON_RETURN_IF_ERROR(Declare(value, name, *graph.add_output()));
  }
  return absl::OkStatus();
}

void GraphWriter::DescribeValues(const Block& block, GraphProto& graph) {
  std::set<std::string> outputs;
  for (const onnxpb::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  for (const Operation& op : block) {
    if (op.id() == core::ConstantOp::kId) continue;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Value value = op.result(i);
      const auto found = names_.find(value.impl());
      if (found == names_.end() || outputs.contains(found->second)) continue;
      const std::unique_ptr<onnxpb::TypeProto> type = TypeProtoOf(value.type());
      if (type == nullptr) continue;
      onnxpb::ValueInfoProto& info = *graph.add_value_info();
      info.set_name(found->second);
      *info.mutable_type() = *type;
    }
  }
}

}  // namespace tenon::onnx
