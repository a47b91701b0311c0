// The command line of ir-run.
#ifndef TENON_TOOLS_IR_RUN_OPTIONS_H_
#define TENON_TOOLS_IR_RUN_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/parameters/lora.h"
#include "tools/command_line/model_options.h"

namespace tenon::ir_run {

// The options of ir-run. See its --help.
struct Options : tools::ModelOptions {
  std::string check;               // folder of input_N.pb and output_N.pb; empty: none
  bool reference = false;          // --reference
  std::string compare;             // the other engine of --compare; empty: none
  std::string python = "python3";  // runs it
  bool quiet = false;              // --quiet
  std::vector<std::pair<std::string, std::string>> inputs;            // name, file
  std::vector<std::string> replaced_params;                           // files of --replace-params
  std::vector<std::string> adapters;                                  // files of --adapter
  std::map<std::string, AdapterWeight, std::less<>> adapter_weights;  // by module
  std::map<std::string, int64_t> shape;  // size of each dimension symbol
  std::string save_outputs;              // folder; empty: none
  std::string save_program;              // file; empty: none
  std::string weight_cache;              // folder; empty: none
  bool verify_weights = false;           // --verify-weights
  int64_t seed = 0;                      // of random inputs and operations
  bool profile = false;                  // --profile
  std::string profile_file;              // .trace.json or .json; empty: the table alone
  bool check_memory = false;             // ProgramOptions::check_memory
  int runs = 0;                          // 0: as many as fit a second
  std::vector<std::string> onnx_tests;   // folders of --onnx-test
  // What the program does.
  enum class Action : uint8_t {
    kRun,      // runs the model
    kHelp,     // --help
    kVersion,  // --version
    kOnnxTest  // --onnx-test
  } action = Action::kRun;
};

// Reads the command line. InvalidArgument, with a message for the user, if it is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
// Returns the text for --help=`form` (HelpIn in tools/command_line/help.h).
absl::StatusOr<std::string> HelpText(std::string_view form);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_OPTIONS_H_
