// Prints of the IR before and after passes. Internal to pass.
#ifndef TENON_PASS_IR_DUMP_H_
#define TENON_PASS_IR_DUMP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "pass/pass_manager.h"
#include "pass/pipeline.h"

namespace tenon {

// When the IR is printed, and how much of it.
enum class DumpKind : uint8_t {
  kBefore,  // before a pass
  kAfter,   // after it
  kFailed,  // after it failed
  kDiff,    // what it changed
};

// Returns text such as "'func.func' operation: @main".
std::string DescribeTarget(const Operation& op);
// Returns the text of `op` that `options` asks for: without its module or with it.
std::string DumpText(const PassManagerOptions& options, const Operation& op);
// Whether the IR is printed before the pass `name`.
bool DumpsBefore(const PassManagerOptions& options, const std::string& name);
// Whether it is printed after the pass, which has changed it or not.
bool DumpsAfter(const PassManagerOptions& options, const std::string& name, bool changed);
// Whether the difference that the pass makes is printed, in place of the IR after it.
bool DumpsDiff(const PassManagerOptions& options, const std::string& name);
// Prints `text` under a head that names the pass and `op`, to where `options` says. `title` stands
// for the pass and `number` for its place in the pipeline. Errors of WriteFile.
absl::Status Dump(const PassManagerOptions& options, DumpKind kind, std::string_view title,
                  std::string_view number, const Operation& op, std::string_view text);

}  // namespace tenon

#endif  // TENON_PASS_IR_DUMP_H_
