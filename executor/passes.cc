#include "executor/passes.h"

#include "executor/executor_passes.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {

std::shared_ptr<const kernels::KernelRegistry> MakeKernelRegistry(
    std::span<const kernels::Kernel> more) {
  auto registry = std::make_shared<kernels::KernelRegistry>();
  kernels::RegisterCpuKernels(*registry);
  kernels::RegisterGpuKernels(*registry);
  for (const kernels::Kernel& kernel : more) registry->Add(kernel);
  return registry;
}

void RegisterExecutorPasses(PassRegistry& registry,
                            std::shared_ptr<const kernels::KernelRegistry> kernels) {
  if (kernels == nullptr) kernels = MakeKernelRegistry();
  registry.Register(LowerToKernelsInfo(kernels));
  registry.Register(PlaceTransfersInfo(kernels));
  registry.Register(PlanMemoryInfo(kernels));
}

}  // namespace tenon
