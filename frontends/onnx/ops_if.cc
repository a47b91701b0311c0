// If: one of two graphs.
#include <fmt/format.h>

#include <optional>

#include "frontends/onnx/node.h"
#include "ir/core/check.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;

// The condition if it is known; nullopt if only a run will tell.
std::optional<bool> KnownCondition(const Node& node) {
  const Attribute constant = node.Constant(0);
  if (constant) return constant.ElementAsInt(0) != 0;
  const auto found = node.importer().shape_data().FindConstants(node.input(0));
  return found && found->size() == 1 ? std::optional<bool>((*found)[0] != 0) : std::nullopt;
}

// Takes a branch's nodes into the graph around the If.
absl::Status InlineBranch(Node& node, const GraphProto& graph) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                         node.ImportGraph(graph, {}, node.builder()));
  for (int i = 0; i < node.num_outputs(); ++i) {
    node.SetOutput(i, outputs[static_cast<size_t>(i)]);
  }
  return absl::OkStatus();
}

// The types of the results: what both branches agree on.
absl::Status SetResultTypes(Node& node, ctl::IfOp op, std::span<const Value> then_values,
                            std::span<const Value> else_values) {
  for (unsigned i = 0; i < op->num_results(); ++i) {
    const Type a = then_values[i].type(), b = else_values[i].type();
    const Type joined = JoinTypes(a, b);
    if (!joined || !joined.is_tensor()) {
      node.set_branches_differ();
      const std::string& name = node.proto().output(static_cast<int>(i));
      return node.Unsupported(
          fmt::format("branches that give {} and {} for \"{}\"", a.text(), b.text(), name),
          "tensors of one element type and rank, or a graph that does not return the value");
    }
    op->result(i).set_type(joined);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportIf(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value condition = node.input(0);
  const Type type = condition.type();
  if (type.dtype() != DType::kBool || (type.is_static() && type.num_elements() != 1)) {
    return node.Error(fmt::format("the condition of If must be one boolean, got {}", type.text()));
  }
  TENON_ASSIGN_OR_RETURN(const GraphProto* then_graph, node.Graph("then_branch"));
  TENON_ASSIGN_OR_RETURN(const GraphProto* else_graph, node.Graph("else_branch"));
  for (const GraphProto* graph : {then_graph, else_graph}) {
    if (graph->output_size() < node.num_outputs()) {
      return node.Error(fmt::format("graph \"{}\" of If has {} outputs, expected {}", graph->name(),
                                    graph->output_size(), node.num_outputs()));
    }
  }
  if (const std::optional<bool> known = KnownCondition(node)) {
    return InlineBranch(node, *known ? *then_graph : *else_graph);
  }

  const std::vector<Type> unknown(static_cast<size_t>(node.num_outputs()),
                                  Type::Opaque(node.context(), "!onnx.any"));
  TENON_ASSIGN_OR_RETURN(ctl::IfOp op, ctl::IfOp::Create(node.builder(), node.location(), condition,
                                                         std::span<const Type>(unknown)));
  std::vector<Value> values[2];
  const GraphProto* graphs[] = {then_graph, else_graph};
  for (unsigned r = 0; r < 2; ++r) {
    OpBuilder builder = OpBuilder::AtEnd(node.context(), op->region(r).AddBlock());
    TENON_ASSIGN_OR_RETURN(values[r], node.ImportGraph(*graphs[r], {}, builder));
    values[r].resize(unknown.size());
    TENON_RETURN_IF_ERROR(ctl::YieldOp::Create(builder, node.location(), values[r]).status());
  }
  TENON_RETURN_IF_ERROR(SetResultTypes(node, op, values[0], values[1]));
  node.importer().Register(op.op());
  for (int i = 0; i < node.num_outputs(); ++i) {
    node.SetOutput(i, op->result(static_cast<unsigned>(i)));
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
