#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "frontends/python/bindings/ir/handles.h"
#include "ir/base/suggest.h"

namespace tenon::python {
namespace {

[[noreturn]] void RefuseArgument(std::string_view op, std::string_view message) {
  throw nb::type_error(fmt::format("{}: {}", op, message).c_str());
}

// `in_` in Python is the operand `in`: words of the language, and members of Operation, get a mark.
std::string_view WithoutMark(std::string_view name) {
  return name.size() > 1 && name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

// The position of a group of this name; -1 if there is none.
int Find(const std::vector<OperandDef>& groups, std::string_view name) {
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == name) return static_cast<int>(i);
  return -1;
}

// All names of parts that people write.
std::vector<std::string> NamesOf(const OpDef& def, bool with_results) {
  std::vector<std::string> names;
  for (const OperandDef& operand : def.operands) names.push_back(operand.name);
  for (const AttrDef& attr : def.attrs)
    if (attr.name != "operandSegmentSizes") names.push_back(attr.name);
  if (!with_results) return names;
  for (const OperandDef& result : def.results) names.push_back(result.name);
  names.insert(names.end(), def.regions.begin(), def.regions.end());
  return names;
}

// A Value, or an operation with one result, which stands for that.
PyValue OperandFrom(const OpDef& def, const OperandDef& group, nb::handle value) {
  if (nb::isinstance<PyValue>(value)) return nb::cast<PyValue>(value);
  if (nb::isinstance<PyOperation>(value)) {
    const auto& op = nb::cast<const PyOperation&>(value);
    if (op.get()->num_results() == 1) return HandleOf(op.state(), op.get()->result(0));
    RefuseArgument(def.name,
                   fmt::format("operand '{}' is an operation with {} results (expected one "
                               "of them)",
                               group.name, op.get()->num_results()));
  }
  const std::string type = nb::cast<std::string>(nb::inst_name(value));
  RefuseArgument(
      def.name,
      fmt::format("operand '{}' is a {} (expected a Value; ops.core.constant makes one of "
                  "an array)",
                  group.name, type));
}

std::vector<PyValue> GroupFrom(const OpDef& def, const OperandDef& group, nb::handle value) {
  if (group.arity == Arity::kOptional && value.is_none()) return {};
  const bool list = nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (group.arity != Arity::kVariadic || !list) return {OperandFrom(def, group, value)};
  std::vector<nb::object> given;
  for (const nb::handle each : value) given.push_back(nb::borrow<nb::object>(each));
  std::vector<PyValue> values;
  for (const nb::object& each : given) values.push_back(OperandFrom(def, group, each));
  return values;
}

// Sorts the arguments of a call into operand groups and attributes.
struct Arguments {
  const OpDef& def;
  std::vector<std::optional<std::vector<PyValue>>> groups;
  nb::dict attributes;

  explicit Arguments(const OpDef& of) : def(of), groups(of.operands.size()) {}

  void SetGroup(size_t i, nb::handle value) {
    if (groups[i].has_value())
      RefuseArgument(def.name, fmt::format("operand '{}' is given twice", def.operands[i].name));
    groups[i] = GroupFrom(def, def.operands[i], value);
  }
  void SetNamed(const std::string& key, nb::handle value) {
    for (const std::string_view name : {std::string_view(key), WithoutMark(key)}) {
      if (const int group = Find(def.operands, name); group >= 0) return SetGroup(group, value);
      for (const AttrDef& attr : def.attrs) {
        if (attr.name != name) continue;
        if (!value.is_none()) attributes[attr.name.c_str()] = value;
        return;
      }
    }
    RefuseArgument(def.name, fmt::format("there is no operand or attribute '{}'{}", key,
                                         DidYouMean(key, NamesOf(def, false))));
  }
  // The operands in order; `sizes` gets those of the groups.
  std::vector<PyValue> Operands(std::vector<int64_t>& sizes) const {
    std::vector<PyValue> operands;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!groups[i].has_value() && def.operands[i].arity == Arity::kSingle)
        RefuseArgument(def.name, fmt::format("operand '{}' is missing", def.operands[i].name));
      sizes.push_back(groups[i].has_value() ? static_cast<int64_t>(groups[i]->size()) : 0);
      if (groups[i].has_value())
        operands.insert(operands.end(), groups[i]->begin(), groups[i]->end());
    }
    return operands;
  }
};

