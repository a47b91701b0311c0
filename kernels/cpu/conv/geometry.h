// Convolution and pooling over images with channels last, as two spatial axes.
#ifndef TENON_KERNELS_CPU_CONV_GEOMETRY_H_
#define TENON_KERNELS_CPU_CONV_GEOMETRY_H_

#include <string>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/cpu/conv/channelwise.h"
#include "kernels/cpu/support.h"

namespace tenon::kernels::cpu {

// The extents of a call. x is [batch, rows.in, columns.in, channels], and the result is [batch,
// height, width, filters]. A single spatial axis is the columns of one row.
struct ImageGeometry {
  int64_t batch, channels, filters, height, width;
  WindowAxis rows, columns;  // of the window
};

// Returns an empty string if the call is on f32 with channels last and one or two spatial axes,
// else the reason.
template <typename Attrs>
std::string RequireImages(const CallSignature& call) {
  const int rank = call.inputs[0].rank();
  if (!ImageLayout::Of(*static_cast<const Attrs*>(call.attrs)).channels_last()) {
    return "needs channels last";
  }
  if (rank < 3 || rank > 4) return "needs one or two spatial axes";
  return RequireF32(call);
}

// Returns the extents of a call that RequireImages accepts. `kernel` has those of the window.
template <typename Attrs>
ImageGeometry GeometryOf(const Attrs& attrs, DimSpan kernel, DimSpan x, DimSpan out) {
  const ImageLayout layout = ImageLayout::Of(attrs);
  const DimSpan in = layout.Spatial(x), result = layout.Spatial(out);
  const Window window = Window::Of(attrs, kernel, in, result);
  const auto axis = [&](size_t i) -> WindowAxis {
    return {window.kernel[i],     window.strides[i],  window.dilations[i],
            window.pads_begin[i], window.pads_end[i], in[i]};
  };
  const size_t last = in.size() - 1;
  return {.batch = x[0],
          .channels = x.back(),
          .filters = out.back(),
          .height = last == 0 ? 1 : result[0],
          .width = result[last],
          .rows = last == 0 ? WindowAxis{1, 1, 1, 0, 0, 1} : axis(0),
          .columns = axis(last)};
}

// The same for a convolution.
template <typename Attrs>
ImageGeometry GeometryOf(const Attrs& attrs, const PrepareArgs& args) {
  return GeometryOf(attrs, args.inputs[1].shape.subspan(2), args.inputs[0].shape,
                    args.outputs[0].shape);
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_GEOMETRY_H_
