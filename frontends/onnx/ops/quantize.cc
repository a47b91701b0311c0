// Quantisation, as arithmetic on floats.
#include <fmt/format.h>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/quantized_arithmetic.h"
#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// The numbers that fit an integer of 2 to 16 bits.
struct Range {
  double min, max;
};

absl::StatusOr<Range> RangeOf(const Node& node, DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return Range{0, 255};
    case DType::kI8:
      return Range{-128, 127};
    case DType::kU16:
      return Range{0, 65535};
    case DType::kI16:
      return Range{-32768, 32767};
    case DType::kU4:
      return Range{0, 15};
    case DType::kI4:
      return Range{-8, 7};
    case DType::kU2:
      return Range{0, 3};
    case DType::kI2:
      return Range{-2, 1};
    default:
      return node.Unsupported(fmt::format("{} to {}", node.op_type(), Name(dtype)),
                              "integers of 2 to 16 bits or floats of 4 or 8 bits");
  }
}

// Lays scales or zero points over x: one for all, one for each index of the axis, or one for each
// block of the axis.
absl::StatusOr<Value> Spread(Node& node, Formula& f, Value v) {
  const Value x = node.input(0);
  const int64_t rank = x.type().rank();
  TENON_ASSIGN_OR_RETURN(const int64_t block, node.Int("block_size", 0));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  Formula::Dims dims = Formula::DimsOf(v);
  if (dims.empty()) return v;
  if (block == 0 && dims.size() == 1) {
    if (dims[0].is_constant(1)) return f.Reshape(v, {});
    TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
    return f.Along(v, axis, rank);
  }
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
  if (block < 1 || static_cast<int64_t>(dims.size()) != rank) {
    return node.Error(fmt::format("{} has scales of rank {} for an input of rank {}",
                                  node.op_type(), dims.size(), rank));
  }
  Formula::Dims split = dims;
  split.insert(split.begin() + axis + 1, f.One());
  const Value blocks = f.Reshape(v, split);
  // A block that is longer than the axis ends with it.
  const DimExpr length = Min(node.Dim(block), x.type().dim(axis));
  split[axis + 1] = length;
  const Value repeated = f.Expand(blocks, split);
  dims[axis] = dims[axis] * length;
  const Value joined = f.Reshape(repeated, dims);
  // The last block may be cut off.
  return f.Make<ten::SliceOp>(
      joined,
      ten::SliceOp::Attrs{
          .axes = {axis}, .starts = {node.Dim(0)}, .ends = {x.type().dim(axis)}, .steps = {1}});
}

Value Clip(Formula& f, Value x, Range range) {
  return f.Make<ten::ClipOp>(x, ten::ClipOp::Attrs{.min = range.min, .max = range.max});
}

absl::StatusOr<DType> OutputType(const Node& node, DType otherwise) {
  TENON_ASSIGN_OR_RETURN(const int64_t type, node.Int("output_dtype", 0));
  if (type == 0) return otherwise;
  const DType dtype = DTypeOf(static_cast<int32_t>(type));
  if (dtype != DType::kInvalid) return dtype;
  return node.Unsupported(
      fmt::format("{} to {}", node.op_type(), OnnxTypeName(static_cast<int32_t>(type))),
      "integers of 2 to 16 bits or floats of 4 to 32 bits");
}

// Integers of 4 and 2 bits lie in memory as bytes do. A constant becomes one of bytes, in which the
// rules for quantized layers know weights.
absl::StatusOr<Value> AsBytes(Node& node, Value x) {
  if (!x || !IsNarrowInt(x.type().dtype())) return x;
  const DType byte = HoldsSigned(x.type().dtype()) ? DType::kI8 : DType::kU8;
  const core::ConstantOp constant = DefinedBy<core::ConstantOp>(x);
  if (!constant) return node.Make<q::DecodeOp>(x, q::DecodeOp::Attrs{.to = byte});
  return node.MakeConstant(
      Attribute::Elements(node.context(), WithDType(x.type(), byte), constant.value().DenseBlob()));
}

// The type in which an element is divided by its scale.
absl::StatusOr<DType> PrecisionOf(const Node& node, DType scale) {
  TENON_ASSIGN_OR_RETURN(const int64_t type, node.Int("precision", 0));
  if (type == 0) return IsNarrow(scale) ? DType::kF32 : scale;
  const DType dtype = DTypeOf(static_cast<int32_t>(type));
  if (IsFloat(dtype)) return dtype;
  return node.Unsupported(fmt::format("{} with the precision {}", node.op_type(),
                                      OnnxTypeName(static_cast<int32_t>(type))),
                          "floats of 16 to 64 bits");
}

}  // namespace

absl::Status ImportDequantizeLinear(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const DType dtype = node.input(1).type().dtype();
  TENON_ASSIGN_OR_RETURN(const DType result,
                         OutputType(node, IsNarrow(dtype) ? DType::kF32 : dtype));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value scale, Spread(node, f, node.input(1)));
  TENON_ASSIGN_OR_RETURN(const Value elements, AsBytes(node, node.input(0)));
  Value x = f.Cast(elements, DType::kF32);
  if (node.input(2)) {
    TENON_ASSIGN_OR_RETURN(const Value bytes, AsBytes(node, node.input(2)));
    TENON_ASSIGN_OR_RETURN(const Value zero, Spread(node, f, bytes));
    x = f.Sub(x, f.Cast(zero, DType::kF32));
  }
  return f.Return(f.Cast(f.Mul(x, f.Cast(scale, DType::kF32)), result));
}

absl::Status ImportQuantizeLinear(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TENON_ASSIGN_OR_RETURN(const int64_t saturate, node.Int("saturate", 1));
  TENON_ASSIGN_OR_RETURN(
      const DType result,
      OutputType(node, node.input(2) ? node.input(2).type().dtype() : DType::kU8));
  TENON_ASSIGN_OR_RETURN(const DType dtype, PrecisionOf(node, node.input(1).type().dtype()));
  Range range{};
  if (!IsNarrowFloat(result)) {
    TENON_ASSIGN_OR_RETURN(range, RangeOf(node, result));
  }
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value scale, Spread(node, f, node.input(1)));
  Value x = f.Div(f.Cast(node.input(0), dtype), f.Cast(scale, dtype));
  if (!IsNarrowFloat(result)) x = f.Make<ten::RoundOp>(x);
  x = f.Cast(x, DType::kF32);
  if (node.input(2)) {
    TENON_ASSIGN_OR_RETURN(const Value zero, Spread(node, f, node.input(2)));
    x = f.Add(x, f.Cast(zero, DType::kF32));
  }
  if (!IsNarrowFloat(result)) return f.Return(f.Cast(Clip(f, x, range), result));
  return f.Return(f.Encode(x, result, saturate != 0, "nearest"));
}

absl::Status ImportDynamicQuantizeLinear(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  const QuantizedByRange x = QuantizeByRange(f, node.input(0));
  TENON_RETURN_IF_ERROR(f.Return(f.Cast(x.elements, DType::kU8)));
  if (node.num_outputs() > 1) TENON_RETURN_IF_ERROR(f.Return(x.scale, 1));
  return node.num_outputs() > 2 ? f.Return(f.Cast(x.zero_point, DType::kU8), 2) : absl::OkStatus();
}

}  // namespace tenon::onnx
