// Processes one input of ir-opt, or one part of it.
#ifndef TENON_TOOLS_IR_OPT_PROCESSOR_H_
#define TENON_TOOLS_IR_OPT_PROCESSOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "frontends/cpp/inspect/inspect.h"
#include "frontends/cpp/tenon.h"
#include "pass/pass_times.h"
#include "tools/command_line/program.h"
#include "tools/ir-opt/options.h"

namespace tenon::ir_opt {

// The results for one input.
struct Outcome {
  int status = tools::kDone;             // exit status
  std::optional<Model> model;            // the resulting IR, if it is asked for and nothing failed
  std::string report;                    // the answer to --explain
  std::optional<Inspection> inspection;  // the answer to --inspect
  std::string fusion_report;             // the text for --fusion-report
  std::string trace;                     // the text for --trace
  std::string view;                      // the text for --view
  std::optional<PassTimes> times;        // the answer to --timing, where passes have run
  AroundPasses around;                   // and what reading and writing took
};

// Loads and transforms one input. `bytes` is IR text or an ONNX model; without it, loads the file
// `options.input`, which messages name in both cases. Prints messages on standard error.
Outcome Process(const Options& options, const PassRegistry& registry,
                std::optional<std::string_view> bytes);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_PROCESSOR_H_
