// What the device code was compiled for.
#include <iterator>

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

#if defined(__CUDA_ARCH_LIST__)
constexpr int kTargets[] = {__CUDA_ARCH_LIST__};
#else
constexpr int kTargets[] = {800, 900};
#endif

__global__ void Probe() {}

}  // namespace

std::string TargetsOfDeviceCode() {
  std::string text;
  for (size_t i = 0; i < std::size(kTargets); ++i) {
    const int target = kTargets[i];
    text += i == 0 ? "" : i + 1 == std::size(kTargets) ? " and " : ", ";
    text += std::to_string(target / 100) + "." + std::to_string(target % 100 / 10);
  }
  return text;
}

const void* ProbeKernel() { return reinterpret_cast<const void*>(&Probe); }

}  // namespace tenon::kernels::gpu
