// Arguments of kernels that move elements unchanged.
#ifndef TENON_KERNELS_GPU_PARAMS_MOVEMENT_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_MOVEMENT_PARAMS_H_

#include <cstdint>

#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// out[i] = in[offset + position of i]: transposes, slices, broadcasts, repetitions.
struct StridedCopyParams {
  int size;  // bytes of an element: 1, 2, 4, 8, 16
  const void* in;
  void* out;
  int64_t n, offset;
  Strided<1> at;
};

// Rows of `width` bytes from one pitch to another: parts of concat and split.
struct PieceCopyParams {
  const void* in;
  void* out;
  int64_t rows, width, in_pitch, out_pitch;
};

// out[o, i, :] = in[o, indices[i], :], slices of `width` bytes.
struct GatherParams {
  const void* in;
  const void* indices;
  void* out;
  int64_t outer, extent, count, width;
  bool wide_indices;  // i64, not i32
  DeviceError* error;
};

// out[i] = in at the place of i but for the axis, where the index at i says where. Elements of
// `size` bytes.
struct GatherElementsParams {
  int size;
  bool wide_indices;
  const void* in;
  const void* indices;
  void* out;
  int64_t n, extent, step;  // of the axis in `in`
  Strided<1> at;            // with a step of 0 along the axis
  DeviceError* error;
};

// out = x, whose elements must lie in [low, high].
struct CheckRangeParams {
  bool wide;  // i64, not i32
  const void* x;
  const void* low;
  const void* high;
  void* out;
  int64_t n;
  Strided<3> at;     // of x, low and high
  const char* what;  // x in words, in the memory of the host
  DeviceError* error;
};

// out[i] = in at the place of i, moved by what was padded; outside of it `value`, or what the mode
// says. Elements of `size` bytes.
enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
struct PadParams {
  int size;
  PadMode mode;
  const void* in;
  const void* value;  // one element, or null: zero
  void* out;
  int64_t n;
  int rank;
  int64_t out_shape[kMaxAxes], in_shape[kMaxAxes], strides[kMaxAxes], begins[kMaxAxes];
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_MOVEMENT_PARAMS_H_
