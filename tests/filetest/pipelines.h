// What golden files may ask of the layers above the IR.
#ifndef TENON_TESTS_FILETEST_PIPELINES_H_
#define TENON_TESTS_FILETEST_PIPELINES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon::filetest {

// Runs pipeline text on a module; whether anything changed.
absl::StatusOr<bool> RunPipeline(Operation* module, const std::string& text);
// Runs the program; it checks itself.
absl::Status RunProgram(Operation* module, const std::string& arguments);

}  // namespace tenon::filetest

#endif  // TENON_TESTS_FILETEST_PIPELINES_H_
