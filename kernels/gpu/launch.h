// The launchers: one for each kernel of launches.def, defined in the .cu files. Device code, or its
// emulation on the CPU.
#ifndef TENON_KERNELS_GPU_LAUNCH_H_
#define TENON_KERNELS_GPU_LAUNCH_H_

#include <string>

#include "kernels/gpu/params.h"

namespace tenon::kernels::gpu {

using StreamHandle = void*;  // a cudaStream_t

#define TENON_GPU_LAUNCH(Name) void LaunchOn(StreamHandle stream, const Name##Params& params);
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH
// Of products, for what the library does not do.
void LaunchOn(StreamHandle stream, const MatMulParams& params);

// The compute capabilities that the device code was compiled for: "8.0 and 9.0".
std::string TargetsOfDeviceCode();
// A kernel that does nothing. A device that can load it can load all of them.
const void* ProbeKernel();

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_LAUNCH_H_
