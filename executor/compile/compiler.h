// Compiling a lowered function to a program. Internal to the executor.
#ifndef TENON_EXECUTOR_COMPILE_COMPILER_H_
#define TENON_EXECUTOR_COMPILE_COMPILER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/program_impl.h"
#include "ir/core/operation.h"

namespace tenon {

// Implements Program::Compile. Each region of control flow becomes a program of its own.
absl::StatusOr<std::shared_ptr<const ProgramImpl>> CompileFunction(Operation* func,
                                                                   const ProgramOptions& options);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_COMPILER_H_
