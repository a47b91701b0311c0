// The command line of ir-bisect.
#ifndef TENON_TOOLS_IR_BISECT_OPTIONS_H_
#define TENON_TOOLS_IR_BISECT_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/model_options.h"

namespace tenon::ir_bisect {

struct Options : tools::ModelOptions {
  std::string pipeline;  // in place of a level; empty: none
  std::string check;     // folder with input_N.pb and output_N.pb; empty: none
  std::string inputs;    // folder with input_N.pb or input_N.npy; empty: sample inputs
  std::map<std::string, int64_t> shape;
  std::string output;  // folder for before.mlir and after.mlir; empty: standard output
  bool reference = false;
  bool reduce = true;
  enum class Action : uint8_t { kRun, kHelp, kVersion } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
// Returns the text for --help=`form` (HelpIn in tools/command_line/help.h).
absl::StatusOr<std::string> HelpText(std::string_view form);

}  // namespace tenon::ir_bisect

#endif  // TENON_TOOLS_IR_BISECT_OPTIONS_H_
