// Runs a model as it is and optimized, and compares.
#ifndef TENON_TOOLS_IR_RUN_RUNNER_H_
#define TENON_TOOLS_IR_RUN_RUNNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/api/compare.h"
#include "frontends/api/tenon.h"
#include "tools/ir-run/inputs.h"
#include "tools/ir-run/options.h"

namespace tenon::ir_run {

using OpCounts = std::map<std::string, int64_t>;

struct OutputReport {
  std::string name, type;
  bool has_expected = false;
  Difference original, optimized;  // against the expected values
  // Optimised against original. Where there are expected values both are judged by those, for two
  // results within a tolerance of a third may be twice as far from each other.
  Difference between;
  bool pass() const { return has_expected ? original.pass && optimized.pass : between.pass; }
};

struct CaseReport {
  std::string name;
  std::vector<OutputReport> outputs;
};

struct Report {
  OpCounts ops_before, ops_after;
  std::map<std::string, int64_t, std::less<>> rules;
  std::vector<CaseReport> cases;
  Precision precision = Precision::kFp32;
  double original_ms = 0, optimized_ms = 0;
  int runs = 0;
  Session::Stats memory;  // of the optimized program
  std::string profile;    // tables
  std::vector<std::string> notes;
  bool pass() const;
};

// A model in two versions.
struct Programs {
  Model original, optimized;
  Program original_program, optimized_program;
  Report report;
};

// Loads, optimises and compiles. Warnings are printed; errors, which the Status may repeat, go to
// `errors`.
absl::StatusOr<Programs> Prepare(const Options& options, const std::string& path,
                                 std::vector<std::string>& errors);
// Runs all cases and times the first.
absl::StatusOr<Report> RunModel(const Options& options, std::vector<std::string>& errors);
// Both programs on one case. `outputs` receives what the optimized program computes.
absl::StatusOr<CaseReport> RunCase(const Options& options, const Programs& programs, const Case& c,
                                   std::vector<Tensor>* outputs = nullptr);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_RUNNER_H_
