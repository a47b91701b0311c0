// Which memory of this process is a read-only mapping of a file.
#ifndef TENON_EXECUTOR_FILE_MAPPINGS_H_
#define TENON_EXECUTOR_FILE_MAPPINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

// As it was at construction.
class FileMappings {
 public:
  FileMappings();  // reads /proc/self/maps; nothing is mapped where there is none
  // The mapping that has the bytes; empty if there is none.
  std::span<const std::byte> Find(std::span<const std::byte> bytes) const;

 private:
  struct Mapping {
    uintptr_t begin, end;
    unsigned long inode;
  };
  std::vector<Mapping> mappings_;  // by begin
};

// Of bytes in such a mapping: they need not stay in memory, the next who reads them gets them from
// the file.
void DropPages(std::span<const std::byte> bytes);

}  // namespace tenon

#endif  // TENON_EXECUTOR_FILE_MAPPINGS_H_
