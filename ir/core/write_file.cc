#include "ir/core/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fmt/format.h"

namespace tenon {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return absl::InvalidArgumentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

absl::Status WriteAll(int file, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot be written", name);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, std::string_view text) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return SystemError("cannot be opened for writing", path);
    const absl::Status status = WriteAll(file, text, path);
    close(file);
    return status;
  }
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return SystemError("cannot be created", path);
  absl::Status status = WriteAll(file, text, path);
  const mode_t mask = umask(0);
  umask(mask);
  if (status.ok() && fchmod(file, 0666 & ~mask) != 0)
    status = SystemError("cannot be written", path);
  if (close(file) != 0 && status.ok()) status = SystemError("cannot be written", path);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0)
    status = SystemError("cannot be replaced", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace tenon
