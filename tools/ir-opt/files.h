// Reading inputs and writing results.
#ifndef TENON_TOOLS_IR_OPT_FILES_H_
#define TENON_TOOLS_IR_OPT_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/base/text_sink.h"

namespace tenon::ir_opt {

// The name of standard input in messages.
inline constexpr std::string_view kStandardInput = "<stdin>";

// Returns the bytes of a file; "-" is standard input.
absl::StatusOr<std::string> ReadInput(const std::string& path, const Limits& limits);

// Splits a text at lines "// -----". Each part begins with as many empty lines as there are lines
// before it, so that line numbers are those of the whole text.
std::vector<std::string> SplitInput(std::string_view text);

// Writes a file like WriteFile (ir/base/write_file.h). An empty path and "-" are standard output.
absl::Status WriteOutput(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_FILES_H_
