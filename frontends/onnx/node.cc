#include "frontends/onnx/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;

// Lists of sizes and axes that nodes read from constants are short; longer ones are a hostile file.
constexpr int64_t kMaxConstantInts = 65536;

}  // namespace

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

AttributeProto::AttributeType AttributeTypeOf(const AttributeProto& attribute) {
  // Before IR version 2 the type was not stored.
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  if (attribute.tensors_size() > 0) return AttributeProto::TENSORS;
  if (attribute.graphs_size() > 0) return AttributeProto::GRAPHS;
  return AttributeProto::UNDEFINED;
}

Node::Node(GraphImporter& importer, const onnxpb::NodeProto& proto, Scope& scope,
           OpBuilder& builder, const Frame& frame, Location location)
    : importer_(importer),
      proto_(proto),
      scope_(scope),
      builder_(builder),
      frame_(frame),
      location_(location),
      name_(NodeName(proto)),
      outputs_(proto.output_size()) {
  if (auto it = frame.opsets.find(std::string(DomainOf(proto.domain())));
      it != frame.opsets.end()) {
    version_ = it->second;
  }
}

absl::Status Node::Unsupported(std::string_view what, std::string_view expected) const {
  const bool named = what.starts_with(op_type());
  return Opaque(
      fmt::format("{}{}{} is not supported", named ? "" : op_type(), named ? "" : " with ", what),
      expected);
}

absl::Status Node::Opaque(std::string_view sentence, std::string_view expected) const {
  return absl::UnimplementedError(fmt::format("{} (expected {})", sentence, expected));
}

absl::Status Node::ResolveInputs(Scope& scope) {
  inputs_.reserve(proto_.input_size());
  for (const std::string& name : proto_.input()) {
    Value value;
    if (!name.empty()) {
      TENON_ASSIGN_OR_RETURN(value, importer_.Lookup(scope, name));
      if (!value) return Error(fmt::format("input \"{}\" is not defined here", name));
    }
    inputs_.push_back(value);
  }
  while (!inputs_.empty() && !inputs_.back()) inputs_.pop_back();
  return absl::OkStatus();
}

absl::Status Node::CheckInputs(int min, int max) const {
  for (int i = 0; i < min; ++i) {
    if (!input(i)) {
      return Error(fmt::format("{} needs {} inputs, input {} is missing", op_type(), min, i));
    }
  }
  if (num_inputs() > max) {
    return Error(fmt::format("{} takes at most {} inputs in opset {}, got {}", op_type(), max,
                             version_, num_inputs()));
  }
  return absl::OkStatus();
}

Attribute Node::Constant(int i) const {
  const core::ConstantOp constant = DefinedBy<core::ConstantOp>(input(i));
  if (!constant) return Attribute();
  importer_.NoteRead(*constant.op());
  return constant.value();
}

absl::StatusOr<std::optional<std::vector<int64_t>>> Node::ConstantInts(int i) const {
  const Type type = input(i).type();
  const Attribute elements = Constant(i);
  const int64_t count = elements ? type.num_elements() : 0;
  if (!IsInt(type.dtype()) || type.rank() > 1 || count < 0 || count > kMaxConstantInts) {
    return Error(fmt::format("input {} of {} must be a short vector of integers, got {}", i,
                             op_type(), type.text()));
  }
  if (!elements) {
    const auto found = importer_.shape_data().FindConstants(input(i));
    if (!found) return std::nullopt;
    return std::vector<int64_t>(found->begin(), found->end());
  }
  std::vector<int64_t> values(count);
  for (int64_t k = 0; k < count; ++k) values[k] = elements.ElementAsInt(k);
  return values;
}

absl::StatusOr<std::optional<std::vector<DimExpr>>> Node::Extents(int i) const {
  TENON_ASSIGN_OR_RETURN(const auto constants, ConstantInts(i));
  std::vector<DimExpr> extents;
  if (constants) {
    for (int64_t value : *constants) extents.push_back(Dim(value));
    return extents;
  }
  const ShapeElements* found = importer_.shape_data().FindKnown(input(i));
  if (found == nullptr) return std::nullopt;
  for (DimExpr e : *found) {
    if (!e.is_constant() && !DimExpr::ProvablyLessEqual(Dim(0), e)) return std::nullopt;
    extents.push_back(e);
  }
  return extents;
}

absl::StatusOr<std::optional<double>> Node::ConstantScalar(int i) const {
  const Attribute elements = Constant(i);
  if (!elements) return std::nullopt;
  if (elements.type().num_elements() != 1) {
    return Error(fmt::format("input {} of {} must be one element, got {}", i, op_type(),
                             elements.type().text()));
  }
  return elements.ElementAsDouble(0);
}

const AttributeProto* Node::Find(std::string_view name) const {
  read_.emplace(name);
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto it = frame_.attributes.find(attribute.ref_attr_name());
    return it == frame_.attributes.end() ? nullptr : it->second;
  }
  return nullptr;
}

