// Constants and ops that make tensors of a given shape.
#include <fmt/format.h>

#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;

// Larger tensors of one value are broadcast when they are needed.
constexpr int64_t kMaxSplatElements = int64_t{1} << 28;

template <typename T>
Attribute Elements(Context& context, DType dtype, std::span<const T> values, bool scalar) {
  const int64_t count = static_cast<int64_t>(values.size());
  const Type type = Type::Tensor(context, dtype, std::span<const int64_t>(&count, scalar ? 0 : 1));
  return Attribute::Elements(context, type, std::as_bytes(values));
}

// The elements of a TENSOR attribute.
absl::StatusOr<Attribute> TensorAttribute(const Node& node, const AttributeProto& attribute) {
  absl::StatusOr<Attribute> elements =
      DecodeElements(node.context(), attribute.t(), node.importer().source());
  if (elements.ok() || absl::IsUnimplemented(elements.status())) return elements;
  return node.Error(
      fmt::format("attribute \"{}\": {}", attribute.name(), MessageOf(elements.status())));
}

absl::StatusOr<Attribute> ConstantValue(Node& node) {
  Context& context = node.context();
  if (const AttributeProto* value = node.Find("value")) {
    if (AttributeTypeOf(*value) != AttributeProto::TENSOR) {
      return node.Error("attribute \"value\" of Constant must be TENSOR");
    }
    return TensorAttribute(node, *value);
  }
  if (node.Find("value_float") != nullptr) {
    TENON_ASSIGN_OR_RETURN(const float value, node.Float("value_float", 0));
    return Elements(context, DType::kF32, std::span(&value, 1), /*scalar=*/true);
  }
  if (node.Find("value_int") != nullptr) {
    TENON_ASSIGN_OR_RETURN(const int64_t value, node.Int("value_int", 0));
    return Elements(context, DType::kI64, std::span(&value, 1), /*scalar=*/true);
  }
  TENON_ASSIGN_OR_RETURN(const auto floats, node.Floats("value_floats"));
  if (floats) return Elements(context, DType::kF32, std::span(*floats), /*scalar=*/false);
  TENON_ASSIGN_OR_RETURN(const auto ints, node.Ints("value_ints"));
  if (ints) return Elements(context, DType::kI64, std::span(*ints), /*scalar=*/false);
  if (node.Find("sparse_value") != nullptr)
    return node.Unsupported("Constant with sparse_value", "a dense constant");
  return node.Error("Constant has no value");
}

}  // namespace

absl::Status ImportConstant(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(0, 0));
  if (const AttributeProto* value = node.Find("value");
      value != nullptr && value->t().data_type() == onnxpb::TensorProto::STRING) {
    return node.Return(
        StringInitializer(node.importer(), value->t(), node.location(), node.builder()));
  }
  if (node.Find("value_string") != nullptr || node.Find("value_strings") != nullptr) {
    TENON_ASSIGN_OR_RETURN(std::vector<std::string> strings, ml::Strings(node, "value_strings"));
    const bool scalar = node.Find("value_string") != nullptr;
    if (scalar) {
      TENON_ASSIGN_OR_RETURN(const std::string string, node.Str("value_string", ""));
      strings = {string};
    }
    const auto count = static_cast<int64_t>(strings.size());
    TENON_ASSIGN_OR_RETURN(const Container made,
                           ConstantStrings(node, std::span(&count, scalar ? 0 : 1), strings));
    return node.Return(Wrap(node.builder(), node.location(), made));
  }
  TENON_ASSIGN_OR_RETURN(const Attribute value, ConstantValue(node));
  return node.Return(node.MakeConstant(value));
}

absl::Status ImportConstantOfShape(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Context& context = node.context();
  const float zero = 0;
  Attribute value = Elements(context, DType::kF32, std::span(&zero, 1), /*scalar=*/true);
  if (const AttributeProto* attribute = node.Find("value")) {
    if (AttributeTypeOf(*attribute) != AttributeProto::TENSOR) {
      return node.Error("attribute \"value\" of ConstantOfShape must be TENSOR");
    }
    TENON_ASSIGN_OR_RETURN(value, TensorAttribute(node, *attribute));
    if (value.type().num_elements() != 1) {
      return node.Error(fmt::format("the value of ConstantOfShape must be one element, got {}",
                                    value.type().text()));
    }
  }
  const DType dtype = value.type().dtype();
  const auto splat = [&](std::span<const int64_t> dims) {
    return node.MakeConstant(Attribute::Splat(context, Type::Tensor(context, dtype, dims),
                                              value.raw_bytes().first(SizeOf(dtype))));
  };
  TENON_ASSIGN_OR_RETURN(const auto shape, node.Extents(0));
  if (!shape) {
    TENON_ASSIGN_OR_RETURN(const Value scalar, splat({}));
    return node.Return(node.Make<ten::DynamicExpandOp>(scalar, node.input(0)));
  }
  std::vector<int64_t> dims;
  for (DimExpr dim : *shape) {
    if (dim.is_constant()) dims.push_back(dim.constant());
  }
  if (dims.size() == shape->size()) {
    const absl::StatusOr<size_t> size = CheckedByteSize(dtype, dims);
    if (!size.ok()) {
      return node.Error(fmt::format("the shape of ConstantOfShape {}", MessageOf(size.status())));
    }
    if (*size / SizeOf(dtype) <= kMaxSplatElements) return node.Return(splat(dims));
  }
  TENON_ASSIGN_OR_RETURN(const Value scalar, splat({}));
  return node.Return(node.Make<ten::ExpandOp>(scalar, ten::ExpandOp::Attrs{.shape = *shape}));
}

absl::Status ImportRange(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  node.MarkRead("stash_type");
  // Some function bodies write vectors of one element.
  Value scalars[3];
  for (int i = 0; i < 3; ++i) {
    scalars[i] = node.input(i);
    if (scalars[i].type().rank() == 0) continue;
    TENON_ASSIGN_OR_RETURN(scalars[i],
                           node.Make<ten::ReshapeOp>(scalars[i], ten::ReshapeOp::Attrs{}));
  }
  TENON_ASSIGN_OR_RETURN(Value range, node.Make<ten::RangeOp>(scalars[0], scalars[1], scalars[2]));
  // The bounds are often sizes of other tensors, and its own size follows from them.
  const ShapeData& data = node.importer().shape_data();
  DimExpr bounds[3];
  for (int i = 0; i < 3; ++i) {
    const ShapeElements* found = data.FindKnown(node.input(i));
    if (found == nullptr || found->size() != 1) return node.Return(range);
    bounds[i] = found->front();
  }
  const DimExpr extent = RangeExtent(bounds[0], bounds[1], bounds[2]);
  if (!extent.is_unknown()) {
    range.set_type(WithDims(range.type(), std::span(&extent, 1)));
    node.importer().Register(range.defining_op());
  }
  return node.Return(range);
}

}  // namespace tenon::onnx
