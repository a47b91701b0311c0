// Elementwise ops that take more than a change of name.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "ir/base/check.h"
#include "ir/dialect/str_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A bound of Clip as a scalar: some exporters write a vector of one element.
absl::StatusOr<Value> AsScalar(Node& node, Value value) {
  if (value.type().rank() == 0) return value;
  return node.Make<ten::ReshapeOp>(value, ten::ReshapeOp::Attrs{});
}

// Cast and CastLike, with the attributes that narrow floats have.
absl::Status CastTo(Node& node, DType dtype) {
  TENON_ASSIGN_OR_RETURN(const int64_t saturate, node.Int("saturate", 1));
  TENON_ASSIGN_OR_RETURN(std::string rounding, node.Str("round_mode", "up"));
  if (rounding != "up" && rounding != "down" && rounding != "nearest") {
    return node.Error(fmt::format("round_mode of {} is \"{}\" (expected up, down or nearest)",
                                  node.op_type(), rounding));
  }
  Formula f(node);
  Value x = node.input(0);
  if (const std::optional<Container> strings = Unwrap(x)) {
    const DType read = IsNarrow(dtype) ? DType::kF32 : dtype;
    x = f.Make<str::ToNumberOp>(strings->spans(), strings->bytes(),
                                str::ToNumberOp::Attrs{.to = read});
  }
  // An f4E2M1FN has no other number than the largest one to become.
  if (!IsNarrowFloat(dtype) || dtype == DType::kF4E2M1FN) return f.Return(f.Cast(x, dtype));
  if (dtype != DType::kF8E8M0FNU) rounding = "nearest";
  return f.Return(f.Encode(x, dtype, saturate != 0, std::move(rounding)));
}

absl::Status CastToStrings(Node& node) {
  if (HasStrings(node, 0)) return node.Return(node.input(0));
  Formula f(node);
  const Value x = node.input(0);
  const bool narrow = IsNarrow(x.type().dtype());
  const Value spans = f.Make<str::FromNumberOp>(narrow ? f.Cast(x, DType::kF32) : x);
  TENON_RETURN_IF_ERROR(f.status());
  return ReturnStrings(f, node, StringsOf(spans, spans.defining_op()->result(1)));
}

// a op b op c ...; a single input is passed on.
template <typename Op>
absl::StatusOr<Value> Chain(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, std::numeric_limits<int>::max()));
  Value result = node.input(0);
  for (int i = 1; i < node.num_inputs(); ++i) {
    if (!node.input(i))
      return node.Error(fmt::format("input {} of {} is missing", i, node.op_type()));
    TENON_ASSIGN_OR_RETURN(result, node.Make<Op>(result, node.input(i)));
  }
  return result;
}

// The largest finite number of a type of floats.
double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

// Can every element of such a constant be an F64 attribute?
bool FitsDouble(Attribute elements) {
  if (!elements || elements.type().num_elements() != 1) return false;
  if (!IsInt(elements.type().dtype())) return true;
  constexpr int64_t kExact = int64_t{1} << 53;
  const int64_t value = elements.ElementAsInt(0);
  // Of u64, the numbers from 2^63 on are negative here.
  const int64_t least = IsUnsignedInt(elements.type().dtype()) ? 0 : -kExact;
  return value >= least && value <= kExact;
}

}  // namespace

absl::Status ImportCast(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t to, node.Int("to", 0));
  const DType dtype =
      to == static_cast<int32_t>(to) ? DTypeOf(static_cast<int32_t>(to)) : DType::kInvalid;
  if (dtype == DType::kInvalid) {
    node.MarkRead("saturate");
    node.MarkRead("round_mode");
    if (to == onnxpb::TensorProto::STRING) return CastToStrings(node);
    return node.Unsupported(fmt::format("Cast to {}", OnnxTypeName(static_cast<int32_t>(to))),
                            "booleans, floats of 4, 8 and 16 to 64 bits, integers or strings");
  }
  return CastTo(node, dtype);
}

absl::Status ImportCastLike(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  if (HasStrings(node, 1)) return CastToStrings(node);
  return CastTo(node, node.input(1).type().dtype());
}

absl::Status ImportClip(Node& node) {
  ten::ClipOp::Attrs attrs;
  if (node.version() < 11) {
    TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
    TENON_ASSIGN_OR_RETURN(attrs.min, node.Float("min", std::numeric_limits<float>::lowest()));
    TENON_ASSIGN_OR_RETURN(attrs.max, node.Float("max", std::numeric_limits<float>::max()));
    return node.Return(node.Make<ten::ClipOp>(node.input(0), attrs));
  }
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 3));
  const bool constant = (!node.input(1) || FitsDouble(node.Constant(1))) &&
                        (!node.input(2) || FitsDouble(node.Constant(2)));
  if (constant) {
    if (node.input(1)) attrs.min = node.Constant(1).ElementAsDouble(0);
    if (node.input(2)) attrs.max = node.Constant(2).ElementAsDouble(0);
    // The largest number stands for an absent bound. It wins over a lower bound above it.
    if (!node.input(2) && std::isinf(attrs.min) && attrs.min > 0)
      attrs.max = LargestOf(node.input(0).type().dtype());
    if (!node.input(1) && !node.input(2)) return node.Return(node.input(0));
    return node.Return(node.Make<ten::ClipOp>(node.input(0), attrs));
  }
  Value result = node.input(0);
  if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(const Value min, AsScalar(node, node.input(1)));
    TENON_ASSIGN_OR_RETURN(result, node.Make<ten::MaxOp>(result, min));
  }
  if (node.input(2)) {
    TENON_ASSIGN_OR_RETURN(const Value max, AsScalar(node, node.input(2)));
    TENON_ASSIGN_OR_RETURN(result, node.Make<ten::MinOp>(result, max));
  }
  return node.Return(result);
}

absl::Status ImportBitCast(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t to, node.Int("to", 0));
  const auto type = static_cast<int32_t>(to);
  const DType dtype = to == type ? DTypeOf(type) : DType::kInvalid;
  const DType from = node.input(0).type().dtype();
  const auto is_byte = [](DType d) { return !IsNarrow(d) || BitsOf(d) == 8; };
  if (dtype == DType::kInvalid || SizeOf(dtype) != SizeOf(from) || !is_byte(dtype) ||
      !is_byte(from)) {
    return node.Unsupported(fmt::format("BitCast from {} to {}", Name(from), OnnxTypeName(type)),
                            "element types of one size, of at least 8 bits");
  }
  return node.Return(node.Make<ten::BitcastOp>(node.input(0), ten::BitcastOp::Attrs{.to = dtype}));
}

absl::Status ImportIdentity(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  return node.Return(node.input(0));
}

absl::Status ImportMax(Node& node) { return node.Return(Chain<ten::MaxOp>(node)); }
absl::Status ImportMin(Node& node) { return node.Return(Chain<ten::MinOp>(node)); }
absl::Status ImportSum(Node& node) { return node.Return(Chain<ten::AddOp>(node)); }

absl::Status ImportMean(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Value sum, Chain<ten::AddOp>(node));
  if (node.num_inputs() == 1) return node.Return(sum);
  TENON_ASSIGN_OR_RETURN(const Value count, node.MakeScalar(sum.type().dtype(), node.num_inputs()));
  return node.Return(node.Make<ten::DivOp>(sum, count));
}

}  // namespace tenon::onnx
