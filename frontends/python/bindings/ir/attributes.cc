#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>

#include "fmt/format.h"
#include "frontends/python/bindings/ir/handles.h"
#include "frontends/python/bindings/tensors.h"

namespace tenon::python {
namespace {

const char* KindName(Attribute::Kind kind) {
  switch (kind) {
    case Attribute::Kind::kUnit:
      return "unit";
    case Attribute::Kind::kBool:
      return "bool";
    case Attribute::Kind::kInteger:
      return "integer";
    case Attribute::Kind::kFloat:
      return "float";
    case Attribute::Kind::kString:
      return "string";
    case Attribute::Kind::kArray:
      return "array";
    case Attribute::Kind::kDenseArray:
      return "dense_array";
    case Attribute::Kind::kType:
      return "type";
    case Attribute::Kind::kSymbolRef:
      return "symbol";
    case Attribute::Kind::kElements:
      return "elements";
    case Attribute::Kind::kDictionary:
      return "dictionary";
    case Attribute::Kind::kDims:
      return "dims";
    default:
      return "opaque";
  }
}

nb::object TextValue(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

nb::object ValueOfAttribute(const StatePtr& state, Attribute attribute) {
  const auto list_of = [](auto values) {
    nb::list list;
    for (const auto& value : values) list.append(nb::cast(value));
    return nb::object(list);
  };
  switch (attribute.kind()) {
    case Attribute::Kind::kUnit:
      return nb::none();
    case Attribute::Kind::kBool:
      return nb::bool_(attribute.bool_value());
    case Attribute::Kind::kInteger:
      return nb::int_(attribute.int_value());
    case Attribute::Kind::kFloat:
      return nb::float_(attribute.float_value());
    case Attribute::Kind::kString:
    case Attribute::Kind::kSymbolRef:
      return TextValue(attribute.str());
    case Attribute::Kind::kType:
      return nb::cast(PyType{state, attribute.type()});
    case Attribute::Kind::kArray: {
      nb::list list;
      for (const Attribute element : attribute.elements())
        list.append(nb::cast(PyAttribute{state, element}));
      return list;
    }
    case Attribute::Kind::kDenseArray:
      return IsFloat(attribute.type().dtype()) ? list_of(attribute.floats())
                                               : list_of(attribute.ints());
    case Attribute::Kind::kElements: {
      // A copy: nobody may write to the bytes of a constant.
      const Tensor tensor = ValueOf(Tensor::FromAttribute(attribute, true));
      Tensor copy = ValueOf(Tensor::TryMake(tensor.dtype(), tensor.shape()));
      std::copy_n(tensor.as<std::byte>(), tensor.num_bytes(), copy.as<std::byte>());
      return ToNumpy(std::move(copy));
    }
    case Attribute::Kind::kDictionary: {
      nb::dict dict;
      for (const NamedAttribute& entry : attribute.entries())
        dict[TextValue(entry.name.str())] = nb::cast(PyAttribute{state, entry.value});
      return dict;
    }
    default:
      return TextValue(attribute.text());
  }
}

}  // namespace

Attribute AttributeFrom(const StatePtr& state, nb::handle value, AttrType kind) {
  Context& context = state->context();
  if (nb::isinstance<PyAttribute>(value)) {
    const auto& attribute = nb::cast<const PyAttribute&>(value);
    CheckSameContext(attribute.state, state);
    return attribute.attribute;
  }
  if (nb::isinstance<PyType>(value)) {
    const auto& type = nb::cast<const PyType&>(value);
    CheckSameContext(type.state, state);
    return Attribute::TypeAttr(context, type.type);
  }
  if (nb::isinstance<nb::bool_>(value)) return Attribute::Bool(context, nb::cast<bool>(value));
  if (nb::isinstance<nb::str>(value)) {
    const std::string text = nb::cast<std::string>(value);
    return kind == AttrType::kSymbol ? Attribute::SymbolRef(context, text)
                                     : Attribute::Str(context, text);
  }
  if (kind != AttrType::kF32 && kind != AttrType::kF64 && nb::isinstance<nb::int_>(value)) {
    int64_t number = 0;
    if (!nb::try_cast(value, number)) throw nb::type_error("an integer attribute has 64 bits");
    return Attribute::I64(context, number);
  }
  if (nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value)) {
    const double number = nb::cast<double>(nb::float_(nb::borrow<nb::object>(value)));
    return kind == AttrType::kF64 ? Attribute::F64(context, number)
                                  : Attribute::F32(context, static_cast<float>(number));
  }
  std::vector<int64_t> numbers;
  if ((nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) &&
      nb::try_cast(value, numbers))
    return Attribute::I64s(context, numbers);
  throw nb::type_error(
      "an attribute is made from an Attribute, a Type, bool, int, float, str or a list of int "
      "(module.attribute() reads any other from text)");
}

void BindAttributes(nb::module_& module) {
  nb::class_<PyType>(module, "Type", "The type of a value.")
      .def("__str__", [](const PyType& type) { return type.type.text(); })
      .def("__repr__",
           [](const PyType& type) { return "<tenon.ir.Type " + type.type.text() + ">"; })
      .def("__eq__",
           [](const PyType& a, const nb::object& b) {
             return nb::isinstance<PyType>(b) && a.type == nb::cast<const PyType&>(b).type;
           })
      .def("__hash__",
           [](const PyType& type) { return std::hash<const void*>()(type.type.storage()); })
      .def_prop_ro(
          "dtype",
          [](const PyType& type) -> nb::object {
            if (type.type.dtype() == DType::kInvalid) return nb::none();
            return nb::str(Name(type.type.dtype()));
          },
          nb::sig("def dtype(self) -> str | None"),
          "The element type in text, such as 'f32'; None if it is no tensor.")
      .def_prop_ro(
          "shape",
          [](const PyType& type) -> nb::object {
            if (!type.type.is_tensor()) return nb::none();
            nb::list shape;
            for (const DimExpr& dim : type.type.dims()) {
              if (dim.is_constant()) {
                shape.append(dim.constant());
              } else if (dim.is_unknown()) {
                shape.append(nb::none());
              } else {
                shape.append(dim.text());
              }
            }
            return nb::tuple(shape);
          },
          nb::sig("def shape(self) -> tuple[int | str | None, ...] | None"),
          "The dimensions: numbers, expressions and None; None if it is no ranked tensor.");
  nb::class_<PyAttribute>(module, "Attribute", "An attribute of an operation.")
      .def("__str__", [](const PyAttribute& self) { return self.attribute.text(); })
      .def("__repr__",
           [](const PyAttribute& self) {
             return "<tenon.ir.Attribute " + self.attribute.text() + ">";
           })
      .def("__eq__",
           [](const PyAttribute& a, const nb::object& b) {
             return nb::isinstance<PyAttribute>(b) &&
                    a.attribute == nb::cast<const PyAttribute&>(b).attribute;
           })
      .def("__hash__",
           [](const PyAttribute& self) {
             return std::hash<const void*>()(self.attribute.storage());
           })
      .def_prop_ro(
          "kind", [](const PyAttribute& self) { return KindName(self.attribute.kind()); },
          "The kind: 'integer', 'float', 'string', 'elements' and others.")
      .def_prop_ro(
          "value",
          [](const PyAttribute& self) { return ValueOfAttribute(self.state, self.attribute); },
          "The value in Python; a NumPy copy for elements, text for unknown kinds.");
}

}  // namespace tenon::python
