#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>

#include "frontends/python/bindings/ir/handles.h"

namespace tenon::python {
namespace {

void ReplaceUses(const PyValue& from, const PyValue& to) {
  CheckSame(from.state(), to.state());
  Value was = from.get();
  const Value now = to.get();
  if (was == now) return;
  for (const OpOperand& use : was.uses()) CheckVisible(now, use.owner()->block());
  was.ReplaceAllUsesWith(now);
}

std::vector<PyOperation> UsersOf(const PyValue& self) {
  std::vector<PyOperation> list;
  for (const OpOperand& use : self.get().uses()) {
    PyOperation user = HandleOf(self.state(), use.owner());
    const bool known = std::any_of(list.begin(), list.end(),
                                   [&](const PyOperation& each) { return each.ref == user.ref; });
    if (!known) list.push_back(std::move(user));
  }
  std::reverse(list.begin(), list.end());
  return list;
}

}  // namespace

void BindRegion(nb::class_<PyRegion>& region) {
  region
      .def_prop_ro(
          "blocks",
          [](const PyRegion& self) {
            std::vector<PyBlock> list;
            for (Block& each : self.get()) list.push_back(HandleOf(self.op.state(), &each));
            return list;
          },
          nb::sig("def blocks(self) -> list[Block]"), "The blocks; the first is the entry.")
      .def_prop_ro(
          "parent", [](const PyRegion& self) { return self.op; }, "The operation.")
      .def(
          "add_block",
          [](const PyRegion& self, const std::vector<PyType>& types) {
            for (const PyType& type : types) CheckSameContext(type.state, self.op.state());
            Block* added = self.get().AddBlock();
            for (const PyType& type : types) added->AddArgument(type.type);
            return HandleOf(self.op.state(), added);
          },
          nb::arg("argument_types") = nb::list(), "Appends a block with these arguments.");
}

void BindValue(nb::class_<PyValue>& value) {
  value
      .def("__eq__",
           [](const PyValue& a, const nb::object& b) {
             if (!nb::isinstance<PyValue>(b)) return false;
             const auto& other = nb::cast<const PyValue&>(b);
             return a.op == other.op && a.block == other.block && a.index == other.index;
           })
      .def("__hash__",
           [](const PyValue& self) {
             return std::hash<const void*>()(self.op.get()) ^
                    std::hash<const void*>()(self.block.get()) ^ self.index;
           })
      .def("__repr__", [](const PyValue&) { return "<tenon.ir.Value>"; })
      .def_prop_ro(
          "type",
          [](const PyValue& self) {
            return PyType{self.state(), self.get().type()};
          },
          "The type.")
      .def_prop_rw(
          "name", [](const PyValue& self) { return self.get().name(); },
          [](const PyValue& self, const std::string& name) { Value(self.get()).set_name(name); },
          "The name in text, without '%'; may be empty.")
      .def_prop_ro(
          "owner",
          [](const PyValue& self) {
            const Value of = self.get();
            return of.is_result() ? nb::cast(HandleOf(self.state(), of.defining_op()))
                                  : nb::cast(HandleOf(self.state(), of.argument_owner()));
          },
          nb::sig("def owner(self) -> Operation | Block"),
          "The operation of a result, or the block of an argument.")
      .def_prop_ro(
          "index", [](const PyValue& self) { return self.index; },
          "The position among the results or arguments.")
      .def_prop_ro("users", UsersOf, nb::sig("def users(self) -> list[Operation]"),
                   "The operations that use the value.")
      .def("replace_uses", ReplaceUses, nb::arg("other"), "Gives all uses to another value.");
}

}  // namespace tenon::python
