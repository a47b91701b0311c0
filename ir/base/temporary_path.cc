#include "ir/base/temporary_path.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

// A path belongs to whoever takes it out of its place: the object that named it, or the handler.
std::array<std::atomic<char*>, 256> named_paths;
// Whose they are: a child that was forked gets this memory, and must leave the files.
std::atomic<pid_t> owner{0};

// readdir allocates, the system call does not. Entries: u64 inode, i64 offset, u16 size, u8 type,
// name.
void RemoveFolder(const char* path) {
  constexpr size_t kSizeAt = 16, kNameAt = 19;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return;
  std::array<char, 4096> buffer;
  while (true) {
    const auto size = syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (size <= 0) break;
    for (size_t at = 0; at < static_cast<size_t>(size);) {
      uint16_t entry = 0;
      std::memcpy(&entry, buffer.data() + at + kSizeAt, sizeof(entry));
      unlinkat(folder, buffer.data() + at + kNameAt, 0);
      at += entry;
    }
  }
  close(folder);
  rmdir(path);
}

}  // namespace

TemporaryPath::TemporaryPath(const std::string& path) : path_(strdup(path.c_str())) {
  owner = getpid();
  for (std::atomic<char*>& place : named_paths) {
    char* none = nullptr;
    if (path_ != nullptr && place.compare_exchange_strong(none, path_)) return;
  }
  std::free(std::exchange(path_, nullptr));
}

TemporaryPath::TemporaryPath(TemporaryPath&& other) noexcept
    : path_(std::exchange(other.path_, nullptr)) {}

TemporaryPath::~TemporaryPath() {
  if (path_ == nullptr) return;
  for (std::atomic<char*>& place : named_paths) {
    char* mine = path_;
    if (place.compare_exchange_strong(mine, nullptr)) {
      std::free(path_);
      return;
    }
  }
}

void RemoveTemporaryPaths() noexcept {
  if (owner != getpid()) return;
  const int before = errno;
  for (std::atomic<char*>& place : named_paths) {
    const char* path = place.exchange(nullptr);
    if (path != nullptr && unlink(path) != 0 && (errno == EISDIR || errno == EPERM))
      RemoveFolder(path);
  }
  errno = before;
}

}  // namespace tenon
