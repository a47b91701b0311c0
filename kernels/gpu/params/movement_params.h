// Arguments of kernels that move elements unchanged.
#ifndef TENON_KERNELS_GPU_PARAMS_MOVEMENT_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_MOVEMENT_PARAMS_H_

#include <cstdint>

#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// out[i] = in[offset + position of i] for n elements: transposes, slices, broadcasts, repetitions.
struct StridedCopyParams {
  int size;  // bytes of an element: 1, 2, 4, 8, 16
  const void* in;
  void* out;
  int64_t n, offset;
  Strided<1> at;
};

// Copies rows of `width` bytes from one pitch to another, in bytes: parts of concat and split.
struct PieceCopyParams {
  const void* in;
  void* out;
  int64_t rows, width, in_pitch, out_pitch;
};

// out[o, i, :] = in[o, indices[i], :] for slices of `width` bytes. `count` is the number of
// indices, `extent` that of rows in `in`.
struct GatherParams {
  const void* in;
  const void* indices;
  void* out;
  int64_t outer, extent, count, width;
  bool wide_indices;  // i64, not i32
  DeviceError* error;
};

// out[i] = in at the position of i, with indices[i] as the coordinate along the axis. Elements have
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

// out = x. Reports an element outside of [low, high].
struct CheckRangeParams {
  bool wide;  // i64, not i32
  const void* x;
  const void* low;
  const void* high;
  void* out;
  int64_t n;
  Strided<3> at;     // of x, low and high
  const char* what;  // x in words, in host memory
  DeviceError* error;
};

// The elements outside of the padded tensor.
enum class PadMode : uint8_t {
  kConstant,  // `value`
  kReflect,   // mirrored at the edge, which is not repeated
  kEdge,      // the element at the edge
  kWrap       // those from the other end
};
// out[i] = in at the position of i less `begins`; beyond `in`, by the mode. Elements have `size`
// bytes.
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
