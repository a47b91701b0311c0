// The command line of ir-bench.
#ifndef TENON_TOOLS_IR_BENCH_OPTIONS_H_
#define TENON_TOOLS_IR_BENCH_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/api/tenon.h"

namespace tenon::ir_bench {

struct Options {
  std::string model;
  int level = 2;
  std::vector<std::string> against;  // names of engines that peer.py knows
  std::string python = "python3";    // runs the peers
  int threads = 1;
  std::map<std::string, int64_t> dims;  // size of each dimension symbol
  std::string inputs;                   // folder; empty: samples
  int rounds = 21;
  double seconds = 60;  // no round begins later
  int warmup = 3;
  bool pin = false;
  bool neighbour = false;
  Precision precision = Precision::kFp32;
  // When not given, less precision than fp32 takes 3e-2 for both.
  double atol = 1e-4, rtol = 1e-3;
  std::optional<double> given_atol, given_rtol;
  std::string json;  // file, "-", or empty
  enum class Action : uint8_t { kRun, kHelp, kVersion } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
std::string HelpText();

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_OPTIONS_H_
