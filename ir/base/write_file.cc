#include "ir/base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/cord.h"
#include "fmt/format.h"
#include "ir/base/temporary_path.h"

namespace tenon {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return LostOutput(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// Where the symbolic links end, be there a file or not. Links in a circle end somewhere on it.
std::string TargetOf(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel's own limit
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = (std::filesystem::path(path).parent_path() / link).string();
  }
  return path;
}

// A new file with the mode that the process gives to new files; below 0 if there can be none.
// `temporary` names it for signals.
int CreateBeside(const std::string& path, std::string& name,
                 std::optional<TemporaryPath>& temporary) {
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    name = fmt::format("{}.{}-{:x}", path, getpid(),
                       std::chrono::steady_clock::now().time_since_epoch().count() + i);
    temporary.emplace(name);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) temporary.reset();
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// Standard output or error, if one of them is that file (/dev/stdout of a shell's `> file`), which
// then is not to be replaced; -1 otherwise.
int StandardStreamOf(const struct stat& file) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other;
    // A stream that was closed has a stand-in that cannot be written: it is not the file.
    const int mode = fcntl(stream, F_GETFL);
    if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY) continue;
    if (fstat(stream, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino) {
      return stream;
    }
  }
  return -1;
}

// Opens a device or a FIFO. The reader of a FIFO gets some time to come; without one ENXIO is set.
int OpenForWriting(const std::string& path, bool is_fifo) {
  constexpr int kStepMs = 10, kPatienceMs = 5000;
  for (int waited = 0;; waited += kStepMs) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 && errno == ENXIO && is_fifo && waited < kPatienceMs) {
      usleep(kStepMs * 1000);
      continue;
    }
    if (file < 0) return file;
    const int mode = fcntl(file, F_GETFL);
    if (mode >= 0 && fcntl(file, F_SETFL, mode & ~O_NONBLOCK) == 0) return file;
    close(file);
    return -1;
  }
}

constexpr char kLostOutput[] = "tenon/lost-output";

}  // namespace

absl::Status LostOutput(std::string_view message) {
  absl::Status status = absl::InvalidArgumentError(std::string(message));
  status.SetPayload(kLostOutput, absl::Cord());
  return status;
}

bool IsLostOutput(const absl::Status& status) { return status.GetPayload(kLostOutput).has_value(); }

absl::Status WriteAll(int file, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot be written", name);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

std::string ReplacedPath(const std::string& path) {
  struct stat old;
  if (stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) return "";
  std::error_code error;
  const std::filesystem::path target = TargetOf(path);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error) real = std::filesystem::absolute(folder, error).lexically_normal();
  return (real / target.filename()).string();
}

absl::Status CheckWritable(const std::string& path) {
  struct stat old;
  if (stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
    if (S_ISDIR(old.st_mode)) errno = EISDIR;
    const bool writable = !S_ISDIR(old.st_mode) && access(path.c_str(), W_OK) == 0;
    return writable ? absl::OkStatus() : SystemError("cannot be opened for writing", path);
  }
  std::string temporary;
  std::optional<TemporaryPath> named;
  const int file = CreateBeside(TargetOf(path), temporary, named);
  if (file < 0) return SystemError("cannot be created", path);
  close(file);
  unlink(temporary.c_str());
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, std::string_view text) {
  return WriteFile(path, [text](TextSink sink) { return sink(text); });
}

absl::Status WriteFile(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write) {
  struct stat old;
  const bool exists = stat(path.c_str(), &old) == 0;
  if (const int stream = exists ? StandardStreamOf(old) : -1; stream >= 0)
    return write([&](std::string_view text) { return WriteAll(stream, text, path); });
  if (exists && !S_ISREG(old.st_mode)) {
    const bool is_fifo = S_ISFIFO(old.st_mode);
    const int file = OpenForWriting(path, is_fifo);
    if (file < 0 && errno == ENXIO && is_fifo)
      return LostOutput(fmt::format("{}: nobody reads from it", path));
    if (file < 0) return SystemError("cannot be opened for writing", path);
    absl::Status status = write([&](std::string_view text) { return WriteAll(file, text, path); });
    if (close(file) != 0 && status.ok()) status = SystemError("cannot be written", path);
    return status;
  }
  const std::string target = TargetOf(path);
  std::string temporary;
  std::optional<TemporaryPath> named;
  const int file = CreateBeside(target, temporary, named);
  if (file < 0) return SystemError("cannot be created", path);
  absl::Status status = write([&](std::string_view text) { return WriteAll(file, text, path); });
  if (status.ok() && exists && fchmod(file, old.st_mode & 07777) != 0)
    status = SystemError("cannot be written", path);
  if (close(file) != 0 && status.ok()) status = SystemError("cannot be written", path);
  if (status.ok() && rename(temporary.c_str(), target.c_str()) != 0)
    status = SystemError("cannot be replaced", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace tenon
