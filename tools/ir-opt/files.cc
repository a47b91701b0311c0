#include "tools/ir-opt/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fmt/format.h"
#include "ir/core/write_file.h"

namespace tenon::ir_opt {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return absl::InvalidArgumentError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  const bool standard = path == "-";
  const int file = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError("cannot be opened", path);
  std::string bytes;
  char buffer[1 << 16];
  absl::Status status;
  while (true) {
    const ssize_t count = read(file, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = SystemError("cannot be read", path);
    if (count <= 0) break;
    bytes.append(buffer, static_cast<size_t>(count));
  }
  if (!standard) close(file);
  if (!status.ok()) return status;
  return bytes;
}

std::vector<std::string> SplitInput(std::string_view text) {
  std::vector<std::string> parts(1);
  size_t lines = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    ++lines;
    if (line.substr(0, 8) == "// -----") {
      parts.emplace_back(lines, '\n');
    } else {
      parts.back() += line;
    }
  }
  return parts;
}

absl::Status WriteOutput(const std::string& path, absl::FunctionRef<absl::Status(TextSink)> write) {
  if (!path.empty() && path != "-") return WriteFile(path, write);
  return write(
      [](std::string_view text) { return WriteAll(STDOUT_FILENO, text, "standard output"); });
}

}  // namespace tenon::ir_opt
