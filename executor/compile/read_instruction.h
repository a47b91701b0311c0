// Converting an operation of a lowered function to an instruction. Internal to the executor.
#ifndef TENON_EXECUTOR_COMPILE_READ_INSTRUCTION_H_
#define TENON_EXECUTOR_COMPILE_READ_INSTRUCTION_H_

#include "absl/status/status.h"
#include "executor/program_impl.h"
#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon {

// Reads a kernel.call, kernel.view or kernel.dims. `instruction` must have its operands. The text
// is not trusted: the error says what is wrong with the operation.
absl::Status ReadInstruction(Operation& op, const kernels::KernelRegistry& registry,
                             Instruction& instruction);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_READ_INSTRUCTION_H_
