// Bytes as a file, for readers that take a path.
#ifndef TENON_TESTS_FUZZ_MEMORY_FILE_H_
#define TENON_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon::fuzz {

// A file in memory, which has a path as long as the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    TENON_CHECK(fd_ >= 0);
    TENON_CHECK(write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_MEMORY_FILE_H_
