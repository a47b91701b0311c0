#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "frontends/python/bindings/ir/handles.h"
#include "ir/core/text/printer.h"

namespace tenon::python {
namespace {

// The options of append, insert_before and insert_after.
NewOp NewOpOf(std::string name, std::vector<PyValue> operands, nb::dict attributes,
              nb::object result_types, unsigned regions, std::string node) {
  return {std::move(name), std::move(operands), std::move(attributes), std::move(result_types),
          regions,         std::move(node)};
}

Block* PlaceOf(const PyOperation& self) {
  Operation* op = self.get();
  // What is around the operation of a pass belongs to others.
  if (op != self.state()->root && op->block() != nullptr) return op->block();
  Raise(absl::InvalidArgumentError(
      fmt::format("{} itself has no place (expected an operation in it)",
                  self.state()->module == nullptr ? "the operation of a pass" : "the module")));
}

bool IsRoot(const PyOperation& self) { return self.get() == self.state()->root; }

nb::dict AttributesOf(const PyOperation& self) {
  const Operation& op = *self.get();
  // Making objects of Python may run code of others, which may erase the operation.
  std::vector<std::pair<std::string, PyAttribute>> list;
  const auto add = [&](std::string_view name, Attribute value) {
    if (value) list.emplace_back(name, PyAttribute{self.state(), value});
  };
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    if (op.info().is_registered()) {
      add(op.info().slot_name(static_cast<int>(i)).str(), op.slot(i));
    } else if (op.slot(i)) {
      for (const NamedAttribute& entry : op.slot(i).entries()) add(entry.name.str(), entry.value);
    }
  }
  if (const Attribute more = op.discardable_attrs(); more) {
    for (const NamedAttribute& entry : more.entries()) add(entry.name.str(), entry.value);
  }
  nb::dict dict;
  for (const auto& [name, value] : list) dict[TextFrom(name)] = nb::cast(value);
  return dict;
}

void SetAttribute(const PyOperation& self, const std::string& name, nb::handle value) {
  if (name.empty()) Raise(absl::InvalidArgumentError("an attribute has a name"));
  const OpInfo& info = self.get()->info();
  const int slot = info.is_registered() ? info.FindSlot(name) : -1;
  const AttrType kind = slot >= 0 ? info.def().attrs[slot].type : AttrType::kAny;
  Attribute attribute;
  if (!value.is_none()) attribute = AttributeFrom(self.state(), value, kind);
  Operation* op = self.get();  // now: the value may run code of others
  const Attribute before = op->attr(name);
  op->SetAttr(name, attribute);
  // The sizes of operand groups must always fit the operands: the printer relies on them.
  absl::InlinedVector<int32_t, 6> sizes;
  if (slot >= 0 && slot == info.segment_slot() &&
      !info.OperandSegments(static_cast<int>(op->num_operands()), op->slots(), sizes)) {
    op->SetAttr(name, before);
    Raise(absl::InvalidArgumentError(
        fmt::format("{}: {} does not fit {} operands", op->name(), name, op->num_operands())));
  }
}

void SetOperand(const PyOperation& self, unsigned i, const PyValue& value) {
  Operation* op = self.get();
  if (i >= op->num_operands()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{} has no operand {} (it has {})", op->name(), i, op->num_operands())));
  }
  CheckSame(value.state(), self.state());
  CheckVisible(value.get(), PlaceOf(self));
  op->set_operand(i, value.get());
}

void EraseOp(const PyOperation& self) {
  Operation* op = self.get();
  (void)PlaceOf(self);
  if (op->has_uses()) {
    Raise(absl::FailedPreconditionError(
        fmt::format("results of {} have uses (replace them first)", op->name())));
  }
  // The handle keeps the module alive meanwhile.
  const StatePtr state = self.state();
  state->Forget(op);
  op->Erase();
}

void ReplaceOp(const PyOperation& self, const std::vector<PyValue>& values) {
  Operation* op = self.get();
  if (values.size() != op->num_results()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{} values for {} results", values.size(), op->num_results())));
  }
  for (unsigned i = 0; i < op->num_results(); ++i) {
    CheckSame(values[i].state(), self.state());
    if (values[i].get().defining_op() == op)
      Raise(absl::InvalidArgumentError("an operation cannot be replaced by its own result"));
    for (const OpOperand& use : op->result(i).uses())
      CheckVisible(values[i].get(), use.owner()->block());
  }
  for (unsigned i = 0; i < op->num_results(); ++i)
    op->result(i).ReplaceAllUsesWith(values[i].get());
  EraseOp(self);
}

void MoveOp(const PyOperation& self, const PyOperation& other, bool before) {
  CheckSame(self.state(), other.state());
  Operation *op = self.get(), *place = other.get();
  if (PlaceOf(self)->parent() != PlaceOf(other)->parent())
    Raise(absl::InvalidArgumentError("operations move within their region"));
  if (op == place) return;
  before ? op->MoveBefore(place) : op->MoveAfter(place);
}

// Lists are made of handles, and objects of Python afterward: making those may run code of others.
std::vector<PyOperation> WalkOf(const PyOperation& self) {
  std::vector<PyOperation> list;
  self.get()->WalkPreOrder([&](Operation* op) {
    list.push_back(HandleOf(self.state(), op));
    return true;
  });
  return list;
}

std::vector<std::optional<PyValue>> OperandsOf(const PyOperation& self) {
  std::vector<std::optional<PyValue>> list;
  for (const OpOperand& operand : self.get()->operands()) {
    list.emplace_back();
    if (operand.get()) list.back() = HandleOf(self.state(), operand.get());
  }
  return list;
}

std::string NodeOf(const PyOperation& self) {
  return DescribeLocation(self.state()->context(), self.get()->location());
}

bool Same(const PyOperation& a, const nb::object& b) {
  return nb::isinstance<PyOperation>(b) && a.ref == nb::cast<const PyOperation&>(b).ref;
}

}  // namespace

