#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fmt/format.h"
#include "frontends/python/bindings/ir/handles.h"
#include "ir/core/builder.h"

namespace tenon::python {
namespace {

[[noreturn]] void RefuseOp(const NewOp& what, std::string_view message) {
  Raise(absl::InvalidArgumentError(fmt::format("{}: {}", what.name, message)));
}

const OpInfo& InfoOf(Context& context, const NewOp& what) {
  const OpInfo* info = context.FindOp(what.name);
  if (info != nullptr) return *info;
  const size_t dot = what.name.find('.');
  if (dot == 0 || dot == std::string::npos || dot + 1 == what.name.size())
    RefuseOp(what, "this is no name of an operation (expected one such as ten.add)");
  const std::string dialect = what.name.substr(0, dot);
  if (context.HasDialect(dialect)) RefuseOp(what, "the dialect has no such operation");
  if (!context.IsUnregisteredDialectAllowed(dialect))
    RefuseOp(what, "the dialect is unknown (tenon.load(..., allow_unregistered=True) accepts it)");
  return *context.GetUnregisteredOp(what.name);
}

// The counts that the printer and others rely on, also before anything is verified.
void CheckCounts(const OpInfo& info, const NewOp& what, const OperationState& state,
                 bool with_results) {
  if (state.operands.size() > kMaxOperands || state.result_types.size() > kMaxResults ||
      state.num_regions > kMaxRegions)
    RefuseOp(what, "too many operands, results or regions");
  if (!info.is_registered()) return;
  const OpDef& def = info.def();
  if (!def.successors.empty())
    RefuseOp(what, "operations with successors are made from text alone");
  if (state.num_regions != def.regions.size())
    RefuseOp(what, fmt::format("{} regions (expected {})", state.num_regions, def.regions.size()));
  absl::InlinedVector<int32_t, 6> sizes;
  if (!info.OperandSegments(static_cast<int>(state.operands.size()), state.slots, sizes)) {
    RefuseOp(what, fmt::format("{} operands do not fit the definition (operandSegmentSizes tells "
                               "the sizes of its groups)",
                               state.operands.size()));
  }
  if (!with_results) return;
  size_t least = 0;
  bool any = false;
  for (const OperandDef& result : def.results) {
    if (result.arity == Arity::kSingle) ++least;
    if (result.arity != Arity::kSingle) any = true;
  }
  if (state.result_types.size() < least || (!any && state.result_types.size() != least))
    RefuseOp(what, fmt::format("{} results (expected {})", state.result_types.size(), least));
}

AttrType KindOf(const OpInfo& info, int slot) {
  return info.is_registered() && slot >= 0 ? info.def().attrs[slot].type : AttrType::kAny;
}

}  // namespace

PyOperation CreateOp(const StatePtr& ir, std::function<std::pair<Block*, Operation*>()> place,
                     const NewOp& what) {
  Context& context = ir->context();
  const OpInfo& info = InfoOf(context, what);
  OperationState state;
  state.info = &info;
  if (!what.node.empty()) state.location = Location::Name(context, what.node);
  state.num_regions = what.num_regions;
  state.slots.resize(info.num_slots());
  std::vector<std::pair<std::string, Attribute>> others;
  for (const auto [key, value] : what.attributes) {
    const std::string name = nb::cast<std::string>(key);
    if (name.empty()) RefuseOp(what, "an attribute has a name");
    const int slot = info.is_registered() ? info.FindSlot(name) : -1;
    const Attribute attribute = AttributeFrom(ir, value, KindOf(info, slot));
    if (slot >= 0) {
      state.slots[slot] = attribute;
    } else {
      others.emplace_back(name, attribute);
    }
  }
  if (info.is_registered()) state.slots = FillDefaults(info, state.slots);
  const bool inferred = what.result_types.is_none();
  if (!inferred) {
    if (nb::isinstance<nb::str>(what.result_types) || nb::isinstance<PyType>(what.result_types))
      throw nb::type_error("result_types is a list of types");
    for (const nb::handle type : what.result_types)
      state.result_types.push_back(TypeFrom(ir, type));
  }
  // No code of others from here on: nothing is erased.
  const auto [block, before] = place();
  for (const PyValue& operand : what.operands) {
    CheckSame(operand.state(), ir);
    CheckVisible(operand.get(), block);
    state.operands.push_back(operand.get());
  }
  if (inferred) {
    if (!info.is_registered()) RefuseOp(what, "the types of the results must be given");
    if (!info.def().regions.empty())
      RefuseOp(what, "the types of the results must be given, as it has regions");
    CheckCounts(info, what, state, false);
    OpBuilder builder(context);
    absl::StatusOr<Operation*> op =
        builder.CreateInferred(info, state.location, state.operands, state.slots);
    if (!op.ok()) Raise(op.status(), ir->log->Take());
    for (const auto& [name, attribute] : others) (*op)->SetAttr(name, attribute);
    block->Insert(*op, before);
    return HandleOf(ir, *op);
  }
  CheckCounts(info, what, state, true);
  Operation* op = Operation::Create(state);
  for (const auto& [name, attribute] : others) op->SetAttr(name, attribute);
  block->Insert(op, before);
  return HandleOf(ir, op);
}

}  // namespace tenon::python
