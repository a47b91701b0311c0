// The command line of ir-bench.
#ifndef TENON_TOOLS_IR_BENCH_OPTIONS_H_
#define TENON_TOOLS_IR_BENCH_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/model_options.h"

namespace tenon::ir_bench {

// Among the engines to run against: Tenon itself.
inline constexpr std::string_view kOneThread = "one-thread";

struct Options : tools::ModelOptions {
  Options() { threads = 1; }

  std::vector<std::string> against;     // names of engines that peer.py knows, or kOneThread
  std::string python = "python3";       // runs the peers
  std::map<std::string, int64_t> dims;  // size of each dimension symbol
  std::string inputs;                   // folder; empty: samples
  int rounds = 21;
  double turn_ms = 40;  // timed runs of one engine in one round
  double seconds = 60;  // no round begins later
  int warmup = 3;
  bool pin = false;
  bool neighbour = false;
  double neighbour_ms = 0;  // it is busy, and then sleeps, for so long; 0: it is always busy
  enum class Action : uint8_t { kRun, kHelp, kVersion } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
// Without rarely used options, or with all of them.
std::string HelpText(bool all);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_OPTIONS_H_
