// The memory, host or device, of values of a lowered function.
#ifndef TENON_EXECUTOR_GPU_TRANSFERS_H_
#define TENON_EXECUTOR_GPU_TRANSFERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon {

enum class Memory : uint8_t { kHost, kDevice, kAny };

// Results of GPU kernels are in device memory, and views where their operand is. Everything else,
// with inputs and constants, is in host memory.
Memory MemoryOf(const kernels::KernelRegistry& registry, Value value);
// The memory of the results of a kernel.
Memory ResultMemory(const kernels::Kernel& kernel);

// Returns the memory in which an operation of a lowered function expects each operand. kAny stands
// for the first operand of a view.
absl::StatusOr<std::vector<Memory>> OperandMemories(const kernels::KernelRegistry& registry,
                                                    const Operation& op);

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_TRANSFERS_H_
