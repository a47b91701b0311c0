// Arithmetic on quantized numbers, shared by several ops.
#ifndef TENON_FRONTENDS_ONNX_OPS_QUANTIZED_ARITHMETIC_H_
#define TENON_FRONTENDS_ONNX_OPS_QUANTIZED_ARITHMETIC_H_

#include "frontends/onnx/formula.h"

namespace tenon::onnx {

// x in 255 steps over its range extended to 0. `elements` and `zero_point` are the bytes, as floats
// of the type of x. `scale` and `zero_point` are scalars. The scale is 1 if x is 0 everywhere.
struct QuantizedByRange {
  Value elements, scale, zero_point;
};
QuantizedByRange QuantizeByRange(Formula& f, Value x);

bool IsByte(DType dtype);

// Returns (a - a_zero) * (b - b_zero) as q.linear with element type `to`; zero points may be null.
// Returns null if the operands do not have the form for it: bytes times a constant matrix with
// constant zero points.
Value QuantizedLinear(Formula& f, Value a, Value a_zero, Value b, Value b_zero, DType to);

// Returns (a - a_zero) * (b - b_zero) * scale in f32, with QuantizedLinear if possible. Zero points
// may be null; they and the scale broadcast.
Value ScaledProduct(Formula& f, Value a, Value a_zero, Value b, Value b_zero, Value scale);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_QUANTIZED_ARITHMETIC_H_
