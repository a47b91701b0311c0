#include "frontends/onnx/file/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "frontends/onnx/file/unique_fd.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"

namespace tenon::onnx {
namespace {

absl::Status FileError(const std::string& path, std::string_view what) {
  const std::string reason = std::strerror(errno);
  return absl::NotFoundError(fmt::format("{}: {}: {}", path, what, reason));
}

// What is there to read. An empty pipe that somebody has open for writing is waited for. A FIFO
// that was opened without waiting gives its first writer some time to come.
absl::StatusOr<size_t> ReadSome(int fd, std::byte* to, size_t size, bool is_first,
                                const std::string& path) {
  constexpr int kStepMs = 10, kPatienceMs = 5000;
  for (int waited = 0;; waited += kStepMs) {
    const ssize_t got = read(fd, to, size);
    if (got > 0) return static_cast<size_t>(got);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN) return FileError(path, "cannot read");
    struct stat info = {};
    const bool no_writer_yet = got == 0 && is_first && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 &&
                               fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
    if (got == 0 && !no_writer_yet) return size_t{0};
    pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
    if (got < 0) {
      poll(&ready, 1, -1);
      waited = 0;
      is_first = false;  // there was a writer: if it goes, this is the end
    } else if (waited >= kPatienceMs) {
      return absl::InvalidArgumentError(
          fmt::format("{}: nobody wrote to this FIFO within 5 seconds", path));
    } else {
      usleep(kStepMs * 1000);
    }
  }
}

absl::StatusOr<FileBytes> ReadToEnd(int fd, const std::string& path, int64_t limit) {
  auto buffer = std::make_shared<std::vector<std::byte>>();
  constexpr size_t kChunk = size_t{1} << 16;
  size_t size = 0;
  while (true) {
    if (buffer->size() < size + kChunk) buffer->resize(std::max(size + kChunk, size * 2));
    TENON_ASSIGN_OR_RETURN(const size_t got, ReadSome(fd, buffer->data() + size,
                                                      buffer->size() - size, size == 0, path));
    if (got == 0) break;
    size += got;
    if (size > static_cast<uint64_t>(limit)) {
      return absl::ResourceExhaustedError(
          fmt::format("{}: the input has more than {} bytes (the limit for pipes and devices, "
                      "Limits::stream_bytes or --max-input)",
                      path, limit));
    }
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

absl::StatusOr<FileBytes> MapFile(const std::string& path, int64_t stream_bytes) {
  const auto read_to_end = [&](int fd, const std::string& name) {
    return WithoutBadAlloc(name, [&] { return ReadToEnd(fd, name, stream_bytes); });
  };
  if (path == "-") return read_to_end(STDIN_FILENO, "standard input");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return FileError(path, "cannot open");
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return FileError(path, "cannot stat");
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(fmt::format("{}: is a folder, a file was expected", path));
  }
  if (!S_ISREG(info.st_mode)) return read_to_end(fd.get(), path);
  return MapDescriptor(fd.get(), path);
}

}  // namespace tenon::onnx
