#include "frontends/onnx/ops/containers/containers.h"

#include <fmt/format.h>

#include "ir/core/context/context.h"
#include "ir/dialect/ctl.h"

namespace tenon::onnx {
namespace {

constexpr std::string_view kWrap = "onnx.sequence";

Type VectorOf(Context& context, DType dtype) {
  const DimExpr dims[] = {DimExpr::Unknown(context)};
  return Type::Tensor(context, dtype, std::span<const DimExpr>(dims));
}

}  // namespace

std::optional<int64_t> ContainerType::rank() const {
  return element && element.is_tensor() ? std::optional(element.rank()) : std::nullopt;
}

std::string ContainerType::text() const {
  if (is_strings()) return "a tensor of strings";
  if (is_maps()) return "a sequence of maps";
  const std::string_view kinds[] = {"a sequence", "an optional tensor", "an optional sequence"};
  return fmt::format("{} of {}", kinds[static_cast<int>(kind)], Name(dtype));
}

std::vector<Type> PackedTypes(Context& context, const ContainerType& type) {
  std::vector<Type> types;
  if (type.is_strings()) return {type.element, VectorOf(context, DType::kU8)};
  if (type.is_maps()) {
    types.push_back(VectorOf(context, DType::kI64));
    if (type.kind == ContainerType::Kind::kMapsOfStrings)
      types.push_back(VectorOf(context, DType::kU8));
    types.push_back(type.element);
    return types;
  }
  if (type.kind == ContainerType::Kind::kOptionalSequence) {
    types.push_back(Type::Tensor(context, DType::kBool, std::span<const int64_t>()));
  }
  const DimExpr offsets[] = {DimExpr::Unknown(context), DimExpr::Constant(context, 2)};
  types.push_back(Type::Tensor(context, DType::kI64, std::span<const DimExpr>(offsets)));
  types.push_back(VectorOf(context, DType::kI64));
  types.push_back(VectorOf(context, type.dtype));
  return types;
}

std::vector<std::string> PackedNames(std::string_view name, const ContainerType& type) {
  if (type.is_strings()) return {fmt::format("{}#spans", name), fmt::format("{}#text", name)};
  if (type.kind == ContainerType::Kind::kMaps)
    return {fmt::format("{}#keys", name), fmt::format("{}#values", name)};
  if (type.kind == ContainerType::Kind::kMapsOfStrings) {
    return {fmt::format("{}#keys#spans", name), fmt::format("{}#keys#text", name),
            fmt::format("{}#values", name)};
  }
  std::vector<std::string> names;
  if (type.kind == ContainerType::Kind::kOptionalSequence) {
    names.push_back(fmt::format("{}#present", name));
  }
  for (const std::string_view part : {"offsets", "dims", "data"}) {
    names.push_back(fmt::format("{}#{}", name, part));
  }
  return names;
}

Container FromPacked(const ContainerType& type, std::span<const Value> tensors) {
  if (type.is_strings()) return StringsOf(tensors[0], tensors[1]);
  Container container{type};
  container.form = Container::Form::kPacked;
  if (type.is_maps()) {
    container.parts.assign(tensors.begin(), tensors.end());
    return container;
  }
  if (tensors.size() > 3) container.present = tensors.front();
  container.parts.assign(tensors.end() - 3, tensors.end());
  return container;
}

Value Wrap(OpBuilder& builder, Location location, const Container& container) {
  Context& context = builder.context();
  const auto entry = [&](std::string_view name, Attribute value) {
    return NamedAttribute{context.Intern(name), value};
  };
  const Type element = container.element ? container.element : Type::None(context);
  const NamedAttribute entries[] = {
      entry("dtype", Attribute::TypeAttr(context, Type::Scalar(context, container.dtype))),
      entry("element", Attribute::TypeAttr(context, element)),
      entry("form", Attribute::I64(context, static_cast<int64_t>(container.form))),
      entry("kind", Attribute::I64(context, static_cast<int64_t>(container.kind))),
      entry("present", Attribute::Bool(context, static_cast<bool>(container.present))),
  };
  OperationState state;
  state.info = context.GetUnregisteredOp(kWrap);
  state.location = location;
  state.slots.push_back(Attribute::Dictionary(context, entries));
  state.operands.assign(container.parts.begin(), container.parts.end());
  if (container.present) state.operands.push_back(container.present);
  state.result_types.push_back(Type::Opaque(context, "!onnx.sequence"));
  return builder.Create(state)->result();
}

std::optional<Container> Unwrap(Value value) {
  const Operation* op = value ? value.defining_op() : nullptr;
  if (op == nullptr || op->name() != kWrap) return std::nullopt;
  const Attribute entries = op->slots()[0];
  Container container;
  container.kind = static_cast<ContainerType::Kind>(entries.Get("kind").int_value());
  container.form = static_cast<Container::Form>(entries.Get("form").int_value());
  container.dtype = entries.Get("dtype").type().dtype();
  const Type element = entries.Get("element").type();
  if (element.is_any_tensor()) container.element = element;
  for (unsigned i = 0; i < op->num_operands(); ++i) container.parts.push_back(op->operand(i));
  if (entries.Get("present").bool_value()) {
    container.present = container.parts.back();
    container.parts.pop_back();
  }
  return container;
}

void EraseUnusedWraps(Operation* function) {
  std::vector<Operation*> wraps;
  function->Walk([&](Operation* op) {
    if (op->name() == kWrap) wraps.push_back(op);
  });
  for (Operation* op : wraps) {
    if (!op->result().has_uses()) op->Erase();
  }
}

Type JoinElements(Type a, Type b) {
  if (!a || !b) return a ? a : b;
  const Type joined = JoinTypes(a, b);
  return joined ? joined : Type::Unranked(a.context(), a.dtype());
}

Type LooseElement(Type element) {
  if (!element || !element.is_tensor()) return element;
  const std::vector<DimExpr> dims(static_cast<size_t>(element.rank()),
                                  DimExpr::Unknown(element.context()));
  return WithDims(element, dims);
}

std::optional<ContainerType> JoinContainers(const ContainerType& a, const ContainerType& b) {
  using Kind = ContainerType::Kind;
  if (a.dtype != b.dtype || a.is_strings() != b.is_strings()) return std::nullopt;
  ContainerType joined = a;
  joined.element = JoinElements(a.element, b.element);
  if (a.kind == b.kind) return joined;
  if (a.is_maps() || b.is_maps()) return std::nullopt;
  // A sequence is an optional one that is there.
  if (a.kind == Kind::kOptionalTensor || b.kind == Kind::kOptionalTensor) return std::nullopt;
  joined.kind = Kind::kOptionalSequence;
  return joined;
}

ContainerType OptionalOf(Type tensor) {
  return {.kind = ContainerType::Kind::kOptionalTensor, .dtype = tensor.dtype(), .element = tensor};
}

ContainerType StringsOf(Type spans) {
  return {.kind = ContainerType::Kind::kStrings, .dtype = DType::kI64, .element = spans};
}

Container StringsOf(Value spans, Value text) {
  Container strings{StringsOf(spans.type())};
  strings.form = Container::Form::kPacked;
  strings.parts = {spans, text};
  return strings;
}

Container MapsOf(Value keys, Value text, Value values) {
  Container maps;
  maps.kind = text ? ContainerType::Kind::kMapsOfStrings : ContainerType::Kind::kMaps;
  maps.form = Container::Form::kPacked;
  maps.dtype = values.type().dtype();
  maps.element = values.type();
  maps.parts.push_back(keys);
  if (text) maps.parts.push_back(text);
  maps.parts.push_back(values);
  return maps;
}

}  // namespace tenon::onnx
