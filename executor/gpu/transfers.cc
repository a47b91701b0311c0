#include "executor/gpu/transfers.h"

#include "executor/lowering/lowered_op.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {

Memory ResultMemory(const kernels::Kernel& kernel) {
  return kernel.backend == kernels::Backend::kCuda &&
                 kernel.name != std::string_view(kernels::gpu::kToHost)
             ? Memory::kDevice
             : Memory::kHost;
}

Memory MemoryOf(const kernels::KernelRegistry& registry, Value value) {
  while (auto view = DefinedBy<kernel::ViewOp>(value)) value = view->operand(0);
  const auto call = DefinedBy<kernel::CallOp>(value);
  if (!call) return Memory::kHost;
  const kernels::Kernel* kernel = registry.FindByName(call.kernel());
  return kernel == nullptr ? Memory::kHost : ResultMemory(*kernel);
}

absl::StatusOr<std::vector<Memory>> OperandMemories(const kernels::KernelRegistry& registry,
                                                    const Operation& op) {
  std::vector<Memory> wanted(op.num_operands(), Memory::kHost);
  if (Isa<kernel::ViewOp>(&op)) {
    if (!wanted.empty()) wanted[0] = Memory::kAny;
    return wanted;
  }
  const auto call = DynCast<kernel::CallOp>(const_cast<Operation*>(&op));
  if (!call) return wanted;
  const kernels::Kernel* kernel = registry.FindByName(call.kernel());
  const OpInfo* source = op.context().FindOp(call.source());
  if (kernel == nullptr || source == nullptr || kernel->backend != kernels::Backend::kCuda ||
      kernel->name == std::string_view(kernels::gpu::kToDevice)) {
    return wanted;
  }
  TENON_ASSIGN_OR_RETURN(const Slots slots, SlotsFrom(*source, call.properties()));
  TENON_ASSIGN_OR_RETURN(const std::vector<int> inputs,
                         KernelInputs(*source, static_cast<int>(op.num_operands()),
                                      std::span<const Attribute>(slots.data(), slots.size())));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool on_host = i < 32 && ((kernel->host_inputs >> i) & 1) != 0;
    if (inputs[i] >= 0) wanted[inputs[i]] = on_host ? Memory::kHost : Memory::kDevice;
  }
  return wanted;
}

}  // namespace tenon
