// The command line of ir-run.
#ifndef TENON_TOOLS_IR_RUN_OPTIONS_H_
#define TENON_TOOLS_IR_RUN_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/api/tenon.h"

namespace tenon::ir_run {

struct Options {
  std::string model;
  int level = 2;
  std::string check;  // folder of input_N.pb and output_N.pb; empty: none
  // When not given, --onnx-test takes those of ONNX's own runner: 1e-7 and 1e-3; less precision
  // than fp32 takes 3e-2 for both.
  double atol = 1e-5, rtol = 1e-4;
  std::optional<double> given_atol, given_rtol;
  int threads = 0;
  Precision precision = Precision::kFp32;
  bool reference = false;
  bool cuda = false;  // the optimised program on a GPU; the original stays on the CPU
  std::string json;   // file, "-", or empty
  std::vector<std::pair<std::string, std::string>> inputs;  // name, file
  std::map<std::string, int64_t> shape;                     // size of each dimension symbol
  std::string save_outputs;
  std::string weight_cache;  // folder
  int64_t seed = 0;
  bool profile = false;
  std::string profile_file;   // .trace.json or .json; empty: the table alone
  bool check_memory = false;  // ProgramOptions::check_memory
  int runs = 0;               // 0: as many as fit a second
  std::vector<std::string> onnx_tests;
  enum class Action : uint8_t { kRun, kHelp, kVersion, kOnnxTest } action = Action::kRun;
};

// InvalidArgument with a message for the user if the line is wrong.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments);
std::string HelpText();

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_OPTIONS_H_
