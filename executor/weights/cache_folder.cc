#include "executor/weights/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr mode_t kFileMode = 0600, kFolderMode = 0700;

std::string Reason() { return std::strerror(errno); }

// Empty: nobody but this user and root can write it.
std::string WhoElseWrites(const struct stat& info) {
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return fmt::format("belongs to another user ({})", info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format(
        "can be written by other users (mode {:o}; expected no write permission of "
        "group and others)",
        info.st_mode & 07777);
  }
  return {};
}

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Changes after this call have a later time of change than the file has now: file systems take
// their times from a clock of some milliseconds.
void WaitForLaterTime(const FileIdentity& identity) {
  for (int i = 0; i < 50; ++i) {
    timespec now = {};
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return;
    if (Nanoseconds(now) > identity.changed_ns) return;
    usleep(1000);
  }
}

}  // namespace

bool CacheFd::Close() { return fd_ < 0 || close(std::exchange(fd_, -1)) == 0; }

FileIdentity IdentityOf(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<uint64_t>(info.st_size),
          .modified_ns = Nanoseconds(info.st_mtim),
          .changed_ns = Nanoseconds(info.st_ctim)};
}

absl::StatusOr<std::shared_ptr<const CacheFolder>> CacheFolder::Open(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return absl::UnavailableError(fmt::format("{}: {}", path, Reason()));
  CacheFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0)
    return absl::UnavailableError(fmt::format("{}: {}", path, Reason()));
  if (const std::string who = WhoElseWrites(info); !who.empty())
    return absl::PermissionDeniedError(fmt::format("{}: the folder {}", path, who));
  return std::shared_ptr<const CacheFolder>(new CacheFolder(path, std::move(fd)));
}

absl::StatusOr<CacheFolder::File> CacheFolder::Read(const std::string& name) const {
  CacheFd fd(
      openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0 && errno == ENOENT) return absl::NotFoundError("is not there");
  if (fd.get() < 0 && errno == ELOOP) return absl::PermissionDeniedError("is a symbolic link");
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) return absl::UnavailableError(Reason());
  if (!S_ISREG(info.st_mode)) return absl::PermissionDeniedError("is not a regular file");
  if (const std::string who = WhoElseWrites(info); !who.empty())
    return absl::PermissionDeniedError(who);
  return File{std::move(fd), IdentityOf(info)};
}

// A writer that lives has its file locked.
void CacheFolder::RemoveLeftovers() const {
  const int folder = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = folder < 0 ? nullptr : fdopendir(folder);
  if (entries == nullptr) {
    if (folder >= 0) close(folder);
    return;
  }
  while (const dirent* entry = readdir(entries)) {
    if (!std::string_view(entry->d_name).ends_with(kTemporary)) continue;
    const CacheFd file(
        openat(fd_.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0)
      unlinkat(fd_.get(), entry->d_name, 0);
  }
  closedir(entries);
}

// Locked, and under a name only where the file system has no files without one.
absl::StatusOr<CacheFd> CacheFolder::OpenTemporary(const std::string& name) const {
  CacheFd file(openat(fd_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kFileMode));
  if (file.get() < 0) {
    file = CacheFd(
        openat(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  }
  if (file.get() < 0 || flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::UnavailableError(Reason());
  return file;
}

absl::StatusOr<FileIdentity> CacheFolder::Replace(
    const std::string& name, bool sync,
    const std::function<absl::Status(int fd)>& write_contents) const {
  static std::atomic<uint32_t> counter{0};
  const std::string temporary = fmt::format(
      "{}.{}-{}{}", name, getpid(), counter.fetch_add(1, std::memory_order_relaxed), kTemporary);
  RemoveLeftovers();
  const auto failed = [&](std::string_view why) {
    unlinkat(fd_.get(), temporary.c_str(), 0);
    return absl::UnavailableError(fmt::format("{}: {}", PathOf(name), why));
  };
  absl::StatusOr<CacheFd> file = OpenTemporary(temporary);
  if (!file.ok()) return failed(std::string(file.status().message()));
  const int fd = file->get();
  if (const absl::Status written = write_contents(fd); !written.ok())
    return failed(std::string(written.message()));
  struct stat info = {};
  if ((sync && fdatasync(fd) != 0) || fstat(fd, &info) != 0) return failed(Reason());
  if (info.st_nlink == 0 && linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), fd_.get(),
                                   temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return failed(Reason());
  if (renameat(fd_.get(), temporary.c_str(), fd_.get(), name.c_str()) != 0) return failed(Reason());
  if (fstat(fd, &info) != 0) return failed(Reason());
  const FileIdentity identity = IdentityOf(info);
  if (!file->Close()) return failed(Reason());
  WaitForLaterTime(identity);
  return identity;
}

}  // namespace tenon
