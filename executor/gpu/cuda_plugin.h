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

// Opens the file that TENON_CUDA_PLUGIN names in the environment. Without one, looks for
// libtenon_cuda.so beside the file of this program or library, in ../lib of that folder, and where
// the system's loader looks. Never looks in the working directory. Unavailable, and what is
// missing, if this installation has no plugin, the plugin's libraries or the driver are not
// installed, or the machine has no such device.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenCudaDevice(int ordinal = 0);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_
