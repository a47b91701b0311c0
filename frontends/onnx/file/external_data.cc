#include "frontends/onnx/file/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "frontends/onnx/file/unique_fd.h"
#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

// How to accept what was refused, if the user knows where it leads.
constexpr std::string_view kAllowLinks =
    " (LoadOptions::allow_external_data_links or --external-data-links allows it)";

absl::Status Refuse(const std::string& location, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("external data file \"{}\": {}", location, why));
}

// The parts of a relative path; refuses everything that could lead out of the root.
absl::StatusOr<std::vector<std::string>> SplitLocation(const std::string& location) {
  if (location.empty()) return Refuse(location, "the location is empty");
  if (location.find('\0') != std::string::npos) return Refuse(location, "the location has a NUL");
  if (location[0] == '/') return Refuse(location, "the location must be relative to the model");
  std::vector<std::string> parts;
  size_t at = 0;
  while (at <= location.size()) {
    const size_t slash = std::min(location.find('/', at), location.size());
    std::string part = location.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return Refuse(location, "the location must not contain \"..\"");
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return Refuse(location, "the location names no file");
  return parts;
}

absl::StatusOr<uint64_t> ParseSize(std::string_view key, const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("external data {} \"{}\" is not a non-negative number", key, text));
  }
  return value;
}

}  // namespace

absl::StatusOr<FileBytes> ExternalData::Open(const std::string& location) {
  if (auto it = files_.find(location); it != files_.end()) return it->second;
  if (root_.empty()) {
    return Refuse(location,
                  "a model that is not read from a file has no folder of external data "
                  "(LoadOptions::external_data_root or --external-data names one)");
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitLocation(location));
  const int no_follow = allow_links_ ? 0 : O_NOFOLLOW;
  UniqueFd fd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; i < parts.size() && fd.get() >= 0; ++i) {
    const bool last = i + 1 == parts.size();
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const int kind = last ? O_NONBLOCK : O_DIRECTORY;
    fd = UniqueFd(openat(fd.get(), parts[i].c_str(), O_RDONLY | O_CLOEXEC | kind | no_follow));
  }
  if (fd.get() < 0) {
    if (errno == ELOOP || (errno == ENOTDIR && !allow_links_)) {
      return Refuse(
          location,
          fmt::format("is or goes through a symbolic link, which is not allowed{}", kAllowLinks));
    }
    return absl::NotFoundError(fmt::format("external data file \"{}\" in \"{}\": {}", location,
                                           root_, std::strerror(errno)));
  }
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Refuse(location, "is not a regular file");
  }
  if (!allow_links_ && info.st_nlink > 1) {
    return Refuse(location,
                  fmt::format("has several hard links, which is not allowed{}", kAllowLinks));
  }
  TENON_ASSIGN_OR_RETURN(FileBytes file, MapDescriptor(fd.get(), location));
  file.source.path = root_ + "/" + location;
  files_.emplace(location, file);
  return file;
}

absl::StatusOr<FileBytes> ExternalData::Read(const onnxpb::TensorProto& tensor, size_t size) {
  std::set<std::string> seen;
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const onnxpb::StringStringEntryProto& entry : tensor.external_data()) {
    if (!seen.insert(entry.key()).second) {
      return absl::InvalidArgumentError(
          fmt::format("external data repeats the key \"{}\"", entry.key()));
    }
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      TENON_ASSIGN_OR_RETURN(offset, ParseSize("offset", entry.value()));
    } else if (entry.key() == "length") {
      TENON_ASSIGN_OR_RETURN(length, ParseSize("length", entry.value()));
    }
  }
  if (length && *length != size) {
    return absl::InvalidArgumentError(
        fmt::format("external data has {} bytes, the type needs {}", *length, size));
  }
  TENON_ASSIGN_OR_RETURN(FileBytes file, Open(location));
  if (offset > file.bytes.size() || size > file.bytes.size() - offset) {
    return Refuse(location, fmt::format("has {} bytes; {} at offset {} are needed",
                                        file.bytes.size(), size, offset));
  }
  file.bytes = file.bytes.subspan(offset, size);
  return file;
}

}  // namespace tenon::onnx
