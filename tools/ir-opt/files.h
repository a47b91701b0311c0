// Reading inputs and writing results.
#ifndef TENON_TOOLS_IR_OPT_FILES_H_
#define TENON_TOOLS_IR_OPT_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ir/core/limits.h"
#include "ir/core/text_sink.h"

namespace tenon::ir_opt {

// The name of standard input in messages.
inline constexpr std::string_view kStandardInput = "<stdin>";

// The bytes of a file; "-" is standard input.
absl::StatusOr<std::string> ReadInput(const std::string& path, const Limits& limits);

// The parts between lines "// -----". Each begins with as many empty lines as stood before it, so
// that line numbers are those of the whole file.
std::vector<std::string> SplitInput(std::string_view text);

// As WriteFile (ir/core/write_file.h); an empty path and "-" are standard output.
absl::Status WriteOutput(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_FILES_H_
