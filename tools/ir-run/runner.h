// Runs a model as it is and optimized, and compares the results.
#ifndef TENON_TOOLS_IR_RUN_RUNNER_H_
#define TENON_TOOLS_IR_RUN_RUNNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "tools/ir-run/inputs.h"
#include "tools/ir-run/options.h"

namespace tenon::ir_run {

using OpCounts = std::map<std::string, int64_t>;  // the number of ops, by op name

// One output of one case.
struct OutputReport {
  std::string name,           // the name of the output
      type;                   // "2x3xf32"
  bool has_expected = false;  // a file gives the expected values
  Difference original,        // the original program against the expected values
      optimized;              // the optimized program against the expected values
  // The optimized program against the original one. Expected values take precedence: two results
  // within a tolerance of them may be twice as far from each other.
  Difference between;
  // True if the output is right.
  bool pass() const { return has_expected ? original.pass && optimized.pass : between.pass; }
};

// The outputs of one case.
struct CaseReport {
  std::string name;                   // that of the Case
  std::vector<OutputReport> outputs;  // by program output
};

// What ir-run prints.
struct Report {
  OpCounts ops_before,                                // of the original model
      ops_after;                                      // of the optimized model
  std::map<std::string, int64_t, std::less<>> rules;  // applications of each rule that fired
  std::vector<CaseReport> cases;                      // in the order in which they ran
  Precision precision = Precision::kFp32;             // of the optimized program
  double original_ms = 0,                             // median time of a run
      optimized_ms = 0;                               // median time of a run
  int runs = 0;                                       // timed runs of each program
  Session::Stats memory;                              // of the optimized program
  std::string profile;                                // tables
  std::vector<std::string> notes;                     // for the user
  bool pass() const;                                  // true if all outputs are right
};

// A model in two versions.
struct Programs {
  Model original,            // as loaded
      optimized;             // after Optimize
  Program original_program,  // compiled from `original`
      optimized_program;     // compiled from `optimized`
  Report report;             // without cases and times
};

// Loads the model at `path`, optimizes it and compiles both versions. Prints warnings, and adds
// errors to `errors`. The Status may repeat one of them.
absl::StatusOr<Programs> Prepare(const Options& options, const std::string& path,
                                 std::vector<std::string>& errors);
// Runs all cases and times the first one. Errors are as for Prepare.
absl::StatusOr<Report> RunModel(const Options& options, std::vector<std::string>& errors);
// Runs both programs on one case. `outputs` receives the results of the optimized one.
absl::StatusOr<CaseReport> RunCase(const Options& options, const Programs& programs, const Case& c,
                                   std::vector<Tensor>* outputs = nullptr);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_RUNNER_H_
