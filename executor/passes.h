// The executor's passes and kernels.
#ifndef TENON_EXECUTOR_PASSES_H_
#define TENON_EXECUTOR_PASSES_H_

#include <memory>
#include <span>

#include "kernels/registry.h"
#include "pass/pass.h"

namespace tenon {

// Returns a registry with all kernels of this build, and `more`. Its const functions are
// thread-safe.
std::shared_ptr<const kernels::KernelRegistry> MakeKernelRegistry(
    std::span<const kernels::Kernel> more = {});

// Registers widen-half, lower-to-kernels, place-transfers and plan-memory. They share `kernels`;
// null stands for the kernels of this build. AlreadyExists if a name is taken.
absl::Status RegisterExecutorPasses(
    PassRegistry& registry, std::shared_ptr<const kernels::KernelRegistry> kernels = nullptr);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PASSES_H_
