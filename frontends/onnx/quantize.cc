#include "frontends/onnx/quantize.h"

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

}  // namespace

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
  return f.Mul(f.Make<ten::MatmulOp>(Centred(f, a, a_zero), Centred(f, b, b_zero)), scale);
}

}  // namespace tenon::onnx
