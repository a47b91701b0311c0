// Launches of emulated kernels.
#ifndef TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_
#define TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_

#include <functional>

namespace tenon::kernels::gpu::emulator {

// Runs a launch. The definition in launch_now.cc runs it at once; another one may run it when the
// stream reaches it.
void Launch(void* stream, std::function<void()> run);

}  // namespace tenon::kernels::gpu::emulator

#endif  // TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_