int64_t FromStart(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// Negative axes count from the end of the first operand, as in rules. Others stay what they are.
void CountAxesFromStart(const OpDef& def, const std::vector<PyValue>& operands,
                        nb::dict& attributes) {
  if (operands.empty() || !operands[0].get().type().is_tensor()) return;
  const int64_t rank = operands[0].get().type().rank();
  for (const AttrDef& attr : def.attrs) {
    if (!attributes.contains(attr.name.c_str())) continue;
    const nb::object given = attributes[attr.name.c_str()];
    int64_t axis = 0;
    std::vector<int64_t> axes;
    if (attr.name == "axis" && nb::isinstance<nb::int_>(given) && nb::try_cast(given, axis)) {
      attributes["axis"] = FromStart(axis, rank);
    } else if (attr.name == "axes" && nb::try_cast(given, axes) &&
               std::any_of(axes.begin(), axes.end(), [](int64_t each) { return each < 0; })) {
      for (int64_t& each : axes) each = FromStart(each, rank);
      std::sort(axes.begin(), axes.end());
      attributes["axes"] = axes;
    }
  }
}

// What a call returns.
nb::object ResultsOf(const PyOperation& made, const OpDef& def) {
  if (def.results.empty()) return nb::cast(made);
  std::vector<PyValue> values;
  for (unsigned i = 0; i < made.get()->num_results(); ++i)
    values.push_back(HandleOf(made.state(), made.get()->result(i)));
  if (def.results.size() == 1 && def.results[0].arity == Arity::kSingle) return nb::cast(values[0]);
  nb::list results;
  for (const PyValue& value : values) results.append(nb::cast(value));
  return nb::tuple(results);
}

nb::object GroupValue(const StatePtr& state, const std::vector<Value>& values, Arity arity) {
  if (arity != Arity::kVariadic)
    return values.empty() ? nb::none() : HandleOrNone(state, values[0]);
  std::vector<std::optional<PyValue>> handles;
  for (const Value value : values) {
    handles.emplace_back();
    if (value) handles.back() = HandleOf(state, value);
  }
  nb::list list;
  for (const std::optional<PyValue>& handle : handles)
    list.append(handle.has_value() ? nb::cast(*handle) : nb::none());
  return list;
}

// The values of an operand group, as GroupValue has them.
nb::object OperandGroup(const PyOperation& self, unsigned group) {
  const Operation& op = *self.get();
  const OpDef& def = op.info().def();
  absl::InlinedVector<int32_t, 6> sizes;
  if (!op.info().OperandSegments(static_cast<int>(op.num_operands()), op.slots(), sizes)) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{}: its operands do not fit the definition", op.name())));
  }
  unsigned first = 0;
  for (unsigned i = 0; i < group; ++i) first += sizes[i];
  std::vector<Value> values;
  for (int i = 0; i < sizes[group]; ++i) values.push_back(op.operand(first + i));
  return GroupValue(self.state(), values, def.operands[group].arity);
}

// The value of a slot in Python; None for an empty one.
nb::object SlotValue(const PyOperation& self, int slot) {
  const Operation& op = *self.get();
  const Attribute value = op.slot(slot);
  if (op.info().def().attrs[slot].type == AttrType::kUnit)
    return nb::bool_(static_cast<bool>(value));
  return value ? ValueOfAttribute(self.state(), value) : nb::none();
}

