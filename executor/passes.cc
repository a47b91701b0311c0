#include "executor/passes.h"

#include "executor/executor_passes.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {

std::shared_ptr<const kernels::KernelRegistry> MakeKernelRegistry() {
  auto registry = std::make_shared<kernels::KernelRegistry>();
  kernels::RegisterCpuKernels(*registry);
  kernels::RegisterGpuKernels(*registry);
  return registry;
}

void RegisterExecutorPasses(PassRegistry& registry) {
  const std::shared_ptr<const kernels::KernelRegistry> kernels = MakeKernelRegistry();
  registry.Register(LowerToKernelsInfo(kernels));
  registry.Register(PlaceTransfersInfo(kernels));
  registry.Register(PlanMemoryInfo(kernels));
}

}  // namespace tenon
