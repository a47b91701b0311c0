// The picture of --view.
#ifndef TENON_TOOLS_IR_OPT_VIEWER_H_
#define TENON_TOOLS_IR_OPT_VIEWER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/view/comparison.h"
#include "pass/rewrite_step.h"
#include "pass/rule_log.h"
#include "tools/ir-opt/options.h"

namespace tenon::ir_opt {

// Draws one input before and after its passes.
class Viewer {
 public:
  // `options` must outlive this. `file` is how messages call the input.
  Viewer(const Options& options, std::string file) : options_(options), file_(std::move(file)) {}

  // Reads the file of --view-profile, if there is one. InvalidArgument and errors of reading a file
  // say what is wrong with it.
  absl::Status ReadProfile();
  // Looks at the program before the passes. Returns what must be told of their steps; null without
  // --view.
  RewriteObserver* Begin(const Operation& module);
  // Returns the picture, when the passes have run and told `log` of all rules. InvalidArgument if
  // the programs are too large for the format.
  absl::StatusOr<std::string> Draw(const Operation& module, const RuleLog& log);

 private:
  const Options& options_;
  const std::string file_;
  std::optional<view::Times> times_;
  view::Comparison shown_;
  view::OriginRecorder origins_;
};

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_VIEWER_H_
