// Shape functions in Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/extend/extension.h"
#include "ir/dialect/declared_op.h"

namespace tenon::python {
namespace {

nb::object DimOf(DimExpr dim) {
  if (dim.is_constant()) return nb::int_(dim.constant());
  if (dim.is_unknown()) return nb::none();
  return nb::cast(dim.text());
}

// A tenon.TensorType for the type of an operand.
nb::object TensorTypeOf(Type type) {
  nb::object shape = nb::none();
  if (type.is_tensor()) {
    nb::list dims;
    for (const DimExpr dim : type.dims()) dims.append(DimOf(dim));
    shape = nb::tuple(dims);
  }
  const std::string dtype =
      type.dtype() == DType::kInvalid ? type.text() : std::string(Name(type.dtype()));
  return nb::module_::import_("tenon.extension").attr("TensorType")(dtype, shape);
}

// The value of an attribute, as kernels get it. Dimensions may be symbols here.
nb::object PlainValue(Attribute attribute) {
  using Kind = Attribute::Kind;
  const auto text = [](std::string_view s) { return nb::cast(std::string(s)); };
  switch (attribute.kind()) {
    case Kind::kBool:
      return nb::bool_(attribute.bool_value());
    case Kind::kInteger:
      return nb::int_(attribute.int_value());
    case Kind::kFloat:
      return nb::float_(attribute.float_value());
    case Kind::kString:
    case Kind::kSymbolRef:
      return text(attribute.str());
    case Kind::kType:
      return text(attribute.type().text());
    case Kind::kDims: {
      nb::list dims;
      for (const DimExpr dim : attribute.dims()) dims.append(DimOf(dim));
      return dims;
    }
    case Kind::kDenseArray: {
      nb::list numbers;
      if (IsFloat(attribute.type().dtype())) {
        for (const double number : attribute.floats()) numbers.append(number);
      } else {
        for (const int64_t number : attribute.ints()) numbers.append(number);
      }
      return numbers;
    }
    default:
      return text(attribute.text());
  }
}

absl::Status WrongResult(const InferContext& infer, size_t i, std::string_view what) {
  return infer.Error(
      fmt::format("the shape function's result {} {} (expected a tenon.TensorType, such as "
                  "TensorType('f32', (2, 'N')))",
                  i, what));
}

// How Python shows an object. A long text is cut off.
std::string Shown(nb::handle object) {
  return fmt::format("{:.60}", nb::cast<std::string>(nb::repr(object)));
}

// The element type of this name, in the words of IR or of NumPy.
DType DTypeOfWord(const std::string& word) {
  for (int d = 1; d < kNumDTypes; ++d)
    if (Name(static_cast<DType>(d)) == word) return static_cast<DType>(d);
  return DTypeNamed(word);
}

// The dimension that an object stands for; nothing if it is none.
std::optional<DimExpr> DimFrom(Context& context, nb::handle object) {
  if (object.is_none()) return DimExpr::Unknown(context);
  std::string text;
  if (nb::isinstance<nb::str>(object))
    return nb::try_cast(object, text) ? DimExpr::Parse(context, text) : std::nullopt;
  // NumPy's integers are numbers, too.
  if (PyIndex_Check(object.ptr()) == 0) return std::nullopt;
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int64_t extent = 0;
  if (!nb::try_cast(index, extent) || extent < 0) return std::nullopt;
  return DimExpr::Constant(context, extent);
}

// Appends the type that element `i` of the result stands for.
absl::Status AddResult(const InferContext& infer, size_t i, nb::handle given,
                       ResultTypes& results) {
  Context& context = infer.context;
  if (!nb::isinstance<nb::tuple>(given) || nb::len(given) != 2)
    return WrongResult(infer, i,
                       fmt::format("is a {}", nb::cast<std::string>(nb::inst_name(given))));
  const nb::object word = given[nb::int_(0)], shape = given[nb::int_(1)];
  std::string name;
  const DType dtype = nb::try_cast(word, name) ? DTypeOfWord(name) : DType::kInvalid;
  if (dtype == DType::kInvalid)
    return WrongResult(infer, i, fmt::format("has the element type {}", Shown(word)));
  if (shape.is_none()) {
    results.push_back(Type::Unranked(context, dtype));
    return absl::OkStatus();
  }
  if (!nb::isinstance<nb::tuple>(shape) && !nb::isinstance<nb::list>(shape))
    return WrongResult(infer, i, fmt::format("has the shape {}", Shown(shape)));
  std::vector<DimExpr> dims;
  for (const nb::handle each : shape) {
    const std::optional<DimExpr> dim = DimFrom(context, each);
    if (!dim.has_value())
      return infer.Error(fmt::format(
          "the shape function's result {} has {} as dimension {} (expected a number from 0, an "
          "expression such as 'N + 1', or None)",
          i, Shown(each), dims.size()));
    dims.push_back(*dim);
  }
  results.push_back(Type::Tensor(context, dtype, dims));
  return absl::OkStatus();
}

absl::Status Call(const PythonFunction& function, size_t count, const InferContext& infer,
                  ResultTypes& results) {
  nb::list operands;
  const OpDef& def = infer.info.def();
  for (size_t group = 0; group < def.operands.size(); ++group) {
    const std::span<const Type> types = infer.operand_group(static_cast<int>(group));
    if (def.operands[group].arity == Arity::kVariadic) {
      nb::list list;
      for (const Type type : types) list.append(TensorTypeOf(type));
      operands.append(list);
    } else {
      operands.append(types.empty() ? nb::none() : TensorTypeOf(types[0]));
    }
  }
  nb::dict attributes;
  for (int slot = 0; slot < infer.info.num_slots(); ++slot) {
    if (slot == infer.info.segment_slot()) continue;
    const Attribute value = infer.slots[slot];
    attributes[std::string(infer.info.slot_name(slot).str()).c_str()] =
        value ? PlainValue(value) : nb::none();
  }
  const nb::object returned = function.get()(*operands, **attributes);
  // A TensorType is a tuple itself.
  if (count == 1 && !nb::isinstance<nb::list>(returned))
    return AddResult(infer, 0, returned, results);
  const bool many = nb::isinstance<nb::list>(returned) || nb::isinstance<nb::tuple>(returned);
  if (!many || nb::len(returned) != count) {
    return infer.Error(fmt::format("the shape function returned {} types (expected {})",
                                   many ? fmt::format("{}", nb::len(returned)) : "no list of",
                                   count));
  }
  std::vector<nb::object> each;
  for (const nb::handle one : returned) each.push_back(nb::borrow<nb::object>(one));
  for (size_t i = 0; i < each.size(); ++i) {
    const absl::Status status = AddResult(infer, i, each[i], results);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

InferFn ShapeFunction(PythonFunction function, size_t count) {
  return [function = std::move(function), count](const InferContext& infer, ResultTypes& results) {
    ResultTypes made;
    const std::string what = fmt::format("{}: the shape function", infer.info.name());
    absl::Status status = CallPython(what, [&] { return Call(function, count, infer, made); });
    if (!status.ok()) return status;
    if (made.size() != count)
      return infer.Error(
          fmt::format("the shape function returned {} types (expected {})", made.size(), count));
    results.insert(results.end(), made.begin(), made.end());
    return status;
  };
}

}  // namespace tenon::python