const AttributeProto* Node::Typed(std::string_view name, AttributeProto::AttributeType type,
                                  absl::Status& status) const {
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr) return nullptr;
  const AttributeProto::AttributeType found = AttributeTypeOf(*attribute);
  // An empty list without a type.
  if (found == type || (found == AttributeProto::UNDEFINED && type >= AttributeProto::FLOATS)) {
    return attribute;
  }
  status = Error(fmt::format("attribute \"{}\" of {} must be {}, got {}", name, op_type(),
                             AttributeProto::AttributeType_Name(type),
                             AttributeProto::AttributeType_Name(found)));
  return nullptr;
}

absl::StatusOr<int64_t> Node::Int(std::string_view name, int64_t default_value) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::INT, status);
  if (!status.ok()) return status;
  return attribute != nullptr ? attribute->i() : default_value;
}

absl::StatusOr<bool> Node::Flag(std::string_view name, bool default_value) const {
  TENON_ASSIGN_OR_RETURN(const int64_t value, Int(name, default_value ? 1 : 0));
  return value != 0;
}

absl::StatusOr<float> Node::Float(std::string_view name, float default_value) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::FLOAT, status);
  if (!status.ok()) return status;
  return attribute != nullptr ? attribute->f() : default_value;
}

absl::StatusOr<std::string> Node::Str(std::string_view name, std::string_view default_value) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::STRING, status);
  if (!status.ok()) return status;
  return attribute != nullptr ? attribute->s() : std::string(default_value);
}

absl::StatusOr<std::optional<std::vector<int64_t>>> Node::Ints(std::string_view name) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::INTS, status);
  if (!status.ok()) return status;
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

absl::StatusOr<std::optional<std::vector<float>>> Node::Floats(std::string_view name) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::FLOATS, status);
  if (!status.ok()) return status;
  if (attribute == nullptr) return std::nullopt;
  return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

absl::StatusOr<const onnxpb::GraphProto*> Node::Graph(std::string_view name) const {
  absl::Status status;
  const AttributeProto* attribute = Typed(name, AttributeProto::GRAPH, status);
  if (!status.ok()) return status;
  if (attribute == nullptr) return Error(fmt::format("{} needs its graph \"{}\"", op_type(), name));
  return &attribute->g();
}

absl::StatusOr<std::vector<Value>> Node::ImportGraph(const onnxpb::GraphProto& graph,
                                                     std::span<const Value> inputs,
                                                     OpBuilder& builder) {
  return importer_.ImportSubgraph(graph, location_, scope_, frame_, inputs, builder);
}

absl::StatusOr<int64_t> Node::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    return Error(fmt::format("axis {} of {} is outside of [{}, {})", axis, op_type(), -rank, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<std::vector<int64_t>> Node::Axes(std::vector<int64_t> axes, int64_t rank) const {
  for (int64_t& axis : axes) {
    TENON_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return Error(fmt::format("{} names an axis twice", op_type()));
  }
  return axes;
}

std::vector<std::string> Node::UnreadAttributes() const {
  std::vector<std::string> names;
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (read_.find(attribute.name()) == read_.end()) names.push_back(attribute.name());
  }
  return names;
}

bool Node::IsOutputUsed(int i) const {
  return i < num_outputs() && !proto_.output(i).empty() && scope_.used.contains(proto_.output(i));
}

std::optional<int64_t> Node::DeclaredRank(int i) const {
  if (i >= num_outputs()) return std::nullopt;
  const auto declared = scope_.declared.find(proto_.output(i));
  if (declared == scope_.declared.end()) return std::nullopt;
  const onnxpb::TypeProto& type = *declared->second;
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  return type.tensor_type().shape().dim_size();
}

absl::Status Node::Return(absl::StatusOr<Value> value) {
  if (!value.ok()) return value.status();
  if (outputs_.empty()) return Error(fmt::format("{} needs an output", op_type()));
  outputs_[0] = *value;
  return absl::OkStatus();
}

absl::Status Node::OnlyOutputsBefore(int first, std::string_view what) const {
  for (int i = first; i < num_outputs(); ++i) {
    if (IsOutputUsed(i))
      return Unsupported(fmt::format("{} in use", what), "a node that leaves it out");
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Node::MakeConstant(Attribute elements) {
  return Make<core::ConstantOp>(core::ConstantOp::Attrs{.value = elements});
}

absl::StatusOr<Value> Node::MakeScalar(DType dtype, double value) {
  std::byte bytes[8] = {};
  StoreFromDouble(dtype, value, bytes);
  const Type type = Type::Tensor(context(), dtype, std::span<const int64_t>());
  return MakeConstant(Attribute::Elements(context(), type, std::span(bytes, SizeOf(dtype))));
}

}  // namespace tenon::onnx
