// Read-only views of files.
#ifndef TENON_FRONTENDS_ONNX_FILE_MAPPED_FILE_H_
#define TENON_FRONTENDS_ONNX_FILE_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/base/source_file.h"

namespace tenon::onnx {

// The bytes of a file, which `owner` keeps mapped. The file must not be truncated meanwhile.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  SourceFile source{};  // if it is a regular file, or a part of one
};

// Maps a regular file. Standard input ("-") and other kinds of files are read to their end. Waits
// up to five seconds for a writer of a FIFO. NotFound if the file cannot be read, InvalidArgument
// for a folder, and for a FIFO to which nobody wrote. ResourceExhausted if a file that is not
// regular has more than `stream_bytes` bytes.
absl::StatusOr<FileBytes> MapFile(const std::string& path,
                                  int64_t stream_bytes = Limits().stream_bytes);
// Maps an open regular file. Does not close `fd`.
absl::StatusOr<FileBytes> MapDescriptor(int fd, const std::string& path);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_MAPPED_FILE_H_
