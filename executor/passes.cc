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

absl::Status RegisterExecutorPasses(PassRegistry& registry,
                                    std::shared_ptr<const kernels::KernelRegistry> kernels) {
  if (kernels == nullptr) kernels = MakeKernelRegistry();
  TENON_RETURN_IF_ERROR(registry.Register(WidenHalfInfo(kernels)));
  TENON_RETURN_IF_ERROR(registry.Register(LowerToKernelsInfo(kernels)));
  TENON_RETURN_IF_ERROR(registry.Register(PlaceTransfersInfo(kernels)));
  return registry.Register(PlanMemoryInfo(kernels));
}

}  // namespace tenon
