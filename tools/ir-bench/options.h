// The command line of ir-bench.
#ifndef TENON_TOOLS_IR_BENCH_OPTIONS_H_
#define TENON_TOOLS_IR_BENCH_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/model_options.h"

namespace tenon::ir_bench {

struct Options : tools::ModelOptions {
  Options() { threads = 1; }

  std::vector<std::string> against;     // names of engines that peer.py knows
  std::string python = "python3";       // runs the peers
  std::map<std::string, int64_t> dims;  // size of each dimension symbol
  std::string inputs;                   // folder; empty: samples
  int rounds = 21;
  double seconds = 60;  // no round begins later
  int warmup = 3;
  bool pin = false;
  bool neighbour = false;
  enum class Action : uint8_t { kRun, kHelp, kVersion } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
std::string HelpText();

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_OPTIONS_H_
