// Ops whose inputs, outputs and attributes are those of one of ours: the `onnx:` entries of the
// dialects.
#include "frontends/onnx/ops/one_to_one.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontends/onnx/node.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

absl::StatusOr<Attribute> ReadAttribute(const Node& node, const AttrDef& def) {
  Context& context = node.context();
  switch (def.type) {
    case AttrType::kBool: {
      TENON_ASSIGN_OR_RETURN(const bool value, node.Flag(def.name, false));
      return Attribute::Bool(context, value);
    }
    case AttrType::kI64: {
      TENON_ASSIGN_OR_RETURN(int64_t value, node.Int(def.name, 0));
      if (def.name == "axis") {
        TENON_ASSIGN_OR_RETURN(value, node.Axis(value, node.input(0).type().rank()));
      }
      return Attribute::I64(context, value);
    }
    case AttrType::kF32: {
      TENON_ASSIGN_OR_RETURN(const float value, node.Float(def.name, 0));
      return Attribute::F32(context, value);
    }
    case AttrType::kI64s: {
      TENON_ASSIGN_OR_RETURN(const auto values, node.Ints(def.name));
      return Attribute::I64s(context, *values);
    }
    case AttrType::kStr:
    case AttrType::kEnum: {
      TENON_ASSIGN_OR_RETURN(const std::string value, node.Str(def.name, ""));
      if (def.type == AttrType::kEnum &&
          std::find(def.enums.begin(), def.enums.end(), value) == def.enums.end()) {
        return node.Error(fmt::format("attribute \"{}\" of {} is \"{}\" (expected one of {})",
                                      def.name, node.op_type(), value, fmt::join(def.enums, ", ")));
      }
      return Attribute::Str(context, value);
    }
    default:
      return absl::InternalError(fmt::format("attribute \"{}\" has no ONNX counterpart", def.name));
  }
}

// Before opset 7 the second operand of an elementwise op was broadcast as attributes say: its axes
// are those of the first from `axis` on.
absl::StatusOr<Value> OldBroadcast(Node& node) {
  const Value a = node.input(0), b = node.input(1);
  TENON_ASSIGN_OR_RETURN(const bool broadcast, node.Flag("broadcast", false));
  const int64_t rank = a.type().rank(), own = b.type().rank();
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", rank - own));
  if (!broadcast || own == 0) return b;
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
  if (axis + own > rank)
    return node.Error(
        fmt::format("{} has the axis {} (expected at most {})", node.op_type(), axis, rank - own));
  ten::ReshapeOp::Attrs attrs{.shape = {b.type().dims().begin(), b.type().dims().end()}};
  attrs.shape.resize(rank - axis, node.Dim(1));
  if (axis + own == rank) return b;
  return node.Make<ten::ReshapeOp>(b, attrs);
}

}  // namespace

absl::Status ImportOneToOne(Node& node, std::string_view op_name) {
  const OpInfo* info = node.context().FindOp(op_name);
  TENON_CHECK_MSG(info != nullptr, op_name);
  const OpDef& def = info->def();
  const int arity = static_cast<int>(def.operands.size());
  TENON_RETURN_IF_ERROR(node.CheckInputs(arity, arity));
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a second output"));
  std::vector<Attribute> slots(def.attrs.size());
  for (size_t i = 0; i < def.attrs.size(); ++i) {
    if (node.Find(def.attrs[i].name) == nullptr) {
      if (!def.attrs[i].required) continue;
      return node.Error(
          fmt::format("{} needs the attribute \"{}\"", node.op_type(), def.attrs[i].name));
    }
    TENON_ASSIGN_OR_RETURN(slots[i], ReadAttribute(node, def.attrs[i]));
  }
  std::vector<Value> inputs(node.inputs().begin(), node.inputs().end());
  if (node.version() < 7 && arity == 2 && info->Has(Trait::kElementwise)) {
    TENON_ASSIGN_OR_RETURN(inputs[1], OldBroadcast(node));
  }
  TENON_ASSIGN_OR_RETURN(Operation * op,
                         node.builder().CreateInferred(*info, node.location(), inputs, slots));
  node.importer().Register(op);
  return node.Return(op->result());
}

}  // namespace tenon::onnx
