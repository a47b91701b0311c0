// Runs a model in Tenon and in other engines by turns.
#ifndef TENON_TOOLS_IR_BENCH_BENCH_H_
#define TENON_TOOLS_IR_BENCH_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/api/compare.h"
#include "tools/ir-bench/machine.h"
#include "tools/ir-bench/model_cost.h"
#include "tools/ir-bench/options.h"
#include "tools/ir-bench/statistics.h"

namespace tenon::ir_bench {

struct OutputReport {
  std::string name, type;
  Difference difference;  // Tenon's against the engine's
};

struct EngineReport {
  std::string name, version;
  double load_ms = 0;             // from the file to a program that can run
  double memory_mb = 0;           // largest resident size of its process
  std::vector<double> ms;         // every timed run
  std::vector<double> rounds_ms;  // the median of each round
  // Of other engines:
  std::vector<OutputReport> outputs;
  std::string failure;  // why it takes no part; then the above is empty
};

struct Report {
  std::vector<std::string> inputs;    // "input_ids: 1x128xi64"
  std::vector<EngineReport> engines;  // Tenon first
  MachineReport machine;
  ModelCost cost;
  Precision precision = Precision::kFp32;  // what the program has; options may have asked for more
  std::string processor;
  int runs_a_round = 1;
  std::vector<std::string> notes;

  bool agree() const;     // all outputs
  bool complete() const;  // no engine failed
};

// What stands in the way goes to `errors`, which the Status may repeat.
absl::StatusOr<Report> RunBench(const Options& options, std::vector<std::string>& errors);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_BENCH_H_
