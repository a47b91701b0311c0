#include "kernels/gpu/emulator/launch.h"

namespace tenon::kernels::gpu::emulator {

void Launch(void*, std::function<void()> run) { run(); }

}  // namespace tenon::kernels::gpu::emulator
