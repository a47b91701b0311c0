// Files and folders that must not outlive the process.
#ifndef TENON_IR_CORE_TEMPORARY_PATH_H_
#define TENON_IR_CORE_TEMPORARY_PATH_H_

#include <string>

namespace tenon {

// Names a path for RemoveTemporaryPaths as long as it lives. Make it before the file. It does not
// remove the file itself: that is up to its owner, who knows whether it was renamed.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& path);
  TemporaryPath(TemporaryPath&& other) noexcept;
  TemporaryPath& operator=(TemporaryPath&&) = delete;
  ~TemporaryPath();

 private:
  char* path_;  // null where too many paths are named at once
};

// Removes what is named: files, and folders with the files in them. Async-signal-safe: programs
// call it from the handlers of signals that end them.
void RemoveTemporaryPaths() noexcept;

}  // namespace tenon

#endif  // TENON_IR_CORE_TEMPORARY_PATH_H_
