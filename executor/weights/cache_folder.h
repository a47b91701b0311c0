// A folder for files that decide results: only this user and root may write to it.
#ifndef TENON_EXECUTOR_WEIGHTS_CACHE_FOLDER_H_
#define TENON_EXECUTOR_WEIGHTS_CACHE_FOLDER_H_

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tenon {

// An open file descriptor, closed at the end.
class CacheFd {
 public:
  explicit CacheFd(int fd = -1) : fd_(fd) {}
  CacheFd(CacheFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  CacheFd& operator=(CacheFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~CacheFd() { Close(); }
  int get() const { return fd_; }
  // Returns false, with errno, if written data may be lost: a full disk may be reported only here.
  bool Close();

 private:
  int fd_;
};

// Distinguishes states of a file without reading it. Programs can set the time of modification, but
// not the time of change.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity IdentityOf(const struct stat& info);

// A cache folder on disk. Thread-safe: files are replaced atomically.
class CacheFolder {
 public:
  // Opens the folder. Creates it, for this user only, if it does not exist. PermissionDenied if
  // another user can write to it; Unavailable for other problems.
  static absl::StatusOr<std::shared_ptr<const CacheFolder>> Open(const std::string& path);

  struct File {
    CacheFd fd;
    FileIdentity identity;
  };
  // Opens a regular file of the folder for reading. NotFound if it does not exist. PermissionDenied
  // for a symbolic link, a file of another kind, or a file that another user can write.
  absl::StatusOr<File> Read(const std::string& name) const;

  // Writes a temporary file, readable by this user only, and moves it to `name` when it is
  // complete. Returns its identity. With `sync`, waits until it is on disk. Also removes files that
  // killed writers have left. Unavailable if that fails.
  absl::StatusOr<FileIdentity> Replace(
      const std::string& name, bool sync,
      const std::function<absl::Status(int fd)>& write_contents) const;

  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

 private:
  CacheFolder(std::string path, CacheFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::StatusOr<CacheFd> OpenTemporary(const std::string& name) const;
  void RemoveLeftovers() const;

  const std::string path_;
  const CacheFd fd_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_CACHE_FOLDER_H_
