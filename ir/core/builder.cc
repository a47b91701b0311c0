#include "ir/core/builder.h"

#include <algorithm>
#include <array>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/verify/op_checks.h"

namespace tenon {

OpBuilder OpBuilder::AtStart(Context& context, Block* block) {
  OpBuilder builder(context);
  builder.SetInsertionPointToStart(block);
  return builder;
}

OpBuilder OpBuilder::AtEnd(Context& context, Block* block) {
  OpBuilder builder(context);
  builder.SetInsertionPointToEnd(block);
  return builder;
}

OpBuilder OpBuilder::Before(Operation* op) {
  OpBuilder builder(op->context());
  builder.SetInsertionPointBefore(op);
  return builder;
}

OpBuilder OpBuilder::After(Operation* op) {
  OpBuilder builder(op->context());
  builder.SetInsertionPointAfter(op);
  return builder;
}

Operation* OpBuilder::Insert(Operation* op) {
  if (Block* here = block()) here->Insert(op, before_);
  if (listener_ != nullptr) listener_->Created(op);
  return op;
}

namespace {

// Segments of an op without optional or variadic operands.
constexpr size_t kMaxSingles = 8;
constexpr std::array<int32_t, kMaxSingles> kOnes = {1, 1, 1, 1, 1, 1, 1, 1};

bool AllSingle(const std::vector<OperandDef>& groups) {
  for (const OperandDef& group : groups) {
    if (group.arity != Arity::kSingle) return false;
  }
  return true;
}

}  // namespace

absl::InlinedVector<Attribute, 6> FillDefaults(const OpInfo& info,
                                               std::span<const Attribute> slots) {
  absl::InlinedVector<Attribute, 6> full(info.num_slots());
  for (int i = 0; i < info.num_slots(); ++i) {
    if (static_cast<size_t>(i) < slots.size()) full[i] = slots[i];
    if (!full[i]) full[i] = info.default_value(i);
  }
  return full;
}

absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Type> operand_types, std::span<const Attribute> slots,
                              ResultTypes& results) {
  if (info.def().infer == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}: result types cannot be inferred", info.name()));
  }
  absl::InlinedVector<int32_t, 6> segments;
  if (!info.OperandSegments(static_cast<int>(operand_types.size()), slots, segments)) {
    return absl::InvalidArgumentError(fmt::format("{}: {} operands do not fit its definition",
                                                  info.name(), operand_types.size()));
  }
  InferContext infer{info.context(), info, operand_types, segments, slots, location};
  TENON_RETURN_IF_ERROR(RunShapeFunction(infer, results));
  for (const Type type : results) {
    if (!type || !type.is_tensor() || type.rank() <= kMaxRank) continue;
    return absl::ResourceExhaustedError(
        fmt::format("{}: a result has {} dimensions (expected at most {})", info.name(),
                    type.rank(), kMaxRank));
  }
  return absl::OkStatus();
}

absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Value> operands, std::span<const Attribute> slots,
                              ResultTypes& results) {
  absl::InlinedVector<Type, 8> types;
  for (Value v : operands) types.push_back(v.type());
  return InferResultTypes(info, location, std::span<const Type>(types), slots, results);
}

namespace {

// The type of operands and result of an elementwise op whose operands, all required, have one type;
// null for all other cases. Then the shape function need not run.
Type UniformType(const OpInfo& info, std::span<const Value> operands) {
  const OpDef& def = info.def();
  if (!info.Has(Trait::kElementwise) || !info.Has(Trait::kSameDtype) || info.num_slots() > 0 ||
      operands.empty() || !operands[0] || operands.size() != def.operands.size() ||
      def.results.size() != 1 || !def.regions.empty()) {
    return Type();
  }
  const Type type = operands[0].type();
  if (!type.is_tensor() || !def.results[0].constraint.Accepts(type)) return Type();
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandDef& group = def.operands[i];
    if (!operands[i] || operands[i].type() != type || group.arity == Arity::kVariadic ||
        !group.constraint.Accepts(type)) {
      return Type();
    }
  }
  return type;
}

}  // namespace

