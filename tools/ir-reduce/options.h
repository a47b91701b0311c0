// The command line of ir-reduce.
#ifndef TENON_TOOLS_IR_REDUCE_OPTIONS_H_
#define TENON_TOOLS_IR_REDUCE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/model_options.h"

namespace tenon::ir_reduce {

struct Options : tools::ModelOptions {
  std::string test;                    // a command of the shell
  int64_t timeout = 60;                // seconds of one test
  int64_t most_tries = 10000;          // tests
  std::vector<std::string> pipelines;  // whose rewrites are tried
  bool shrink_dims = true;
  bool allow_unregistered_dialect = false;
  bool generic = false;  // the form that mlir-opt reads
  std::string output;    // empty: standard output
  bool quiet = false;
  enum class Action : uint8_t { kRun, kHelp, kVersion } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
// Returns the text for --help=`form` (HelpIn in tools/command_line/help.h).
absl::StatusOr<std::string> HelpText(std::string_view form);

}  // namespace tenon::ir_reduce

#endif  // TENON_TOOLS_IR_REDUCE_OPTIONS_H_