void BindOperation(nb::module_& module) {
  nb::class_<PyOperation> operation(module, "Operation", "An operation of a module.");
  nb::class_<PyBlock> block(module, "Block", "A list of operations, with arguments.");
  nb::class_<PyRegion> region(module, "Region", "A list of blocks, which belongs to an operation.");
  nb::class_<PyValue> value(module, "Value",
                            "A result of an operation, or an argument of a block.");
  const auto insert = [](const PyOperation& self, bool after, NewOp what) {
    return CreateOp(
        self.state(),
        [&]() -> std::pair<Block*, Operation*> {
          Block* block = PlaceOf(self);
          return {block, after ? self.get()->next() : self.get()};
        },
        what);
  };
#define TENON_NEW_OP_ARGUMENTS                                                           \
  nb::arg("name"), nb::arg("operands") = nb::list(), nb::arg("attributes") = nb::dict(), \
                   nb::arg("result_types").none() = nb::none(), nb::kw_only(),           \
                   nb::arg("regions") = 0, nb::arg("node") = ""
  operation.def("__eq__", Same)
      .def("__hash__",
           [](const PyOperation& self) { return std::hash<const void*>()(self.ref.get()); })
      .def("__str__", [](const PyOperation& self) { return self.get()->text(); })
      .def("__repr__",
           [](const PyOperation& self) {
             return self.ref->op == nullptr
                        ? std::string("<tenon.ir.Operation, erased>")
                        : fmt::format("<tenon.ir.Operation {}>", self.ref->op->name());
           })
      .def_prop_ro(
          "is_alive", [](const PyOperation& self) { return self.ref->op != nullptr; },
          "False once it is erased, or a pass has changed the module.")
      .def_prop_ro(
          "name", [](const PyOperation& self) { return std::string(self.get()->name()); },
          "The name with its dialect, such as 'ten.add'.")
      .def_prop_ro("node", NodeOf, "The node of the model that it comes from; may be empty.")
      .def_prop_ro(
          "location",
          [](const PyOperation& self) {
            return LocationText(self.state()->context(), self.get()->location());
          },
          "The location, as in text.")
      .def_prop_ro("operands", OperandsOf, nb::sig("def operands(self) -> list[Value | None]"),
                   "The operands of all groups, in order.")
      .def_prop_ro(
          "results",
          [](const PyOperation& self) {
            std::vector<PyValue> list;
            for (unsigned i = 0; i < self.get()->num_results(); ++i)
              list.push_back(HandleOf(self.state(), self.get()->result(i)));
            return list;
          },
          nb::sig("def results(self) -> list[Value]"), "The results.")
      .def_prop_ro("attributes", AttributesOf,
                   nb::sig("def attributes(self) -> dict[str, Attribute]"),
                   "The attributes by name: a copy. set_attribute() changes one.")
      .def_prop_ro(
          "regions",
          [](const PyOperation& self) {
            std::vector<PyRegion> list;
            for (unsigned i = 0; i < self.get()->num_regions(); ++i)
              list.push_back(PyRegion{self, i});
            return list;
          },
          nb::sig("def regions(self) -> list[Region]"), "The regions.")
      .def_prop_ro(
          "block",
          [](const PyOperation& self) {
            return IsRoot(self) ? nb::none() : HandleOrNone(self.state(), self.get()->block());
          },
          nb::sig("def block(self) -> Block | None"),
          "The block; None for the module, and for the operation of a pass.")
      .def_prop_ro(
          "parent",
          [](const PyOperation& self) {
            return IsRoot(self) ? nb::none() : HandleOrNone(self.state(), self.get()->parent_op());
          },
          nb::sig("def parent(self) -> Operation | None"), "The operation around it.")
      .def_prop_ro(
          "next",
          [](const PyOperation& self) {
            return IsRoot(self) ? nb::none() : HandleOrNone(self.state(), self.get()->next());
          },
          nb::sig("def next(self) -> Operation | None"), "The operation behind it in its block.")
      .def_prop_ro(
          "module", [](const PyOperation& self) { return PyModule{self.state()}; },
          "The module, which makes types and attributes. In a pass it has the operation of the "
          "pass.")
      .def_prop_ro("operand_groups", OperandGroupsOf,
                   nb::sig("def operand_groups(self) -> list[Value | None | list[Value]]"),
                   "The operands by group of the definition: a Value, None for an absent one, or a "
                   "list for any number.")
      .def_prop_ro("properties", PropertiesOf,
                   nb::sig("def properties(self) -> dict[str, typing.Any]"),
                   "The attributes of the definition as plain values, with defaults; None for "
                   "absent ones.")
      .def("__getattr__", PartOf, nb::arg("name"),
           nb::sig("def __getattr__(self, name: str, /) -> typing.Any"),
           "Returns the operand, attribute, result or region of this name.")
      .def("walk", WalkOf, nb::sig("def walk(self) -> list[Operation]"),
           "Returns this operation and all in it, outer ones first.")
      .def("set_attribute", SetAttribute, nb::arg("name"), nb::arg("value").none(),
           nb::sig("def set_attribute(self, name: str, value: object) -> None"),
           "Sets an attribute, from an Attribute or a plain value. None removes it, or restores "
           "its default.")
      .def("set_operand", SetOperand, nb::arg("index"), nb::arg("value"),
           "Makes an operand refer to another value.")
      .def("erase", EraseOp, "Erases the operation, whose results must have no uses.")
      .def("replace_with", ReplaceOp, nb::arg("values"),
           "Gives the uses of the results to `values`, one for each, and erases the operation.")
      .def(
          "move_before",
          [](const PyOperation& self, const PyOperation& other) { MoveOp(self, other, true); },
          nb::arg("other"), "Moves the operation before another one of its region.")
      .def(
          "move_after",
          [](const PyOperation& self, const PyOperation& other) { MoveOp(self, other, false); },
          nb::arg("other"), "Moves the operation behind another one of its region.")
      .def(
          "insert_before",
          [insert](const PyOperation& self, std::string name, std::vector<PyValue> operands,
                   nb::dict attributes, nb::object result_types, unsigned regions,
                   std::string node) {
            return insert(self, false,
                          NewOpOf(std::move(name), std::move(operands), std::move(attributes),
                                  std::move(result_types), regions, std::move(node)));
          },
          TENON_NEW_OP_ARGUMENTS, "Makes an operation before this one. See Block.append.")
      .def(
          "insert_after",
          [insert](const PyOperation& self, std::string name, std::vector<PyValue> operands,
                   nb::dict attributes, nb::object result_types, unsigned regions,
                   std::string node) {
            return insert(self, true,
                          NewOpOf(std::move(name), std::move(operands), std::move(attributes),
                                  std::move(result_types), regions, std::move(node)));
          },
          TENON_NEW_OP_ARGUMENTS, "Makes an operation behind this one. See Block.append.");
  BindRegion(region);
  block
      .def("__eq__",
           [](const PyBlock& a, const nb::object& b) {
             return nb::isinstance<PyBlock>(b) && a.ref == nb::cast<const PyBlock&>(b).ref;
           })
      .def("__hash__", [](const PyBlock& self) { return std::hash<const void*>()(self.ref.get()); })
      .def_prop_ro(
          "operations",
          [](const PyBlock& self) {
            std::vector<PyOperation> list;
            for (Operation& op : *self.get()) list.push_back(HandleOf(self.state(), &op));
            return list;
          },
          nb::sig("def operations(self) -> list[Operation]"), "The operations, in order.")
      .def_prop_ro(
          "arguments",
          [](const PyBlock& self) {
            std::vector<PyValue> list;
            for (unsigned i = 0; i < self.get()->num_arguments(); ++i)
              list.push_back(PyValue{nullptr, self.ref, i});
            return list;
          },
          nb::sig("def arguments(self) -> list[Value]"), "The arguments.")
      .def_prop_ro(
          "parent",
          [](const PyBlock& self) { return HandleOrNone(self.state(), self.get()->parent_op()); },
          nb::sig("def parent(self) -> Operation | None"), "The operation around it.")
      .def(
          "append",
          [](const PyBlock& self, std::string name, std::vector<PyValue> operands,
             nb::dict attributes, nb::object result_types, unsigned regions, std::string node) {
            return CreateOp(
                self.state(),
                [&]() -> std::pair<Block*, Operation*> {
                  return {self.get(), nullptr};
                },
                NewOpOf(std::move(name), std::move(operands), std::move(attributes),
                        std::move(result_types), regions, std::move(node)));
          },
          TENON_NEW_OP_ARGUMENTS,
          "Makes an operation at the end of the block. Without `result_types` the shape function "
          "of the operation tells them. `node` is the name of a node of the model.");
  block.def(
      "build",
      [](const PyBlock& self, const std::string& name, const nb::tuple& args,
         const nb::dict& kwargs, nb::object result_types, const std::string& node,
         const PyOperation* before) {
        return BuildOp(self, before, name, args, kwargs, std::move(result_types), node);
      },
      nb::arg("name"), nb::arg("args"), nb::arg("kwargs"), nb::arg("result_types").none(),
      nb::arg("node"), nb::arg("before").none(), "Makes an operation; see tenon.ops.");
  BindValue(value);
#undef TENON_NEW_OP_ARGUMENTS
}

}  // namespace tenon::python
