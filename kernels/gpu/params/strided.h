// Operands over one index space, and what kernels report, which all families of kernels share.
#ifndef TENON_KERNELS_GPU_PARAMS_STRIDED_H_
#define TENON_KERNELS_GPU_PARAMS_STRIDED_H_

#include <cstdint>

namespace tenon::kernels::gpu {

inline constexpr int kMaxAxes = 8;

// Where N operands lie over one index space, in elements. Row-major order of the index.
template <int N>
struct Strided {
  int rank = 0;
  int64_t shape[kMaxAxes] = {};
  int64_t strides[N][kMaxAxes] = {};
};

// What a kernel found wrong with values that the host cannot see; the first finding stays. In
// device memory.
struct DeviceError {
  enum Kind : int32_t {
    kNone,
    kGatherIndex,
    kEmbeddingIndex,
    kGatherElementsIndex,
    kPosition,
    kRange
  };
  int32_t kind = kNone;
  int64_t value = 0, extent = 0;
  // Of kRange, which has no extent. The text is in the memory of the host, which alone reads it.
  int64_t low = 0, high = 0;
  const char* what = nullptr;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_STRIDED_H_
