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

// The name of an engine of --against: Tenon itself on one thread.
inline constexpr std::string_view kOneThread = "one-thread";

// The options of ir-bench. See its --help.
struct Options : tools::ModelOptions {
  Options() { threads = 1; }  // one thread by default

  std::vector<std::string> against;     // names of engines that peer.py knows, or kOneThread
  std::string python = "python3";       // runs the peers
  std::map<std::string, int64_t> dims;  // size of each dimension symbol
  std::string inputs;                   // folder; empty: samples
  int rounds = 21;                      // at most so many
  double turn_ms = 40;                  // the time of one engine in one round
  double seconds = 60;                  // no round begins after this time
  int warmup = 3;                       // runs of each engine before the first round
  bool pin = false;                     // --pin
  bool neighbour = false;               // --neighbor
  double neighbour_ms = 0;              // time that it is busy, then sleeps; 0: it is always busy
  // What the program does.
  enum class Action : uint8_t {
    kRun,     // runs the bench
    kHelp,    // --help
    kVersion  // --version
  } action = Action::kRun;
};

// Reads the command line. InvalidArgument, with a message for the user, if it is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
// Returns the text for --help=`form` (HelpIn in tools/command_line/help.h).
absl::StatusOr<std::string> HelpText(std::string_view form);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_OPTIONS_H_
