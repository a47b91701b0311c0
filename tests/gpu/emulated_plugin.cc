// The emulated device as the executor's CUDA plugin: TENON_CUDA_PLUGIN names it, and programs with
// --device=cuda then run on the CPU under the emulator.
#include "tests/gpu/emulated_device.h"

extern "C" __attribute__((visibility("default"))) void TenonOpenCudaDevice(
    int interface_version, int, tenon::kernels::KernelStatus* status,
    std::shared_ptr<tenon::kernels::gpu::Device>* device) {
  using namespace tenon::kernels;
  if (interface_version != gpu::kPluginInterface) {
    *status = KernelStatus::Unsupported("the plugin is of another build of Tenon");
    return;
  }
  *device = std::make_shared<gpu::testing::EmulatedDevice>();
}
