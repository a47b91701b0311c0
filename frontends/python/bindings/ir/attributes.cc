#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "frontends/python/bindings/ir/handles.h"
#include "frontends/python/bindings/tensors.h"
#include "ir/core/text/parser.h"

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

// Containers that contain themselves end here.
constexpr int kMaxNesting = 64;

// The text of an attribute.
std::string StringFrom(nb::handle value) {
  std::string text;
  if (!nb::try_cast(value, text)) throw nb::type_error("a text that is not Unicode");
  return text;
}

// The elements of a list or tuple; TypeError for others.
std::vector<nb::object> ElementsOfList(nb::handle value, const char* what) {
  if (!nb::isinstance<nb::list>(value) && !nb::isinstance<nb::tuple>(value))
    throw nb::type_error(what);
  std::vector<nb::object> elements;
  for (const nb::handle element : value) elements.push_back(nb::borrow<nb::object>(element));
  return elements;
}

Attribute DimsFrom(Context& context, nb::handle value) {
  constexpr const char* kExpected = "dimensions are a list of int, str or None";
  std::vector<DimExpr> dims;
  for (const nb::object& element : ElementsOfList(value, kExpected)) {
    int64_t extent = 0;
    if (element.is_none()) {
      dims.push_back(DimExpr::Unknown(context));
    } else if (nb::isinstance<nb::str>(element)) {
      const std::string text = StringFrom(element);
      const std::optional<DimExpr> dim = DimExpr::Parse(context, text);
      if (!dim.has_value()) {
        Raise(absl::InvalidArgumentError(
            fmt::format("'{}' is no dimension (expected an expression such as 'B + 1')", text)));
      }
      dims.push_back(*dim);
    } else if (nb::isinstance<nb::int_>(element) && nb::try_cast(element, extent)) {
      dims.push_back(DimExpr::Constant(context, extent));
    } else {
      throw nb::type_error(kExpected);
    }
  }
  return Attribute::Dims(context, dims);
}

Attribute From(const StatePtr& state, nb::handle value, AttrType kind, int depth);

Attribute DictionaryFrom(const StatePtr& state, nb::handle value, int depth) {
  std::map<std::string, Attribute> values;  // two keys may have one text
  std::vector<std::pair<nb::object, nb::object>> items;
  for (const auto [key, element] : nb::cast<nb::dict>(value))
    items.emplace_back(nb::borrow<nb::object>(key), nb::borrow<nb::object>(element));
  for (const auto& [key, element] : items) {
    const std::string name = StringFrom(key);
    if (name.empty()) Raise(absl::InvalidArgumentError("an entry of a dictionary has a name"));
    values[name] = From(state, element, AttrType::kAny, depth + 1);
  }
  std::vector<NamedAttribute> entries;
  for (const auto& [name, value] : values)
    entries.push_back({state->context().Intern(name), value});
  return Attribute::Dictionary(state->context(), entries);
}

Attribute ListFrom(const StatePtr& state, nb::handle value, AttrType kind, int depth) {
  Context& context = state->context();
  if (kind == AttrType::kDims) return DimsFrom(context, value);
  if (kind == AttrType::kF32s) {
    std::vector<float> floats;
    if (nb::try_cast(value, floats)) return Attribute::F32s(context, floats);
    throw nb::type_error("expected a list of float");
  }
  std::vector<int64_t> numbers;
  if (nb::try_cast(value, numbers)) return Attribute::I64s(context, numbers);
  std::vector<Attribute> elements;
  for (const nb::object& element : ElementsOfList(value, "expected a list"))
    elements.push_back(From(state, element, AttrType::kAny, depth + 1));
  return Attribute::Array(context, elements);
}

}  // namespace

nb::object TextFrom(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

Attribute ElementsFrom(const StatePtr& state, nb::handle array) {
  TensorSpec spec;
  spec.name = "array";
  const Tensor tensor = TensorFrom(array, spec);
  Context& context = state->context();
  const Type type = Type::Tensor(context, tensor.dtype(), tensor.shape());
  return Attribute::Elements(context, type, {tensor.as<const std::byte>(), tensor.num_bytes()});
}

Type TypeFrom(const StatePtr& state, nb::handle value) {
  if (nb::isinstance<PyType>(value)) {
    const auto& type = nb::cast<const PyType&>(value);
    CheckSameContext(type.state, state);
    return type.type;
  }
  if (!nb::isinstance<nb::str>(value))
    throw nb::type_error("a type is a Type, or a text such as 'tensor<2x?xf32>'");
  const absl::StatusOr<Type> type = ParseType(state->context(), StringFrom(value));
  if (!type.ok()) Raise(type.status(), state->log->Take(), true);
  return *type;
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
      return TextFrom(attribute.str());
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
        dict[TextFrom(entry.name.str())] = nb::cast(PyAttribute{state, entry.value});
      return dict;
    }
    default:
      return TextFrom(attribute.text());
  }
}

Attribute AttributeFrom(const StatePtr& state, nb::handle value, AttrType kind) {
  return From(state, value, kind, 0);
}

namespace {

Attribute From(const StatePtr& state, nb::handle value, AttrType kind, int depth) {
  if (depth > kMaxNesting)
    Raise(absl::InvalidArgumentError("the lists and dictionaries are nested too deeply"));
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
  if (kind == AttrType::kElements) return ElementsFrom(state, value);
  if (kind == AttrType::kUnit && nb::isinstance<nb::bool_>(value))
    return nb::cast<bool>(value) ? Attribute::Unit(context) : Attribute();
  if (nb::isinstance<nb::bool_>(value)) return Attribute::Bool(context, nb::cast<bool>(value));
  if (nb::isinstance<nb::str>(value)) {
    if (kind == AttrType::kType || kind == AttrType::kTypeAttr)
      return Attribute::TypeAttr(context, TypeFrom(state, value));
    const std::string text = StringFrom(value);
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
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value))
    return ListFrom(state, value, kind, depth);
  if (nb::isinstance<nb::dict>(value)) return DictionaryFrom(state, value, depth);
  throw nb::type_error(
      "an attribute is made from an Attribute, a Type, bool, int, float, str, a list or a dict "
      "(module.attribute() reads any other from text)");
}

}  // namespace

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
