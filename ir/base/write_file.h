// Writing results to files.
#ifndef TENON_IR_BASE_WRITE_FILE_H_
#define TENON_IR_BASE_WRITE_FILE_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ir/base/text_sink.h"

namespace tenon {

// Writes `text` to a temporary file beside `path` and renames it, so that `path` never holds half a
// result. Processes that have the old file open keep it. A replaced file keeps its mode; a symbolic
// link is followed.
//
// Devices, pipes and the file behind standard output or error are written directly. A FIFO that
// nobody opens for reading within 5 seconds is an error. InvalidArgument with the path and the
// reason if something fails.
absl::Status WriteFile(const std::string& path, std::string_view text);
// The same with the text that `write` passes to its sink. If `write` returns an error, this returns
// it, and a regular file stays as it was.
absl::Status WriteFile(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write);
// Checks that `path` can be written, before a long computation. Errors as of WriteFile. Leaves no
// file behind.
absl::Status CheckWritable(const std::string& path);
// Returns the absolute path, without symbolic links, of the file that WriteFile would make or
// replace. Empty for devices, pipes and folders.
std::string ReplacedPath(const std::string& path);
// Returns InvalidArgument with `message`, and with a mark that IsLostOutput finds. The functions of
// this header return such errors.
absl::Status LostOutput(std::string_view message);
// Returns true for an error of LostOutput: what failed is not the computation.
bool IsLostOutput(const absl::Status& status);
// Writes `text` to the open file descriptor `file`; `name` stands for it in messages.
// InvalidArgument if that fails.
absl::Status WriteAll(int file, std::string_view text, const std::string& name);

}  // namespace tenon

#endif  // TENON_IR_BASE_WRITE_FILE_H_
