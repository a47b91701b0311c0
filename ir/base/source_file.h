// A mapped file whose bytes constants refer to without a copy.
#ifndef TENON_IR_BASE_SOURCE_FILE_H_
#define TENON_IR_BASE_SOURCE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon {

// A regular file mapped read-only, with its identity at the time it was opened.
struct SourceFile {
  std::string path;                   // empty if the file cannot be found again
  std::span<const std::byte> bytes;   // the whole file
  std::shared_ptr<const void> owner;  // keeps the mapping
  uint64_t device = 0,                // the number of its file system
      inode = 0;                      // its number there
  int64_t modified_ns = 0,            // last write, in nanoseconds since 1970; programs can set it
      changed_ns = 0;                 // last change of bytes or attributes; programs cannot set it
};

// Takes the pages of a read-only file mapping that cover `bytes` out of this process. The next read
// loads them from the file again.
void DropPages(std::span<const std::byte> bytes);

}  // namespace tenon

#endif  // TENON_IR_BASE_SOURCE_FILE_H_
