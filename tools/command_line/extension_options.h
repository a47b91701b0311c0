// Options of all programs that add operations, kernels, rules and passes.
#ifndef TENON_TOOLS_COMMAND_LINE_EXTENSION_OPTIONS_H_
#define TENON_TOOLS_COMMAND_LINE_EXTENSION_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/command_line/option_table.h"

namespace tenon {
struct Extension;
}

namespace tenon::tools {

// What a program was given. Its options hold it in a field `added`.
struct ExtensionOptions {
  std::vector<std::string> op_files;  // --load-ops
  std::vector<std::string> plugins;   // --load-plugin
  // All of it: MakeExtension sets it. Null if nothing was given.
  std::shared_ptr<const Extension> extension;
};

// The row of --load-ops.
template <typename Options>
constexpr Option<Options> LoadOpsRow() {
  return {{"load-ops", "", Takes::kInput, "FILE",
           "declare the operations of FILE: JSON or rules (.drr); repeatable", Times::kAny, true},
          [](Options& o, const Given& g) {
            o.added.op_files.emplace_back(g.value);
            return absl::OkStatus();
          }};
}
// The row of --load-plugin.
template <typename Options>
constexpr Option<Options> LoadPluginRow() {
  return {{"load-plugin", "", Takes::kInput, "FILE.so",
           "run the code of a plugin: its operations, kernels, rules and passes; repeatable",
           Times::kAny, true},
          [](Options& o, const Given& g) {
            o.added.plugins.emplace_back(g.value);
            return absl::OkStatus();
          }};
}

// Loads the plugins, in order, and makes the extension. Called once, behind the command line. The
// files that declare operations are read with each model. Errors are those of LoadPlugin.
absl::Status MakeExtension(ExtensionOptions& options);

// Returns a part of a help text with what plugins add; empty without plugins.
std::string PluginHelp(const Extension* extension);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_EXTENSION_OPTIONS_H_
