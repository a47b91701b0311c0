// Arithmetic on quantised numbers that several ops have.
#ifndef TENON_FRONTENDS_ONNX_QUANTIZE_H_
#define TENON_FRONTENDS_ONNX_QUANTIZE_H_

#include "frontends/onnx/formula.h"

namespace tenon::onnx {

// x in 255 steps over the range of it and 0. `elements` and `zero_point` are the bytes, as floats
// of x's type; scale and zero point are scalars. The scale is 1 where x is 0 alone.
struct QuantizedByRange {
  Value elements, scale, zero_point;
};
QuantizedByRange QuantizeByRange(Formula& f, Value x);

bool IsByte(DType dtype);

// (a - a_zero) * (b - b_zero) as q.linear, of element type `to`; zero points may be null. Null
// where the operands have not the form for it: bytes, by a constant matrix whose zero points are
// constant.
Value QuantizedLinear(Formula& f, Value a, Value a_zero, Value b, Value b_zero, DType to);

// (a - a_zero) * (b - b_zero) * scale in f32: as QuantizedLinear where that is possible. Zero
// points may be null; they and the scale broadcast.
Value ScaledProduct(Formula& f, Value a, Value a_zero, Value b, Value b_zero, Value scale);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_QUANTIZE_H_
