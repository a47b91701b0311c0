// The axes of image tensors: channels first, [N, C, spatial…], or last, [N, spatial…, C].
#ifndef TENON_KERNELS_CALLS_IMAGE_LAYOUT_H_
#define TENON_KERNELS_CALLS_IMAGE_LAYOUT_H_

#include "kernels/calls/window.h"
#include "kernels/shape.h"

namespace tenon::kernels {

class ImageLayout {
 public:
  // `Attrs` is an attribute struct with `layout`, or that of an op that has channels first only.
  template <typename Attrs>
  static ImageLayout Of(const Attrs& attrs) {
    if constexpr (requires { attrs.layout; }) {
      return ImageLayout(attrs.layout == decltype(attrs.layout)::kNhwc);
    } else {
      return ImageLayout(false);
    }
  }
  explicit ImageLayout(bool channels_last) : channels_last_(channels_last) {}

  bool channels_last() const { return channels_last_; }
  int64_t Channels(DimSpan shape) const { return channels_last_ ? shape.back() : shape[1]; }
  DimSpan Spatial(DimSpan shape) const {
    return shape.subspan(channels_last_ ? 1 : 2, shape.size() - 2);
  }
  // The distance between channels, and between positions, in elements.
  int64_t ChannelStride(DimSpan shape) const {
    return channels_last_ ? 1 : Product(Spatial(shape));
  }
  int64_t PositionStride(DimSpan shape) const { return channels_last_ ? shape.back() : 1; }

 private:
  bool channels_last_;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_IMAGE_LAYOUT_H_
