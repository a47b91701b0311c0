// What the operands of ten.dynamic_resize demand.
#ifndef TENON_KERNELS_CALLS_RESIZE_REQUEST_H_
#define TENON_KERNELS_CALLS_RESIZE_REQUEST_H_

#include <span>
#include <string>
#include <vector>

#include "kernels/op_attrs.h"
#include "kernels/tensor_view.h"

namespace tenon::kernels {

struct ResizeRequest {
  std::vector<int64_t> sizes;  // of all axes
  std::vector<float> scales;   // of all axes; empty: out / in
  std::vector<float> roi;      // starts, then ends, of all axes; empty if there is no region
  std::string error;           // the mistake in the operands; empty if there is none
};

// `inputs` are x, roi, scales and sizes, with data.
ResizeRequest ReadResizeRequest(const ten::DynamicResizeAttrs& attrs,
                                std::span<const TensorView> inputs);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_RESIZE_REQUEST_H_
