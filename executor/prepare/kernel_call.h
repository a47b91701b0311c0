// Calls of one kernel outside of programs, and what its outcome means. Internal to the executor,
// except for the statuses, which bindings of other languages convert.
#ifndef TENON_EXECUTOR_PREPARE_KERNEL_CALL_H_
#define TENON_EXECUTOR_PREPARE_KERNEL_CALL_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "kernels/kernel.h"

namespace tenon {

// The outcome of a kernel as a status with the same message. It names no operation.
absl::Status ToStatus(const kernels::KernelStatus& status);
// The reverse, with the same message. A code that no kernel has becomes kInternal.
kernels::KernelStatus ToKernelStatus(const absl::Status& status);
// The code of such a status.
absl::StatusCode CodeOf(kernels::KernelStatus::Code code);

// A call of a kernel. The caller owns everything.
struct KernelCall {
  const kernels::Kernel& kernel;
  std::span<const kernels::TensorView> inputs, outputs;
  const void* attrs;  // as in PrepareArgs
  kernels::DeviceContext& device;
};

// Prepares a kernel without a store of weights. `scratch_bytes` receives the memory that its runs
// need; it is 0, and `state` stays, for a kernel without Prepare.
absl::Status PrepareKernel(const KernelCall& call, std::shared_ptr<kernels::KernelState>& state,
                           size_t& scratch_bytes);
// Runs a kernel with the state and the memory that PrepareKernel asked for.
absl::Status RunKernel(const KernelCall& call, kernels::KernelState* state, void* scratch);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_KERNEL_CALL_H_
