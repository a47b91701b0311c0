// What golden files ask of the layers above the IR.
#ifndef TENON_TESTS_FILETEST_PIPELINES_H_
#define TENON_TESTS_FILETEST_PIPELINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/pass.h"

namespace tenon::filetest {

// Runs pipeline text on a module, with the services of `context` that are set; whether anything
// changed.
absl::StatusOr<bool> RunPipeline(Operation* module, const std::string& text, PassContext context);
// Compiles the module's function, which must not have inputs, for the reference kernels, runs it,
// and gives each output as the text of a constant.
absl::StatusOr<std::vector<std::string>> RunProgram(Operation* module);

}  // namespace tenon::filetest

#endif  // TENON_TESTS_FILETEST_PIPELINES_H_
