// Folders that go away with the program.
#ifndef TENON_TOOLS_COMMAND_LINE_TEMPORARY_FOLDER_H_
#define TENON_TOOLS_COMMAND_LINE_TEMPORARY_FOLDER_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "ir/base/temporary_path.h"

namespace tenon::tools {

// A new folder, removed with all that is in it.
class TemporaryFolder {
 public:
  // Its name begins with that of the program.
  static absl::StatusOr<TemporaryFolder> Make(std::string_view program);
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), named_(std::move(other.named_)) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)), named_(path_) {}
  std::string path_;
  TemporaryPath named_;
};

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_TEMPORARY_FOLDER_H_
