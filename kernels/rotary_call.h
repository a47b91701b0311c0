// fused.rotary, reduced to rows of the last axis.
#ifndef TENON_KERNELS_ROTARY_CALL_H_
#define TENON_KERNELS_ROTARY_CALL_H_

#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

struct RotaryCall {
  int64_t rows = 0, size = 0, rotated = 0;  // size: elements of a row
  Dims outer;                               // the axes before the last one
  Dims cos_strides, sin_strides;            // of all axes, in elements; 0 where a table repeats

  static RotaryCall Of(const TensorView& x, const TensorView& cos, const TensorView& sin,
                       const fused::RotaryAttrs& attrs) {
    RotaryCall call;
    call.size = x.dim(-1);
    call.rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : call.size;
    call.outer.assign(x.shape.begin(), x.shape.end() - 1);
    call.rows = 1;
    for (int64_t extent : call.outer) call.rows *= extent;
    Dims shape = call.outer;
    shape.push_back(call.rotated);
    call.cos_strides = BroadcastStrides(cos.shape, shape);
    call.sin_strides = BroadcastStrides(sin.shape, shape);
    return call;
  }

  // Where a table's row for row `row` of x begins.
  int64_t Begin(const Dims& strides, int64_t row) const {
    int64_t at = 0;
    for (size_t i = outer.size(); i-- > 0; row /= outer[i]) at += row % outer[i] * strides[i];
    return at;
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_ROTARY_CALL_H_
