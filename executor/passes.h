// The executor's passes.
#ifndef TENON_EXECUTOR_PASSES_H_
#define TENON_EXECUTOR_PASSES_H_

#include <memory>

#include "kernels/registry.h"
#include "pass/pass.h"

namespace tenon {

// The kernels of this build. Made once per caller; const methods are thread-safe.
std::shared_ptr<const kernels::KernelRegistry> MakeKernelRegistry();

// lower-to-kernels, place-transfers and plan-memory, which share one kernel registry.
void RegisterExecutorPasses(PassRegistry& registry);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PASSES_H_
