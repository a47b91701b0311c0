// Opening a CUDA device. The library itself has no CUDA dependency: kernels and library calls are
// in a shared object of their own.
#ifndef TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_
#define TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_

#include <memory>

#include "absl/status/statusor.h"

namespace tenon::kernels::gpu {
class Device;
}

namespace tenon {

// Looks for libtenon_cuda.so where the environment's TENON_CUDA_PLUGIN says, next to this program
// or library, in
// ../lib of that, and where the system's loader looks. Unavailable, and what is missing, if this
// installation has no plugin, the plugin's libraries or the driver are not installed, or the
// machine has no such device.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenCudaDevice(int ordinal = 0);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_
