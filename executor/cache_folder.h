// A folder for files that decide results: nobody but this user and root may write it.
#ifndef TENON_EXECUTOR_CACHE_FOLDER_H_
#define TENON_EXECUTOR_CACHE_FOLDER_H_

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tenon {

// An open file; closed at the end.
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
  // False, with errno: what was written may be lost. A full disk may say so only here.
  bool Close();

 private:
  int fd_;
};

// What tells one state of a file from another without reading it. Programs can set the time of
// modification, but not that of change.
struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity IdentityOf(const struct stat& info);

class CacheFolder {
 public:
  // Makes the folder, for this user alone, if it does not exist. PermissionDenied if another user
  // can write it.
  static absl::StatusOr<std::shared_ptr<const CacheFolder>> Open(const std::string& path);

  struct File {
    CacheFd fd;
    FileIdentity identity;
  };
  // A regular file of the folder, for reading. NotFound if there is none. Links are not followed, a
  // FIFO is not waited for, and a file that another user can write is refused.
  absl::StatusOr<File> Read(const std::string& name) const;

  // Writes a file without a name, readable by this user alone, and puts it in place of `name` when
  // it is whole. Returns its identity. `sync`: waits until it is on the disk. Removes what writers
  // that were killed have left.
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

#endif  // TENON_EXECUTOR_CACHE_FOLDER_H_
