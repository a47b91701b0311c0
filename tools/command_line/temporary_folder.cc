#include "tools/command_line/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

#include "fmt/format.h"

namespace tenon::tools {

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make(std::string_view program) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::temp_directory_path(error);
  std::string name = (place / fmt::format("{}.XXXXXX", program)).string();
  if (error || mkdtemp(name.data()) == nullptr)
    return absl::InternalError(fmt::format("{}: cannot make a folder", name));
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace tenon::tools
