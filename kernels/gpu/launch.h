// One launcher per kernel of launches.def, defined in the .cu files: device code, or its emulation
// on the CPU.
#ifndef TENON_KERNELS_GPU_LAUNCH_H_
#define TENON_KERNELS_GPU_LAUNCH_H_

#include <string>

#include "kernels/gpu/params.h"

namespace tenon::kernels::gpu {

using StreamHandle = void*;  // a cudaStream_t

#define TENON_GPU_LAUNCH(Name) void LaunchOn(StreamHandle stream, const Name##Params& params);
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH
// Launches a product that the library does not support.
void LaunchOn(StreamHandle stream, const MatMulParams& params);

// Returns the compute capabilities for which the device code was compiled, such as "8.0 and 9.0".
std::string TargetsOfDeviceCode();
// Returns a kernel that does nothing. A device that can load it can load all kernels.
const void* ProbeKernel();

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_LAUNCH_H_
