#include "frontends/onnx/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "frontends/onnx/unique_fd.h"

namespace tenon::onnx {
namespace {

absl::Status FileError(const std::string& path, std::string_view what) {
  const std::string reason = std::strerror(errno);
  return absl::NotFoundError(fmt::format("{}: {}: {}", path, what, reason));
}

absl::StatusOr<FileBytes> ReadToEnd(int fd, const std::string& path) {
  auto buffer = std::make_shared<std::vector<std::byte>>();
  constexpr size_t kChunk = size_t{1} << 16;
  size_t size = 0;
  while (true) {
    if (buffer->size() < size + kChunk) buffer->resize(std::max(size + kChunk, size * 2));
    const ssize_t got = read(fd, buffer->data() + size, buffer->size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(path, "cannot read");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  buffer->resize(size);
  return FileBytes{.bytes = *buffer, .owner = buffer};
}

}  // namespace

absl::StatusOr<FileBytes> MapDescriptor(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileError(path, "cannot stat");
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return FileBytes{};
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return FileError(path, "cannot map");
  std::shared_ptr<const void> owner(address, [size](void* at) { munmap(at, size); });
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(address), size);
  constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
  SourceFile source = {
      .path = path,
      .bytes = bytes,
      .owner = owner,
      .device = info.st_dev,
      .inode = info.st_ino,
      .modified_ns = info.st_mtim.tv_sec * kNanosecondsPerSecond + info.st_mtim.tv_nsec,
      .changed_ns = info.st_ctim.tv_sec * kNanosecondsPerSecond + info.st_ctim.tv_nsec};
  return FileBytes{bytes, std::move(owner), std::move(source)};
}

absl::StatusOr<FileBytes> MapFile(const std::string& path) {
  if (path == "-") return ReadToEnd(STDIN_FILENO, "standard input");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return FileError(path, "cannot open");
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return FileError(path, "cannot stat");
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(fmt::format("{}: is a folder, a file was expected", path));
  }
  if (!S_ISREG(info.st_mode)) return ReadToEnd(fd.get(), path);
  return MapDescriptor(fd.get(), path);
}

}  // namespace tenon::onnx