absl::StatusOr<Operation*> OpBuilder::CreateInferred(const OpInfo& info, Location location,
                                                     std::span<const Value> operands,
                                                     std::span<const Attribute> slots) {
  if (const Type type = UniformType(info, operands)) {
    return Insert(Operation::Create(info, location, std::span(&type, 1), operands, {}));
  }
  const std::vector<OperandDef>& groups = info.def().operands;
  absl::InlinedVector<Attribute, 6> filled;
  if (info.num_slots() > 0) {
    filled = FillDefaults(info, slots);
    for (int i = 0; i < info.num_slots(); ++i) {
      const AttrDef& attr = info.def().attrs[i];
      if (!filled[i] && attr.required) {
        return EmitError(*context_, location,
                         fmt::format("{}: attribute '{}' is required", info.name(), attr.name));
      }
      if (!filled[i] || i == info.segment_slot()) continue;
      if (const std::string wrong = CheckAttribute(attr, filled[i]); !wrong.empty()) {
        return EmitError(*context_, location, fmt::format("{}: {}", info.name(), wrong));
      }
    }
  }
  absl::InlinedVector<int32_t, 6> flexible;
  std::span<const int32_t> segments(kOnes.data(), std::min(groups.size(), kMaxSingles));
  if (groups.size() != operands.size() || groups.size() > kMaxSingles || !AllSingle(groups)) {
    if (!info.OperandSegments(static_cast<int>(operands.size()), filled, flexible)) {
      return EmitError(
          *context_, location,
          fmt::format("{}: {} operands do not fit its definition", info.name(), operands.size()));
    }
    segments = flexible;
  }
  absl::InlinedVector<Type, 8> types;
  for (size_t g = 0, i = 0; g < groups.size(); ++g) {
    for (int32_t n = 0; n < segments[g]; ++n, ++i) {
      if (!operands[i]) {
        return EmitError(*context_, location,
                         fmt::format("{}: operand '{}' is null", info.name(), groups[g].name));
      }
      types.push_back(operands[i].type());
      if (!AcceptsType(groups[g].constraint, types.back())) {
        return EmitError(
            *context_, location,
            fmt::format("{}: operand '{}' must be {}, got {}", info.name(), groups[g].name,
                        groups[g].constraint.description, types.back().text()));
      }
    }
  }
  ResultTypes results;
  if (info.def().infer != nullptr) {
    InferContext infer{*context_, info, types, segments, filled, location};
    if (absl::Status status = RunShapeFunction(infer, results); !status.ok()) {
      return EmitError(*context_, location, std::string(status.message()));
    }
  } else if (!info.def().results.empty()) {
    return EmitError(*context_, location,
                     fmt::format("{}: result types cannot be inferred", info.name()));
  }
  return Insert(Operation::Create(info, location, results, operands, filled, {},
                                  static_cast<unsigned>(info.def().regions.size())));
}

OwnedOp CreateModule(Context& context, Location location) {
  const OpInfo* info = context.FindOp("builtin.module");
  TENON_CHECK_MSG(info != nullptr, "dialect builtin is not registered");
  OwnedOp module(Operation::Create(*info, location, {}, {}, {}, {}, 1));
  module->region().AddBlock();
  return module;
}

Operation* CreateFunction(Operation* module, std::string_view name, Type function_type,
                          Location location) {
  Context& context = module->context();
  const OpInfo* info = context.FindOp("func.func");
  TENON_CHECK_MSG(info != nullptr, "dialect func is not registered");
  Operation* func = Operation::Create(*info, location, {}, {}, {}, {}, 1);
  func->SetAttr("sym_name", Attribute::Str(context, name));
  func->SetAttr("function_type", Attribute::TypeAttr(context, function_type));
  Block* entry = func->region().AddBlock();
  for (Type type : function_type.inputs()) entry->AddArgument(type, location);
  module->region().front().Append(func);
  return func;
}

}  // namespace tenon
