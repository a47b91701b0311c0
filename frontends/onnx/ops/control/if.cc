// If: one of two graphs.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "frontends/onnx/ops/control/failing_branch.h"
#include "ir/base/check.h"
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

// For each output its type, if it is a sequence or an optional value.
using Containers = std::vector<std::optional<ContainerType>>;

std::optional<ContainerType> ContainerOf(Value value) {
  const std::optional<Container> container = Unwrap(value);
  return container ? std::optional<ContainerType>(*container) : std::nullopt;
}

absl::StatusOr<Containers> JoinBranches(Node& node, std::span<const Value> then_values,
                                        std::span<const Value> else_values) {
  Containers containers;
  for (size_t i = 0; i < then_values.size(); ++i) {
    std::optional<ContainerType> types[] = {ContainerOf(then_values[i]),
                                            ContainerOf(else_values[i])};
    std::optional<ContainerType>& joined = containers.emplace_back();
    if (!types[0] && !types[1]) continue;
    const Type tensors[] = {then_values[i].type(), else_values[i].type()};
    for (unsigned r = 0; r < 2; ++r) {
      if (!types[r] && tensors[r].is_tensor()) types[r] = OptionalOf(tensors[r]);
    }
    if (types[0] && types[1]) joined = JoinContainers(*types[0], *types[1]);
    if (!joined) {
      const auto text = [&](unsigned r) { return types[r] ? types[r]->text() : tensors[r].text(); };
      return node.Unsupported(fmt::format("branches that give {} and {} for \"{}\"", text(0),
                                          text(1), node.proto().output(static_cast<int>(i))),
                              "the same kind of value in both");
    }
    joined->element = LooseElement(joined->element);
  }
  return containers;
}

// The tensors that a branch yields for its values, and their names.
absl::StatusOr<std::vector<Value>> Tensors(Node& node, OpBuilder& builder,
                                           const Containers& containers,
                                           std::span<const Value> values,
                                           std::vector<std::string>& names) {
  const InsertionScope scope(node, builder);
  SequenceFormula formula(node);
  std::vector<Value> tensors;
  names.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = node.proto().output(static_cast<int>(i));
    if (!containers[i]) {
      tensors.push_back(values[i]);
      names.push_back(name);
      continue;
    }
    for (const Value part : formula.PackedAs(values[i], *containers[i])) tensors.push_back(part);
    for (std::string& part : PackedNames(name, *containers[i])) names.push_back(std::move(part));
  }
  if (!formula.ok()) return formula.status();
  return tensors;
}

// Imports both graphs. One of them may be wrong: a run that takes it fails.
absl::Status FillBranches(Node& node, ctl::IfOp op, std::array<const GraphProto*, 2> graphs,
                          std::span<std::vector<Value>, 2> values) {
  GraphImporter& importer = node.importer();
  const auto count = static_cast<size_t>(node.num_outputs());
  std::array<std::optional<OpBuilder>, 2> builders;
  std::array<std::optional<BranchFailure>, 2> failures;
  for (unsigned r = 0; r < 2; ++r) {
    Block* const block = op->region(r).AddBlock();
    builders[r] = OpBuilder::AtEnd(node.context(), block);
    const auto import = [&]() -> absl::Status {
      TENON_ASSIGN_OR_RETURN(values[r], node.ImportGraph(*graphs[r], {}, *builders[r]));
      return absl::OkStatus();
    };
    TENON_ASSIGN_OR_RETURN(failures[r], TryBranch(importer, *block, import));
    values[r].resize(count);
  }
  for (unsigned r = 0; r < 2; ++r) {
    if (!failures[r]) continue;
    for (size_t i = 0; i < count; ++i) {
      const Value other = values[1 - r][i];
      // Without a tensor to stand for, the error counts.
      if (!other || !other.type().is_tensor()) {
        return importer.Error(failures[r]->location, failures[r]->message);
      }
      builders[r]->SetInsertionPointToEnd(&op->region(r).front());
      TENON_ASSIGN_OR_RETURN(values[r][i],
                             FailInstead(importer, *builders[r], *failures[r], other.type()));
    }
    RemarkFailure(node.context(), node.location(), r == 0 ? "then_branch" : "else_branch",
                  *failures[r]);
  }
  return absl::OkStatus();
}

// The same branches under an op with another number of results.
absl::StatusOr<ctl::IfOp> WithResults(Node& node, ctl::IfOp op, size_t count) {
  const std::vector<Type> unknown(count, Type::Opaque(node.context(), "!onnx.any"));
  TENON_ASSIGN_OR_RETURN(ctl::IfOp made,
                         ctl::IfOp::Create(node.builder(), node.location(), op.cond(),
                                           std::span<const Type>(unknown)));
  for (unsigned r = 0; r < 2; ++r) made->region(r).TakeBody(op->region(r));
  node.importer().Erase(op.op());
  return made;
}

// The types of the results: what both branches agree on.
absl::Status SetResultTypes(Node& node, ctl::IfOp op, std::span<const std::string> names,
                            std::span<const Value> then_values,
                            std::span<const Value> else_values) {
  for (unsigned i = 0; i < op->num_results(); ++i) {
    const Type a = then_values[i].type(), b = else_values[i].type();
    const Type joined = JoinTypes(a, b);
    if (!joined || !joined.is_tensor()) {
      node.set_branches_differ();
      return node.Unsupported(
          fmt::format("branches that give {} and {} for \"{}\"", a.text(), b.text(), names[i]),
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
    if (graph->input_size() > 0) {
      return node.Error(fmt::format("graph \"{}\" has {} inputs, expected 0", graph->name(),
                                    graph->input_size()));
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
  TENON_RETURN_IF_ERROR(FillBranches(node, op, {then_graph, else_graph}, values));
  TENON_ASSIGN_OR_RETURN(const Containers containers, JoinBranches(node, values[0], values[1]));
  std::vector<std::string> names;
  for (unsigned r = 0; r < 2; ++r) {
    OpBuilder builder = OpBuilder::AtEnd(node.context(), &op->region(r).front());
    TENON_ASSIGN_OR_RETURN(values[r], Tensors(node, builder, containers, values[r], names));
    TENON_RETURN_IF_ERROR(ctl::YieldOp::Create(builder, node.location(), values[r]).status());
  }
  if (values[0].size() != unknown.size()) {
    TENON_ASSIGN_OR_RETURN(op, WithResults(node, op, values[0].size()));
  }
  TENON_RETURN_IF_ERROR(SetResultTypes(node, op, names, values[0], values[1]));
  node.importer().Register(op.op());
  unsigned next = 0;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const std::optional<ContainerType>& type = containers[static_cast<size_t>(i)];
    if (!type) {
      node.SetOutput(i, op->result(next++));
      continue;
    }
    std::vector<Value> tensors;
    for (size_t n = PackedTypes(node.context(), *type).size(); n > 0; --n) {
      tensors.push_back(op->result(next++));
    }
    node.SetOutput(i, Wrap(node.builder(), node.location(), FromPacked(*type, tensors)));
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
