// The command line of ir-opt.
#ifndef TENON_TOOLS_IR_OPT_OPTIONS_H_
#define TENON_TOOLS_IR_OPT_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pass/pass_manager.h"
#include "tools/command_line/limits.h"
#include "tools/command_line/option_table.h"

namespace tenon::ir_opt {

// One thing appended to the pipeline, in the order of the command line.
struct PipelineStep {
  std::string pass;  // empty: `text` is a whole pipeline
  std::string text;  // options of the pass
};

struct Options {
  tools::GivenNames given;
  std::string input = "-";
  std::string output;  // '-': standard output; empty: the same, if WritesIr
  std::vector<PipelineStep> steps;
  PassManagerOptions passes;
  PrintOptions print;
  bool allow_unregistered_dialect = false;
  bool split_input_file = false;
  bool verify_diagnostics = false;
  bool dump_pass_pipeline = false;
  std::string explain;                      // RULE[@NODE]
  std::string fusion_report;                // a file; JSON if it ends in .json
  std::vector<std::string> rules;           // files with rules in text
  std::vector<std::string> disabled_rules;  // names, families and patterns
  std::string trace;                        // a file that ends in .json or .html
  bool fast_math = false;
  bool help_all = false;
  bool verify_semantics = false;
  tools::LimitOptions limits;
  std::string inputs;                    // a folder, for verify_semantics
  int64_t bisect_limit = -1;             // steps of rule passes that are made; -1: all
  std::vector<std::string> check_rules;  // files; none: the built-in rules
  std::string list_rules;                // whose text is asked for; empty: the list
  enum class Action : uint8_t {
    kRun,
    kHelp,
    kVersion,
    kListPasses,
    kListRules,
    kListOps,
    kCheckRules
  } action = Action::kRun;

  // Whether the program is to be written: whoever asks for an answer about it gets that alone,
  // unless an output is named.
  bool WritesIr() const {
    return !output.empty() || (explain.empty() && fusion_report.empty() && !verify_semantics);
  }
};

// InvalidArgument with a message for the user if the line is wrong. Every pass and named pipeline
// of `registry` is a flag.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments,
                                         const PassRegistry& registry);

// Appends the passes of the command line; the error points into what the user wrote.
absl::Status BuildPipeline(const Options& options, PassManager& manager);

// The options that most people need, or all of them.
std::string HelpText(bool all);
std::string PassListText(const PassRegistry& registry);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_OPTIONS_H_
