#include "tools/ir-opt/files.h"

#include <algorithm>

#include "frontends/onnx/file/mapped_file.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"

namespace tenon::ir_opt {
absl::StatusOr<std::string> ReadInput(const std::string& path, const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file, onnx::MapFile(path, limits.stream_bytes));
  return std::string(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
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
