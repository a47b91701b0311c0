// Writing a result to a file.
#ifndef TENON_IR_CORE_WRITE_FILE_H_
#define TENON_IR_CORE_WRITE_FILE_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ir/core/text_sink.h"

namespace tenon {

// Writes to a temporary name beside `path` and renames: `path` never holds half a result, and who
// reads or maps what was there keeps it. A file that is replaced keeps its mode; of a symbolic link
// the file that it names is replaced. A path that exists and is no regular file (a device, a pipe)
// is written to directly, and so is the file that standard output or error goes to.
// InvalidArgument, with the path and the reason, if it cannot be written.
absl::Status WriteFile(const std::string& path, std::string_view text);
// The same with what `write` gives to its sink; if it returns an error, so does this, and the file
// stays as it was.
absl::Status WriteFile(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write);
// The same error, before there is anything to write: for what takes long to make. Leaves nothing.
absl::Status CheckWritable(const std::string& path);
// To a file that is open, which `name` stands for in messages.
absl::Status WriteAll(int file, std::string_view text, const std::string& name);

}  // namespace tenon

#endif  // TENON_IR_CORE_WRITE_FILE_H_
