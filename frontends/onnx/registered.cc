// Nodes of domains whose operations a host has registered: `Op` of domain `acme` is `acme.Op`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/adapters.h"
#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

// An attribute of the node in the kind that the definition asks for; null if the node has none.
absl::StatusOr<Attribute> ReadAs(const Node& node, const AttrDef& def) {
  Context& context = node.context();
  if (node.Find(def.name) == nullptr) return Attribute();
  switch (def.type) {
    case AttrType::kBool: {
      TENON_ASSIGN_OR_RETURN(const bool value, node.Flag(def.name, false));
      return Attribute::Bool(context, value);
    }
    case AttrType::kI64: {
      TENON_ASSIGN_OR_RETURN(const int64_t value, node.Int(def.name, 0));
      return Attribute::I64(context, value);
    }
    case AttrType::kF32:
    case AttrType::kF64: {
      TENON_ASSIGN_OR_RETURN(const float value, node.Float(def.name, 0));
      return Attribute::Float(context, value,
                              def.type == AttrType::kF32 ? DType::kF32 : DType::kF64);
    }
    case AttrType::kStr:
    case AttrType::kEnum: {
      TENON_ASSIGN_OR_RETURN(const std::string value, node.Str(def.name, ""));
      return Attribute::Str(context, value);
    }
    case AttrType::kI64s: {
      TENON_ASSIGN_OR_RETURN(const auto values, node.Ints(def.name));
      return Attribute::I64s(context, *values);
    }
    case AttrType::kF32s: {
      TENON_ASSIGN_OR_RETURN(const auto values, node.Floats(def.name));
      return Attribute::F32s(context, *values);
    }
    case AttrType::kDims: {
      TENON_ASSIGN_OR_RETURN(const auto values, node.Ints(def.name));
      std::vector<DimExpr> dims;
      for (const int64_t value : *values) dims.push_back(node.Dim(value));
      return Attribute::Dims(context, dims);
    }
    default:
      return node.Error(
          fmt::format("attribute \"{}\" of {} cannot be read from a model (expected a number, text "
                      "or a list of numbers)",
                      def.name, node.op_type()));
  }
}

// A misspelt name would leave the definition's default in place unnoticed.
absl::Status CheckAttributeNames(const Node& node, const OpInfo& info) {
  std::vector<std::string> names;
  for (size_t i = 0; i < info.def().attrs.size(); ++i) {
    if (static_cast<int>(i) != info.segment_slot()) names.push_back(info.def().attrs[i].name);
  }
  for (const onnxpb::AttributeProto& attribute : node.proto().attribute()) {
    if (std::find(names.begin(), names.end(), attribute.name()) != names.end()) continue;
    return node.Error(
        fmt::format("{} has no attribute \"{}\" (expected {})", node.op_type(), attribute.name(),
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return absl::OkStatus();
}

// The node's inputs by operand group: a variadic group takes all that is left.
absl::Status CollectOperands(const Node& node, const OpDef& def, std::vector<Value>& operands,
                             std::vector<int64_t>& segments) {
  int next = 0;
  for (const OperandDef& group : def.operands) {
    const int end = group.arity == Arity::kVariadic ? node.num_inputs() : next + 1;
    const size_t before = operands.size();
    for (; next < end; ++next) {
      const Value input = node.input(next);
      if (input) {
        operands.push_back(input);
      } else if (group.arity != Arity::kOptional) {
        return node.Error(
            fmt::format("input {} ('{}') of {} is missing", next, group.name, node.op_type()));
      }
    }
    segments.push_back(static_cast<int64_t>(operands.size() - before));
  }
  if (next >= node.num_inputs()) return absl::OkStatus();
  return node.Error(fmt::format("{} has {} inputs (expected {} at most)", node.op_type(),
                                node.num_inputs(), def.operands.size()));
}

}  // namespace

absl::Status ImportRegistered(Node& node, const OpInfo& info) {
  const OpDef& def = info.def();
  if (def.infer == nullptr)
    return node.Error(fmt::format("operation {} has no shape function", def.name));
  TENON_RETURN_IF_ERROR(CheckAttributeNames(node, info));
  std::vector<Value> operands;
  std::vector<int64_t> segments;
  TENON_RETURN_IF_ERROR(CollectOperands(node, def, operands, segments));
  std::vector<Attribute> slots(def.attrs.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (static_cast<int>(i) == info.segment_slot()) {
      slots[i] = Attribute::Ints(node.context(), DType::kI32, segments);
      continue;
    }
    TENON_ASSIGN_OR_RETURN(slots[i], ReadAs(node, def.attrs[i]));
    if (!slots[i] && def.attrs[i].required) {
      return node.Error(
          fmt::format("attribute \"{}\" of {} is missing", def.attrs[i].name, node.op_type()));
    }
  }
  TENON_ASSIGN_OR_RETURN(Operation * op,
                         node.builder().CreateInferred(info, node.location(), operands, slots));
  node.importer().Register(op);
  const int results = static_cast<int>(op->num_results());
  for (int i = 0; i < std::min(node.num_outputs(), results); ++i)
    node.SetOutput(i, op->result(static_cast<unsigned>(i)));
  return absl::OkStatus();
}

}  // namespace tenon::onnx
