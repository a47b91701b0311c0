// Opening a CUDA device. The library itself does not depend on CUDA: kernels and library calls are
// in a plugin.
#ifndef TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_
#define TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_

#include <memory>

#include "absl/status/statusor.h"

namespace tenon::kernels::gpu {
class Device;
}

namespace tenon {

// Opens device `ordinal` with the plugin that TENON_CUDA_PLUGIN names in the environment. Without
// that, looks for libtenon_cuda.so beside the file of this program or library, in ../lib of that
// folder, and where the dynamic loader looks. It never looks in the working directory.
//
// Unavailable, with what is missing, if there is no plugin, its libraries or the driver are not
// installed, or the machine has no such device.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenCudaDevice(int ordinal = 0);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_CUDA_PLUGIN_H_
