// The executor's passes.
#ifndef TENON_EXECUTOR_PASSES_H_
#define TENON_EXECUTOR_PASSES_H_

#include <memory>
#include <span>

#include "kernels/registry.h"
#include "pass/pass.h"

namespace tenon {

// The kernels of this build, and `more`. Made once per caller; const methods are thread-safe.
std::shared_ptr<const kernels::KernelRegistry> MakeKernelRegistry(
    std::span<const kernels::Kernel> more = {});

// lower-to-kernels, place-transfers and plan-memory, which share one kernel registry: null stands
// for the kernels of this build. Fails where a name is taken.
absl::Status RegisterExecutorPasses(
    PassRegistry& registry, std::shared_ptr<const kernels::KernelRegistry> kernels = nullptr);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PASSES_H_
