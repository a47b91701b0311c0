// Running a model after each pass of an optimization.
#ifndef TENON_FRONTENDS_DEBUG_CHECK_PASSES_H_
#define TENON_FRONTENDS_DEBUG_CHECK_PASSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/debug/compare_nodes.h"

namespace tenon {

// What is run, and when results differ.
struct CheckPassesOptions {
  OptimizeOptions optimize{};                // its observer is not used
  CompileOptions compile{};                  // for each program that runs
  std::vector<std::vector<Tensor>> cases{};  // inputs of the main function; at least one
  CompareTensors compare{};                  // must be set
};

// A pass after which an output differs from the state before it.
struct PassFinding {
  int64_t position = 0;   // among the passes that changed the model, from 0
  std::string pass;       // the entry of the pipeline
  std::string function;   // that the pass changed, without @; empty for a pass on the module
  size_t test_case = 0;   // the position in CheckPassesOptions::cases
  size_t output = 0;      // of the model
  std::string type;       // of that output, such as "2x3xf32"
  Difference difference;  // to the output before the pass
};

// The result of CheckPasses.
struct PassesReport {
  int64_t changed = 0;               // passes that changed the model
  int64_t compared = 0;              // of these, the ones whose result was run
  std::vector<std::string> skipped;  // "cse: why its result could not be run"
  std::vector<PassFinding> findings;
};

// Optimizes a copy of `model`, and runs it on the cases before the first pass and after each pass
// that changes it. Cases that the model refuses are left out. Errors are those of Optimize, and
// those of Compile and Program::Run for the model as it is.
absl::StatusOr<PassesReport> CheckPasses(const Model& model, const CheckPassesOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_CHECK_PASSES_H_
