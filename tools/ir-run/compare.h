// Comparing a model with another engine, value by value.
#ifndef TENON_TOOLS_IR_RUN_COMPARE_H_
#define TENON_TOOLS_IR_RUN_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/debug/compare_nodes.h"
#include "tools/ir-run/options.h"
#include "tools/ir-run/runner.h"

namespace tenon::ir_run {

// What ir-run --compare prints.
struct CompareReport {
  std::string engine, version;  // the other engine
  NodeComparison nodes;         // the model as it is
  CaseReport outputs;           // the optimized program; `optimized` is against the engine
  std::vector<std::string> notes;
  bool pass() const;  // true if nothing differs
};

// Loads the model, makes inputs, and runs everything. Errors are as for Prepare; NotFound if the
// engine is not installed.
absl::StatusOr<CompareReport> CompareWithEngine(const Options& options,
                                                std::vector<std::string>& errors);

std::string TextReport(const CompareReport& report, const Options& options);  // for people
std::string JsonReport(const CompareReport& report, const Options& options);  // for --json

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_COMPARE_H_
