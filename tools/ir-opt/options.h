// The command line of ir-opt.
#ifndef TENON_TOOLS_IR_OPT_OPTIONS_H_
#define TENON_TOOLS_IR_OPT_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/files/export_onnx.h"
#include "pass/pass_manager.h"
#include "tools/command_line/extension_options.h"
#include "tools/command_line/external_data.h"
#include "tools/command_line/limits.h"
#include "tools/command_line/option_table.h"
#include "tools/command_line/program.h"

namespace tenon::ir_opt {

// A part of the pipeline. Parts follow each other in the order of the command line.
struct PipelineStep {
  std::string pass;  // empty: `text` is a whole pipeline
  std::string text;  // options of the pass
};

// The options of ir-opt. See its --help.
struct Options {
  tools::GivenNames given;                   // the options on the command line
  tools::Outputs outputs;                    // the files that they name
  std::string input = "-";                   // a file, or "-" for standard input
  std::string save_params;                   // file for values of parameters; empty: none
  std::string output;                        // "-": standard output; empty: the same, if WritesIr
  std::vector<PipelineStep> steps;           // the pipeline
  PassManagerOptions passes;                 // how it runs, and what it prints
  PrintOptions print;                        // how the IR is written
  bool allow_unregistered_dialect = false;   // --allow-unregistered-dialect
  bool split_input_file = false;             // --split-input-file
  bool verify_diagnostics = false;           // --verify-diagnostics
  bool verify_roundtrip = false;             // --verify-roundtrip
  std::string reproducer;                    // --pass-pipeline-crash-reproducer
  bool local_reproducer = false;             // --pass-pipeline-local-reproducer
  bool run_reproducer = false;               // --run-reproducer
  std::vector<std::string> run_arguments;    // those of the line that decide what passes do
  bool dump_pass_pipeline = false;           // --dump-pass-pipeline
  std::string explain;                       // RULE[@NODE]
  std::string fusion_report;                 // a file; JSON if it ends in .json
  std::vector<std::string> rules;            // files with rules in text
  std::vector<std::string> disabled_rules;   // names, families and patterns
  std::string trace;                         // a file that ends in .json or .html
  std::string view;                          // a file that ends in .html, .svg or .dot
  std::string view_profile;                  // a file that ir-run --profile wrote
  bool fast_math = false;                    // --fast-math
  std::string help;                          // --help: what it asks for
  bool verify_semantics = false;             // --verify-semantics
  tools::LimitOptions limits;                // --max-…
  tools::ExternalDataOptions external_data;  // --external-data…
  tools::ExtensionOptions added;             // --load-…
  std::string inputs;                        // a folder, for verify_semantics
  int64_t bisect_limit = -1;                 // steps that are made; -1: all
  std::vector<std::string> check_rules;      // files; none: the built-in rules
  std::string list_rules;  // what --list-rules, --describe or --rule-automaton names
  // What the program does.
  enum class Action : uint8_t {
    kRun,           // runs the pipeline
    kHelp,          // --help
    kVersion,       // --version
    kListPasses,    // --list-passes
    kListRules,     // --list-rules
    kListOps,       // --list-ops
    kDescribe,      // --describe
    kCheckRules,    // --check-rules
    kRuleAutomaton  // --rule-automaton
  } action = Action::kRun;

  // --extract, --shape
  onnx::ModelEdit edit;
  bool inspect = false;    // --inspect
  bool quiet = false;      // --quiet
  std::string json;        // the file for its report as JSON; "-" prints only the JSON
  int64_t onnx_opset = 0;  // --onnx-opset; 0: that of the model
  OnnxOps onnx_ops = OnnxOps::kStandard;  // --onnx-ops

  std::string external_data_out;  // --external-data-out

  // True if nodes of com.microsoft are written as they were read.
  bool KeepsMicrosoft() const {
    return WritesOnnx() && steps.size() == 1 && steps[0].pass == "simplify" && !verify_semantics;
  }
  // True if the output is an ONNX model.
  bool WritesOnnx() const { return output.ends_with(".onnx"); }
  // True if the output is a binary module.
  bool WritesBinary() const { return tools::IsBinaryName(output); }
  // True if the IR, or a model, is written. Without -o, options that report on the IR print only
  // the report.
  bool WritesIr() const {
    return !output.empty() || (explain.empty() && fusion_report.empty() && view.empty() &&
                               !verify_semantics && !inspect);
  }
};

// Reads the command line, and loads what it names as plugins. Every pass and named pipeline is a
// flag: those of Tenon and of the plugins, which all become a part of `registry`. InvalidArgument,
// with a message for the user, if the line is wrong. Other errors are those of LoadPlugin. With
// --run-reproducer and without passes, the result is incomplete: the caller adds the arguments of
// the file and calls this again.
absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments,
                                         PassRegistry& registry);

// Returns those of the arguments that a reproducer holds (ReproducerArguments) which count beside
// the command line `line`: without limits that the line gives. The file may come from a stranger.
// So InvalidArgument for an option that names an output or code, or that Reproducer would not have
// written, and for a limit that is laxer than the default.
absl::StatusOr<std::vector<std::string>> ArgumentsOfFile(const std::string& file,
                                                         const std::vector<std::string>& held,
                                                         const Options& line);

// Appends the passes of the command line. The error points into the text of the user.
absl::Status BuildPipeline(const Options& options, PassManager& manager);

// Returns the text for --help=`form` (HelpIn in tools/command_line/help.h).
absl::StatusOr<std::string> HelpText(std::string_view form, const PassRegistry& registry);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_OPTIONS_H_
