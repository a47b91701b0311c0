// Optional values.
#include <fmt/format.h>

#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Kind = ContainerType::Kind;

}  // namespace

absl::Status ImportOptional(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(0, 1));
  Container optional;
  if (const Value value = node.input(0)) {
    if (const std::optional<Container> sequence = Unwrap(value)) {
      if (sequence->kind != Kind::kSequence) {
        return node.Unsupported(sequence->text(), "a tensor or a sequence");
      }
      optional = *sequence;
      optional.kind = Kind::kOptionalSequence;
    } else {
      optional = Container{OptionalOf(value.type())};
      optional.parts = {value};
    }
    node.MarkRead("type");
    return node.Return(Wrap(node.builder(), node.location(), optional));
  }
  const onnxpb::AttributeProto* type = node.Find("type");
  if (type == nullptr || !type->has_tp()) {
    return node.Error("Optional needs an input, or the attribute \"type\"");
  }
  onnxpb::TypeProto declared;
  *declared.mutable_optional_type()->mutable_elem_type() = type->tp();
  const std::optional<ContainerType> converted = node.importer().ConvertContainer(declared);
  if (!converted) {
    return node.Unsupported("a value of a type that has no counterpart",
                            "a tensor, or a sequence of tensors");
  }
  optional = Container{*converted};
  if (optional.kind == Kind::kOptionalSequence) {
    TENON_ASSIGN_OR_RETURN(optional.present, node.MakeScalar(DType::kBool, 0));
  }
  return node.Return(Wrap(node.builder(), node.location(), optional));
}

absl::Status ImportOptionalHasElement(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(0, 1));
  const std::optional<Container> c = Unwrap(node.input(0));
  SequenceFormula formula(node);
  if (c && c->kind == Kind::kOptionalTensor && c->form != Container::Form::kList) {
    const Value zero = formula.formula().Scalar(DType::kI64, 0);
    const Value length = formula.Length(*c);
    return formula.Return(formula.formula().Make<ten::LessOp>(zero, length));
  }
  if (c && c->present) return node.Return(c->present);
  const bool empty = c && c->kind == Kind::kOptionalTensor && c->parts.empty();
  return node.Return(node.MakeScalar(DType::kBool, node.input(0) && !empty ? 1 : 0));
}

absl::Status ImportOptionalGetElement(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  std::optional<Container> c = Unwrap(node.input(0));
  // A tensor or a sequence is there.
  if (!c || c->kind == Kind::kSequence) return node.Return(node.input(0));
  SequenceFormula formula(node);
  Formula& f = formula.formula();
  if (c->kind == Kind::kOptionalTensor) {
    if (c->form == Container::Form::kList && !c->parts.empty()) return node.Return(c->parts[0]);
    // What has no value may be asked for one in a branch that is not taken: the run says so.
    const Value first = f.Scalar(DType::kI64, 0);
    return formula.Return(formula.At(formula.Packed(*c), first));
  }
  if (c->present) {
    const Value one = f.Scalar(DType::kI64, 1);
    const Value there = f.CheckRange(f.Cast(c->present, DType::kI64), one, one,
                                     "the number of values of an optional one");
    c = formula.Packed(*c);
    c->parts[0] = f.Add(c->parts[0], f.Sub(there, one));  // depends on the check
    c->present = Value();
  }
  if (!formula.ok()) return formula.status();
  c->kind = Kind::kSequence;
  return node.Return(Wrap(node.builder(), node.location(), *c));
}

}  // namespace tenon::onnx
