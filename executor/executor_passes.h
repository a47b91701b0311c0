// The passes of this folder, one function each.
#ifndef TENON_EXECUTOR_EXECUTOR_PASSES_H_
#define TENON_EXECUTOR_EXECUTOR_PASSES_H_

#include <memory>

#include "kernels/registry.h"
#include "pass/pass.h"

namespace tenon {

PassInfo WidenHalfInfo(std::shared_ptr<const kernels::KernelRegistry> registry);
PassInfo LowerToKernelsInfo(std::shared_ptr<const kernels::KernelRegistry> registry);
PassInfo PlaceTransfersInfo(std::shared_ptr<const kernels::KernelRegistry> registry);
PassInfo PlanMemoryInfo(std::shared_ptr<const kernels::KernelRegistry> registry);

}  // namespace tenon

#endif  // TENON_EXECUTOR_EXECUTOR_PASSES_H_
