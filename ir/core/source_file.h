// A file whose bytes constants show without a copy.
#ifndef TENON_IR_CORE_SOURCE_FILE_H_
#define TENON_IR_CORE_SOURCE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

// A regular file mapped read-only, as it was when it was opened.
struct SourceFile {
  std::string path;                  // empty: not a file that can be found again
  std::span<const std::byte> bytes;  // all of it, as long as the constants live
  uint64_t device = 0, inode = 0;
  int64_t modified_ns = 0;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_SOURCE_FILE_H_
