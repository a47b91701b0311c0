// Runs a model in Tenon and in other engines, in alternation.
#ifndef TENON_TOOLS_IR_BENCH_BENCH_H_
#define TENON_TOOLS_IR_BENCH_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/debug/compare.h"
#include "tools/ir-bench/machine.h"
#include "tools/ir-bench/model_cost.h"
#include "tools/ir-bench/options.h"
#include "tools/ir-bench/statistics.h"

namespace tenon::ir_bench {

// One output of an engine.
struct OutputReport {
  std::string name,       // the name of the output
      type;               // "2x3xf32"
  Difference difference;  // Tenon's result against the engine's
};

// The measurements of one engine.
struct EngineReport {
  std::string name,               // such as "onnxruntime"
      version;                    // as the engine states it
  double load_ms = 0;             // from the file to a program that can run
  double memory_mb = 0;           // largest resident size of its process
  std::vector<double> ms;         // every timed run
  std::vector<double> rounds_ms;  // the median of each round
  // For engines other than Tenon. Empty if the engine failed.
  std::vector<OutputReport> outputs;
  std::string failure;  // why the engine was not measured; empty if it was
};

// What ir-bench prints.
struct Report {
  std::vector<std::string> inputs;         // "input_ids: 1x128xi64"
  std::vector<EngineReport> engines;       // Tenon first
  MachineReport machine;                   // the limits of the machine
  ModelCost cost;                          // the work of one run
  Precision precision = Precision::kFp32;  // that of the program; it may differ from the option
  std::string processor;                   // ProcessorName()
  int runs_a_round = 1;                    // timed runs of Tenon in a round
  std::vector<std::string> notes;          // for the user

  bool agree() const;     // true if all outputs agree
  bool complete() const;  // true if no engine failed
};

// Measures all engines. Adds errors of the model to `errors`; the Status may repeat one of them.
absl::StatusOr<Report> RunBench(const Options& options, std::vector<std::string>& errors);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_BENCH_H_
