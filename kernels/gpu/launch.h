// The launchers: one for each kernel of launches.def, defined in the .cu files. Device code, or its
// emulation on the CPU.
#ifndef TENON_KERNELS_GPU_LAUNCH_H_
#define TENON_KERNELS_GPU_LAUNCH_H_

#include "kernels/gpu/params.h"

namespace tenon::kernels::gpu {

using StreamHandle = void*;  // a cudaStream_t

#define TENON_GPU_LAUNCH(Name) void LaunchOn(StreamHandle stream, const Name##Params& params);
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH
// Of products, for what the library does not do.
void LaunchOn(StreamHandle stream, const MatMulParams& params);

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_LAUNCH_H_
