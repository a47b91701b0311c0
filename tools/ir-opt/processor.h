// From one input (or one part of it) to what ir-opt prints.
#ifndef TENON_TOOLS_IR_OPT_PROCESSOR_H_
#define TENON_TOOLS_IR_OPT_PROCESSOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "frontends/api/tenon.h"
#include "tools/command_line/program.h"
#include "tools/ir-opt/options.h"

namespace tenon::ir_opt {

struct Outcome {
  int status = tools::kDone;   // exit status
  std::optional<Model> model;  // the resulting IR, if it is asked for and nothing failed
  std::string report;          // what --explain found
  std::string fusion_report;
  std::string trace;  // of --trace, as its file holds it
};

// `bytes`: IR text or an ONNX model, named `options.input` in messages; without them the file
// itself is loaded. Messages go to standard error.
Outcome Process(const Options& options, const PassRegistry& registry,
                std::optional<std::string_view> bytes);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_PROCESSOR_H_
