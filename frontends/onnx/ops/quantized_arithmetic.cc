#include "frontends/onnx/ops/quantized_arithmetic.h"

#include "ir/dialect/core_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

Value ClipToByte(Formula& f, Value x) {
  return f.Make<ten::ClipOp>(x, ten::ClipOp::Attrs{.min = 0.0, .max = 255.0});
}

Value Centred(Formula& f, Value x, Value zero) {
  const Value number = f.Cast(x, DType::kF32);
  return zero ? f.Sub(number, f.Cast(zero, DType::kF32)) : number;
}

bool HasTypeOf(Value zero, Value bytes) {
  return !zero || zero.type().dtype() == bytes.type().dtype();
}

bool IsOneNumber(Value zero) {
  if (!zero) return true;
  const Formula::Dims dims = Formula::DimsOf(zero);
  return dims.empty() || (dims.size() == 1 && dims[0].is_constant(1));
}

// Have the operands the form that q.linear takes? Weights and their zero points are constant.
bool IsQuantizedLinear(Value a, Value a_zero, Value b, Value b_zero) {
  if (!IsByte(a.type().dtype()) || !IsByte(b.type().dtype()) || a.type().rank() < 1) return false;
  if (!DefinedBy<core::ConstantOp>(b) || b.type().rank() != 2) return false;
  if (b_zero && !DefinedBy<core::ConstantOp>(b_zero)) return false;
  return HasTypeOf(a_zero, a) && HasTypeOf(b_zero, b) && IsOneNumber(a_zero) &&
         (!b_zero || b_zero.type().rank() <= 1);
}

}  // namespace

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

Value QuantizedLinear(Formula& f, Value a, Value a_zero, Value b, Value b_zero, DType to) {
  if (!f.ok() || !IsQuantizedLinear(a, a_zero, b, b_zero)) return Value();
  if (!a_zero) a_zero = f.Scalar(a.type().dtype(), 0);
  if (!b_zero) b_zero = f.Scalar(b.type().dtype(), 0);
  return f.Make<q::LinearOp>(a, b, a_zero, b_zero, q::LinearOp::Attrs{.to = to});
}

QuantizedByRange QuantizeByRange(Formula& f, Value x) {
  const DType dtype = x.type().dtype();
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < x.type().rank(); ++axis) axes.push_back(axis);
  const Value zero = f.Scalar(dtype, 0);
  const Value largest =
      f.Make<ten::ReduceMaxOp>(x, ten::ReduceMaxOp::Attrs{.axes = axes, .keepdims = false});
  const Value smallest =
      f.Make<ten::ReduceMinOp>(x, ten::ReduceMinOp::Attrs{.axes = axes, .keepdims = false});
  const Value high = f.Make<ten::MaxOp>(largest, zero), low = f.Make<ten::MinOp>(smallest, zero);
  const Value range = f.Sub(high, low);
  const Value scale = f.Where(f.Make<ten::EqualOp>(range, zero), f.Scalar(dtype, 1),
                              f.Div(range, f.Scalar(dtype, 255)));
  const Value offset = f.Make<ten::RoundOp>(f.Div(f.Sub(zero, low), scale));
  const Value zero_point = ClipToByte(f, offset);
  const Value scaled = f.Make<ten::RoundOp>(f.Div(x, scale));
  return {ClipToByte(f, f.Add(scaled, zero_point)), scale, zero_point};
}

Value ScaledProduct(Formula& f, Value a, Value a_zero, Value b, Value b_zero, Value scale) {
  Value sums = QuantizedLinear(f, a, a_zero, b, b_zero, DType::kF32);
  if (!f.ok()) return Value();
  if (!sums) sums = f.Make<ten::MatmulOp>(Centred(f, a, a_zero), Centred(f, b, b_zero));
  return f.Mul(sums, scale);
}

}  // namespace tenon::onnx
