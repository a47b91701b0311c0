#include "frontends/c/create.h"

#include <vector>

#include "absl/cleanup/cleanup.h"
#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/op_checks.h"

namespace tenon::c {
namespace {

absl::StatusOr<const OpInfo*> FindInfo(Context& context, std::string_view name) {
  if (const OpInfo* info = context.FindOp(name)) return info;
  const size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot + 1 == name.size())
    return Wrong("'{}' is no name of an operation (expected dialect.name)", name);
  const std::string_view dialect = name.substr(0, dot);
  if (!context.HasDialect(dialect) && context.IsUnregisteredDialectAllowed(dialect))
    return context.GetUnregisteredOp(name);
  return absl::NotFoundError(
      context.HasDialect(dialect)
          ? fmt::format("there is no operation '{}'", name)
          : fmt::format("there is no operation '{}' (the context has no dialect '{}')", name,
                        dialect));
}

// What is read of a TenonOperationState.
struct Parts {
  std::vector<Value> operands;
  std::vector<Type> results;
  absl::InlinedVector<Attribute, 6> slots;
  std::vector<NamedAttribute> others;
  std::vector<Block*> successors;
  unsigned num_regions = 0;
};

absl::Status ReadOperands(const TenonOperationState& state, const Context& context, Parts& parts) {
  if (state.num_operands > 0) TENON_RETURN_IF_ERROR(NotNull(state.operands, "operands"));
  if (state.num_operands > kMaxOperands || state.num_result_types > kMaxResults ||
      state.num_successors > kMaxSuccessors || state.num_regions > kMaxRegions)
    return Wrong("more operands, results, successors or regions than an operation can have");
  for (size_t i = 0; i < state.num_operands; ++i) {
    parts.operands.push_back(FromC(state.operands[i]));
    TENON_RETURN_IF_ERROR(Belongs(parts.operands.back(), context, fmt::format("operands[{}]", i)));
  }
  if (state.num_successors > 0) TENON_RETURN_IF_ERROR(NotNull(state.successors, "successors"));
  for (size_t i = 0; i < state.num_successors; ++i) {
    parts.successors.push_back(FromC(state.successors[i]));
    TENON_RETURN_IF_ERROR(NotNull(parts.successors.back(), "successors"));
  }
  return ReadTypes(state.result_types, state.num_result_types, context, "result_types",
                   parts.results);
}

absl::Status ReadAttributes(const TenonOperationState& state, const OpInfo& info, Parts& parts) {
  if (state.num_attributes > 0) TENON_RETURN_IF_ERROR(NotNull(state.attributes, "attributes"));
  parts.slots.resize(static_cast<size_t>(info.num_slots()));
  for (size_t i = 0; i < state.num_attributes; ++i) {
    std::string_view name;
    TENON_RETURN_IF_ERROR(ReadText(state.attributes[i].name, "name", name));
    if (name.empty()) return Wrong("attributes[{}] has no name", i);
    const Attribute value = FromC(state.attributes[i].attribute);
    TENON_RETURN_IF_ERROR(Belongs(value, info.context(), name));
    const Identifier id = info.context().Intern(name);
    const int slot = info.is_registered() ? info.FindSlot(name) : -1;
    bool repeated = slot >= 0 && parts.slots[static_cast<size_t>(slot)];
    for (const NamedAttribute& other : parts.others) repeated |= other.name == id;
    if (repeated) return Wrong("{}: attribute '{}' is given twice", info.name(), name);
    TENON_RETURN_IF_ERROR(CheckSlot(info, name, value));
    if (slot >= 0) {
      parts.slots[static_cast<size_t>(slot)] = value;
    } else {
      parts.others.push_back({id, value});
    }
  }
  return absl::OkStatus();
}

absl::Status ReadRegions(const TenonOperationState& state, const OpInfo& info, Parts& parts) {
  parts.num_regions = static_cast<unsigned>(state.num_regions);
  if (!info.is_registered()) return absl::OkStatus();
  const size_t wanted = info.def().regions.size();
  if (state.num_regions > 0 && state.num_regions != wanted)
    return Wrong("{}: {} regions (expected {})", info.name(), state.num_regions, wanted);
  parts.num_regions = static_cast<unsigned>(wanted);
  return absl::OkStatus();
}

// With the types that are given, which the verifier compares with the definition.
absl::StatusOr<Operation*> CreateAsGiven(const OpInfo& info, Location location, Parts& parts) {
  if (info.is_registered()) {
    parts.slots = FillDefaults(info, parts.slots);
    absl::InlinedVector<int32_t, 6> segments;
    if (!info.OperandSegments(static_cast<int>(parts.operands.size()), parts.slots, segments)) {
      return EmitError(info.context(), location,
                       fmt::format("{}: {} operands do not fit its definition", info.name(),
                                   parts.operands.size()));
    }
  }
  return Operation::Create(info, location, parts.results, parts.operands, parts.slots,
                           parts.successors, parts.num_regions);
}

}  // namespace

absl::Status CheckSlot(const OpInfo& info, std::string_view name, Attribute value) {
  const int slot = info.is_registered() ? info.FindSlot(name) : -1;
  if (slot < 0) return absl::OkStatus();
  const std::string wrong = CheckAttribute(info.def().attrs[static_cast<size_t>(slot)], value);
  return wrong.empty() ? absl::OkStatus() : Wrong("{}: {}", info.name(), wrong);
}

absl::Status CheckPlace(const Operation& op, const Operation* before) {
  TENON_RETURN_IF_ERROR(NotNull(before, "before"));
  if (&op.context() != &before->context()) return Wrong("'before' belongs to another context");
  if (before->block() == nullptr)
    return absl::FailedPreconditionError(fmt::format("{}: is in no block", before->name()));
  if (op.IsAncestorOf(before))
    return Wrong("{}: the place lies inside of the operation", op.name());
  return absl::OkStatus();
}

absl::StatusOr<Operation*> CreateOperation(Context& context, const TenonOperationState& state) {
  std::string_view name;
  TENON_RETURN_IF_ERROR(ReadText(state.name, "name", name));
  TENON_ASSIGN_OR_RETURN(const OpInfo* const info, FindInfo(context, name));
  Parts parts;
  TENON_RETURN_IF_ERROR(ReadOperands(state, context, parts));
  TENON_RETURN_IF_ERROR(ReadAttributes(state, *info, parts));
  TENON_RETURN_IF_ERROR(ReadRegions(state, *info, parts));
  Location location;
  TENON_RETURN_IF_ERROR(ReadLocation(state.location, context, location));
  Operation* made = nullptr;
  if (state.infer_results && !(info->is_registered() && info->def().results.empty())) {
    if (!info->is_registered())
      return Wrong("{}: the result types of an unknown operation cannot be inferred", name);
    if (!parts.results.empty() || !parts.successors.empty())
      return Wrong("{}: result types or successors beside 'infer_results'", name);
    OpBuilder builder(context);
    TENON_ASSIGN_OR_RETURN(made,
                           builder.CreateInferred(*info, location, parts.operands, parts.slots));
  } else {
    TENON_ASSIGN_OR_RETURN(made, CreateAsGiven(*info, location, parts));
  }
  if (!parts.others.empty())
    made->SetDiscardableAttrs(Attribute::Dictionary(context, parts.others));
  return made;
}

}  // namespace tenon::c
