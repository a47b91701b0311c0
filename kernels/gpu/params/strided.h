// Operands over one index space, and error reports, for all families of kernels.
#ifndef TENON_KERNELS_GPU_PARAMS_STRIDED_H_
#define TENON_KERNELS_GPU_PARAMS_STRIDED_H_

#include <cstdint>

namespace tenon::kernels::gpu {

inline constexpr int kMaxAxes = 8;  // of an index space

// The positions of N operands over one index space. The index is in row-major order.
template <int N>
struct Strided {
  int rank = 0;                       // number of axes
  int64_t shape[kMaxAxes] = {};       // extents of the index space
  int64_t strides[N][kMaxAxes] = {};  // by operand and axis, in elements
};

// An error that a kernel finds in values that the host cannot see. It lies in device memory. The
// first report stays.
struct DeviceError {
  // The kind of an error.
  enum Kind : int32_t {
    kNone,                 // no error
    kGatherIndex,          // an index of ten.gather
    kEmbeddingIndex,       // an index of fused.embedding
    kGatherElementsIndex,  // an index of ten.gather_elements
    kPosition,             // a position of nn.rotary_embedding
    kRange                 // a value of ten.check_range
  };
  int32_t kind = kNone;        // a Kind
  int64_t value = 0,           // the wrong value
      extent = 0;              // the extent that it exceeds; kRange has none
  int64_t low = 0,             // kRange: the lower bound
      high = 0;                // kRange: the upper bound
  const char* what = nullptr;  // kRange: the value in words, in host memory
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_STRIDED_H_
