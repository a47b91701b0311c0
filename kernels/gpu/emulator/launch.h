// Where launches of emulated kernels go.
#ifndef TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_
#define TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_

#include <functional>

namespace tenon::kernels::gpu::emulator {

// Runs a launch: now (launch_now.cc), or when whoever else defines this says that the stream comes
// to it.
void Launch(void* stream, std::function<void()> run);

}  // namespace tenon::kernels::gpu::emulator

#endif  // TENON_KERNELS_GPU_EMULATOR_LAUNCH_H_
