// A file whose bytes constants show without a copy.
#ifndef TENON_IR_CORE_SOURCE_FILE_H_
#define TENON_IR_CORE_SOURCE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon {

// A regular file mapped read-only, as it was when it was opened.
struct SourceFile {
  std::string path;                   // empty: not a file that can be found again
  std::span<const std::byte> bytes;   // all of it
  std::shared_ptr<const void> owner;  // of the mapping
  uint64_t device = 0, inode = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // programs can set the first, not the second
};

// Of bytes in a read-only mapping of a file: takes the pages that they cover out of this process.
// The next who reads them gets them from the file again. Never changes what is read.
void DropPages(std::span<const std::byte> bytes);

}  // namespace tenon

#endif  // TENON_IR_CORE_SOURCE_FILE_H_
