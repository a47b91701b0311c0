// Files and folders to be removed if the process is killed.
#ifndef TENON_IR_BASE_TEMPORARY_PATH_H_
#define TENON_IR_BASE_TEMPORARY_PATH_H_

#include <string>

namespace tenon {

// Registers a path for RemoveTemporaryPaths during its own lifetime. Create it before the file. It
// does not remove the file itself; the owner does, or renames it. At most 256 paths can be
// registered at a time; further ones are ignored. Thread-safe.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& path);
  TemporaryPath(TemporaryPath&& other) noexcept;
  TemporaryPath& operator=(TemporaryPath&&) = delete;
  ~TemporaryPath();

 private:
  char* path_;  // null if it is not registered
};

// Removes all registered files, and folders with the files in them. Async-signal-safe: programs
// call it from handlers of signals that end them. Does nothing in a forked child.
void RemoveTemporaryPaths() noexcept;

}  // namespace tenon

#endif  // TENON_IR_BASE_TEMPORARY_PATH_H_
