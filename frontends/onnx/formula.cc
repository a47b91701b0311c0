#include "frontends/onnx/formula.h"

#include <fmt/format.h>

#include <utility>

#include "ir/dialect/core_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {

Value Formula::Take(absl::StatusOr<Value> value) {
  if (value.ok()) return *value;
  if (status_.ok()) status_ = value.status();
  return Value();
}

Value Formula::Add(Value a, Value b) { return Make<ten::AddOp>(a, b); }
Value Formula::Sub(Value a, Value b) { return Make<ten::SubOp>(a, b); }
Value Formula::Mul(Value a, Value b) { return Make<ten::MulOp>(a, b); }
Value Formula::Div(Value a, Value b) { return Make<ten::DivOp>(a, b); }
Value Formula::And(Value a, Value b) { return Make<ten::AndOp>(a, b); }

Value Formula::Where(Value condition, Value a, Value b) {
  return Make<ten::WhereOp>(condition, a, b);
}

Value Formula::Cast(Value x, DType dtype) {
  if (!status_.ok() || x.type().dtype() == dtype) return x;
  const DType from = x.type().dtype();
  if (IsNarrowInt(dtype)) return Encode(x, dtype, /*saturate=*/false, "down");
  if (IsNarrow(dtype)) return Encode(x, dtype, /*saturate=*/true, "nearest");
  if (!IsNarrow(from)) return Make<ten::CastOp>(x, ten::CastOp::Attrs{.to = dtype});
  if (dtype == DType::kBool) return Cast(Cast(x, DType::kF32), dtype);
  return Make<q::DecodeOp>(x, q::DecodeOp::Attrs{.to = dtype});
}

Value Formula::Encode(Value x, DType to, bool saturate, std::string rounding) {
  if (!status_.ok() || x.type().dtype() == to) return x;
  const DType from = x.type().dtype();
  const Value number = IsInt(from) || IsFloat(from) ? x : Cast(x, DType::kF32);
  return Make<q::EncodeOp>(
      number, q::EncodeOp::Attrs{.to = to, .saturate = saturate, .rounding = std::move(rounding)});
}

Value Formula::Scalar(DType dtype, double value) {
  return status_.ok() ? Take(node_.MakeScalar(dtype, value)) : Value();
}

Value Formula::Ints(std::span<const int64_t> values) {
  if (!status_.ok()) return Value();
  const auto count = static_cast<int64_t>(values.size());
  const Type type = Type::Tensor(node_.context(), DType::kI64, std::span(&count, 1));
  return Take(
      node_.MakeConstant(Attribute::Elements(node_.context(), type, std::as_bytes(values))));
}

Value Formula::Extent(DimExpr dim) {
  if (dim.is_constant()) return Scalar(DType::kI64, static_cast<double>(dim.constant()));
  return Make<core::DimsOp>(core::DimsOp::Attrs{.dims = {dim}, .scalar = true});
}

Value Formula::Extents(const Dims& dims) {
  return Make<core::DimsOp>(core::DimsOp::Attrs{.dims = dims});
}

Value Formula::CheckRange(Value x, Value low, Value high, std::string what) {
  return Make<ten::CheckRangeOp>(x, low, high, ten::CheckRangeOp::Attrs{.what = std::move(what)});
}

Value Formula::CheckUpTo(Value x, Value high, std::string what) {
  return CheckRange(x, Scalar(DType::kI64, 0), high, std::move(what));
}

Value Formula::Reshape(Value x, Dims dims) {
  return Make<ten::ReshapeOp>(x, ten::ReshapeOp::Attrs{.shape = std::move(dims)});
}

Value Formula::Transpose(Value x, std::vector<int64_t> perm) {
  return Make<ten::TransposeOp>(x, ten::TransposeOp::Attrs{.perm = std::move(perm)});
}

Value Formula::SplitHeads(Value x, int64_t heads) {
  if (!ok()) return Value();
  const Dims dims = DimsOf(x);
  const Value split = Reshape(x, {dims[0], dims[1], node_.Dim(heads), FloorDiv(dims[2], heads)});
  return Transpose(split, {0, 2, 1, 3});
}

Value Formula::JoinHeads(Value x) {
  if (!ok()) return Value();
  const Dims dims = DimsOf(x);
  return Reshape(Transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

Value Formula::Expand(Value x, Dims dims) {
  return Make<ten::ExpandOp>(x, ten::ExpandOp::Attrs{.shape = std::move(dims)});
}

Value Formula::Steps(Value end, DimExpr extent) {
  const Value zero = Scalar(DType::kI64, 0), one = Scalar(DType::kI64, 1);
  const Value range = Make<ten::RangeOp>(zero, end, one);
  if (!status_.ok()) return Value();
  if (!extent) {
    const ShapeElements* known = node_.importer().shape_data().FindKnown(end);
    if (known == nullptr || known->size() != 1) return range;
    extent = known->front();
    if (!DimExpr::ProvablyLessEqual(node_.Dim(0), extent)) return range;
  }
  Value typed = range;
  typed.set_type(WithDims(range.type(), std::span(&extent, 1)));
  node_.importer().Register(range.defining_op());
  return typed;
}

Value Formula::Iota(DimExpr extent, int64_t axis, int64_t rank) {
  return Along(Steps(Extent(extent), extent), axis, rank);
}

Value Formula::Along(Value vector, int64_t axis, int64_t rank, DimExpr extent) {
  if (!status_.ok()) return Value();
  if (vector.type().rank() != 1) {
    status_ = node_.Error(
        fmt::format("{} needs a vector, got {}", node_.op_type(), vector.type().text()));
    return Value();
  }
  Dims dims(rank, One());
  dims[axis] = vector.type().dim(0);
  if (extent && !DimExpr::ProvablyEqual(dims[axis], extent)) {
    if (dims[axis].is_constant() && extent.is_constant()) {
      status_ = node_.Error(fmt::format("{} needs a vector of {} elements, got {}", node_.op_type(),
                                        extent.text(), vector.type().text()));
      return Value();
    }
    dims[axis] = extent;  // the run checks it
  }
  return Reshape(vector, std::move(dims));
}

Formula::Dims Formula::DimsOf(Value value) {
  if (!value || !value.type().is_tensor()) return {};
  return Dims(value.type().dims().begin(), value.type().dims().end());
}

absl::Status Formula::Return(Value value, int output) {
  if (!status_.ok()) return status_;
  node_.SetOutput(output, value);
  return absl::OkStatus();
}

}  // namespace tenon::onnx
