// Geometry of convolution and pooling windows, with defaults and automatic padding resolved.
#ifndef TENON_KERNELS_CALLS_WINDOW_H_
#define TENON_KERNELS_CALLS_WINDOW_H_

#include "kernels/shape.h"

namespace tenon::kernels {

struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;

  // `Attrs` is a struct with strides, pads, dilations and auto_pad. `in` and `out` are spatial
  // extents.
  template <typename Attrs>
  static Window Of(const Attrs& attrs, DimSpan kernel, DimSpan in, DimSpan out) {
    using AutoPad = decltype(attrs.auto_pad);
    Window w;
    const size_t rank = kernel.size();
    for (size_t i = 0; i < rank; ++i) {
      w.kernel.push_back(kernel[i]);
      w.strides.push_back(i < attrs.strides.size() ? attrs.strides[i] : 1);
      w.dilations.push_back(i < attrs.dilations.size() ? attrs.dilations[i] : 1);
      int64_t begin = 0, end = 0;
      if (attrs.auto_pad == AutoPad::kNotset && attrs.pads.size() == 2 * rank) {
        begin = attrs.pads[i];
        end = attrs.pads[rank + i];
      } else if (attrs.auto_pad == AutoPad::kSameUpper || attrs.auto_pad == AutoPad::kSameLower) {
        const int64_t span = (kernel[i] - 1) * w.dilations[i] + 1;
        const int64_t total = std::max<int64_t>(0, (out[i] - 1) * w.strides[i] + span - in[i]);
        begin = attrs.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
        end = total - begin;
      }
      w.pads_begin.push_back(begin);
      w.pads_end.push_back(end);
    }
    return w;
  }

  size_t rank() const { return kernel.size(); }
  // Returns the input position of window element `k` at output position `o`. It may lie in the
  // padding.
  int64_t At(size_t axis, int64_t o, int64_t k) const {
    return o * strides[axis] - pads_begin[axis] + k * dilations[axis];
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_WINDOW_H_