// The part of this very name; nothing if there is none.
std::optional<nb::object> FindPart(const PyOperation& self, std::string_view name) {
  const Operation& op = *self.get();
  if (!op.info().is_registered()) return std::nullopt;
  const OpDef& def = op.info().def();
  std::vector<Value> values;
  if (const int group = Find(def.operands, name); group >= 0) return OperandGroup(self, group);
  if (const int slot = op.info().FindSlot(name); slot >= 0) return SlotValue(self, slot);
  if (const int group = Find(def.results, name); group >= 0) {
    // Only the last group is not single.
    const bool single = def.results[group].arity == Arity::kSingle;
    const unsigned end = single ? group + 1 : op.num_results();
    for (unsigned i = group; i < end && i < op.num_results(); ++i) values.push_back(op.result(i));
    return GroupValue(self.state(), values, def.results[group].arity);
  }
  for (unsigned i = 0; i < def.regions.size() && i < op.num_regions(); ++i)
    if (def.regions[i] == name) return nb::cast(PyRegion{self, i});
  return std::nullopt;
}

}  // namespace

nb::object BuildOp(const PyBlock& block, const PyOperation* before, const std::string& name,
                   const nb::tuple& args, const nb::dict& kwargs, nb::object result_types,
                   const std::string& node) {
  const StatePtr state = block.state();
  const OpInfo* info = state->context().FindOp(name);
  if (info == nullptr || !info->is_registered()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{}: the module has no such operation (expected one of Tenon's, or of the "
                    "extension with which the module was made)",
                    name)));
  }
  const OpDef& def = info->def();
  Arguments arguments(def);
  if (args.size() > def.operands.size()) {
    RefuseArgument(def.name,
                   fmt::format("{} operands are given (expected at most {}; attributes have "
                               "names)",
                               args.size(), def.operands.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) arguments.SetGroup(i, args[i]);
  for (const auto [key, value] : kwargs) arguments.SetNamed(nb::cast<std::string>(key), value);
  std::vector<int64_t> sizes;
  NewOp what{def.name,
             arguments.Operands(sizes),
             std::move(arguments.attributes),
             std::move(result_types),
             static_cast<unsigned>(def.regions.size()),
             node};
  CountAxesFromStart(def, what.operands, what.attributes);
  if (info->segment_slot() >= 0) {
    what.attributes["operandSegmentSizes"] =
        nb::cast(PyAttribute{state, Attribute::Ints(state->context(), DType::kI32, sizes)});
  }
  if (what.result_types.is_none() && def.results.empty()) what.result_types = nb::list();
  const PyOperation made = CreateOp(
      state,
      [&]() -> std::pair<Block*, Operation*> {
        if (before == nullptr) return {block.get(), nullptr};
        if (before->get()->block() != block.get())
          Raise(absl::InvalidArgumentError("the insertion point is in another block"));
        return {block.get(), before->get()};
      },
      what);
  return ResultsOf(made, def);
}

nb::list OperandGroupsOf(const PyOperation& self) {
  nb::list groups;
  if (!self.get()->info().is_registered()) return groups;
  const size_t count = self.get()->info().def().operands.size();
  for (unsigned group = 0; group < count; ++group) groups.append(OperandGroup(self, group));
  return groups;
}

nb::dict PropertiesOf(const PyOperation& self) {
  nb::dict values;
  const OpInfo& info = self.get()->info();
  for (int slot = 0; info.is_registered() && slot < info.num_slots(); ++slot) {
    if (slot != info.segment_slot())
      values[TextFrom(info.slot_name(slot).str())] = SlotValue(self, slot);
  }
  return values;
}

nb::object PartOf(const PyOperation& self, const std::string& name) {
  // Python asks for names of its own; those are no parts, also of an operation that is gone.
  if (!name.starts_with("__")) {
    for (const std::string_view each : {std::string_view(name), WithoutMark(name)})
      if (std::optional<nb::object> part = FindPart(self, each); part.has_value()) return *part;
  }
  std::string message = fmt::format("an operation has no '{}'", name);
  if (self.ref->op != nullptr) {
    message = fmt::format("{} has no '{}'{}", self.ref->op->name(), name,
                          DidYouMean(name, NamesOf(self.ref->op->info().def(), true)));
  }
  throw nb::attribute_error(message.c_str());
}

}  // namespace tenon::python
