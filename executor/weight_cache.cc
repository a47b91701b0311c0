#include "executor/weight_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "ir/core/check.h"
#define XXH_INLINE_ALL
#include "xxhash.h"

namespace tenon {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'P', 'W', '\n'};
constexpr uint32_t kVersion = 3;  // also tells byte orders apart
constexpr size_t kAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t num_entries;
  uint64_t file_bytes;
  uint64_t checksum;  // of header and index, with 0 in its place and in that of `boot`
  // The boot of the system in which somebody saw all that the file should be; 0: it is on the disk.
  // In another boot the contents are compared with their checksum, for a crash may have lost some
  // of them. Within one boot they are not: what an error of the disk loses behind the writer's
  // back, when the system writes pages or reads them again, is not noticed. Changed in place: a
  // reader that sees half of a change sees neither its boot nor 0, and compares.
  WeightKey boot;
  uint64_t contents;  // checksum of the entries
  uint64_t unused;
};
struct IndexEntry {
  WeightKey key;
  uint64_t offset, bytes;
};
static_assert(sizeof(Header) == 64 && sizeof(IndexEntry) == 32);

// What is noted of a source file.
struct Note {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  WeightKey content;
  uint64_t checksum;  // of what precedes
};

class UniqueFile {
 public:
  UniqueFile(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~UniqueFile() { Close(); }
  UniqueFile(const UniqueFile&) = delete;
  UniqueFile& operator=(const UniqueFile&) = delete;
  int get() const { return fd_; }
  // False, with errno: what was written may be lost. A full disk may say so only here.
  bool Close() { return fd_ < 0 || close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

size_t Align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string Reason() { return std::strerror(errno); }

absl::Status WriteAll(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::UnavailableError(Reason());
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

// Of this boot of the system; 0 if it has no name.
WeightKey ThisBoot() {
  const UniqueFile file("/proc/sys/kernel/random/boot_id", O_RDONLY);
  char text[64];
  const ssize_t size = file.get() < 0 ? 0 : read(file.get(), text, sizeof(text));
  return size <= 0 ? WeightKey()
                   : HashOf(std::as_bytes(std::span(text, static_cast<size_t>(size))));
}

// Of the entries in the order of the index, each with its size.
uint64_t ContentsChecksum(const std::map<WeightKey, WeightCacheFile::Entry>& entries) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const auto& [key, entry] : entries) {
    XXH3_64bits_update(&state, &entry.bytes, sizeof(entry.bytes));
    XXH3_64bits_update(&state, entry.data.get(), entry.bytes);
  }
  return XXH3_64bits_digest(&state);
}

uint64_t StartChecksum(Header header, std::span<const std::byte> index) {
  header.checksum = 0;
  header.boot = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof(header));
  XXH3_64bits_update(&state, index.data(), index.size());
  return XXH3_64bits_digest(&state);
}

// Writes a file under a name of its own, and renames it. `sync`: when all is on the disk, which
// other files that are being written may delay by seconds.
absl::Status Replace(const std::string& path, bool sync,
                     const std::function<absl::Status(int fd)>& write_contents) {
  static std::atomic<uint32_t> counter{0};
  const std::string temporary =
      fmt::format("{}.{}-{}.tmp", path, getpid(), counter.fetch_add(1, std::memory_order_relaxed));
  absl::Status status;
  {
    UniqueFile file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (file.get() < 0) return absl::UnavailableError(fmt::format("{}: {}", temporary, Reason()));
    status = write_contents(file.get());
    if (status.ok() && sync && fdatasync(file.get()) != 0)
      status = absl::UnavailableError(Reason());
    if (!file.Close() && status.ok()) status = absl::UnavailableError(Reason());
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0)
    status = absl::UnavailableError(Reason());
  if (status.ok()) return status;
  unlink(temporary.c_str());
  return absl::UnavailableError(fmt::format(
      "{}: {}", path, std::string_view(status.message().data(), status.message().size())));
}

// Hashes page by page range, and lets the pages go: the file may be larger than what fits.
WeightKey HashOfMapped(std::span<const std::byte> bytes) {
  constexpr size_t kStep = size_t{16} << 20;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (size_t at = 0; at < bytes.size(); at += kStep) {
    const std::span<const std::byte> part = bytes.subspan(at, std::min(kStep, bytes.size() - at));
    XXH3_128bits_update(&state, part.data(), part.size());
    madvise(const_cast<std::byte*>(part.data()), part.size(), MADV_DONTNEED);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

}  // namespace

WeightKey HashOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

WeightKey ContentOf(const SourceFile& file, const std::string& folder, const WarningSink& warn) {
  const std::string identity = fmt::format("{}\n{} {} {} {}", file.path, file.device, file.inode,
                                           file.bytes.size(), file.modified_ns);
  const WeightKey name = HashOf(std::as_bytes(std::span(identity)));
  const std::string path = fmt::format("{}/{:016x}{:016x}.id", folder, name.high, name.low);
  Note note = {};
  constexpr size_t kChecked = offsetof(Note, checksum);
  const auto checksum = [&] {
    return Checksum(std::as_bytes(std::span(&note, 1)).first(kChecked));
  };
  if (const UniqueFile in(path, O_RDONLY); in.get() >= 0) {
    if (read(in.get(), &note, sizeof(note)) == static_cast<ssize_t>(sizeof(note)) &&
        std::memcmp(note.magic, kMagic, sizeof(kMagic)) == 0 && note.version == kVersion &&
        note.checksum == checksum()) {
      return note.content;
    }
    warn(fmt::format("{}: is damaged or of another version, and is replaced", path));
  }
  const WeightKey content = HashOfMapped(file.bytes);
  // A file that changes twice within the resolution of its time would keep its identity.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  constexpr std::chrono::seconds kSettled(2);
  if (now - std::chrono::nanoseconds(file.modified_ns) < kSettled) return content;
  std::memcpy(note.magic, kMagic, sizeof(kMagic));
  note.version = kVersion;
  note.unused = 0;
  note.content = content;
  note.checksum = checksum();
  // Its checksum says whether a crash of the machine has left all of it.
  const absl::Status written =
      Replace(path, /*sync=*/false, [&](int fd) { return WriteAll(fd, &note, sizeof(note)); });
  if (!written.ok()) warn(std::string(written.message()));
  return content;
}

WeightCacheFile::WeightCacheFile(std::string path, const WarningSink& warn)
    : path_(std::move(path)) {
  const std::string problem = Read();
  if (problem.empty()) return;
  entries_.clear();
  warn(fmt::format("{}: {}; it is ignored and replaced", path_, problem));
}

std::string WeightCacheFile::Read() {
  const UniqueFile file(path_, O_RDONLY);
  if (file.get() < 0) return errno == ENOENT ? std::string() : Reason();
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Reason();
  const auto size = static_cast<size_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < sizeof(Header)) return "is no cache of packed weights";
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return Reason();
  const std::shared_ptr<const std::byte> mapping(
      static_cast<const std::byte*>(address),
      [size](const std::byte* at) { munmap(const_cast<std::byte*>(at), size); });
  Header header;
  std::memcpy(&header, mapping.get(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return "is no cache of packed weights";
  if (header.version != kVersion) return "is of another version";
  if (header.file_bytes != size ||
      header.num_entries > (size - sizeof(Header)) / sizeof(IndexEntry))
    return "is damaged: its size is not what it says";
  std::vector<IndexEntry> index(header.num_entries);
  if (!index.empty())
    std::memcpy(index.data(), mapping.get() + sizeof(Header), index.size() * sizeof(IndexEntry));
  if (StartChecksum(header, std::as_bytes(std::span(index))) != header.checksum)
    return "is damaged: its index has another checksum";
  for (const IndexEntry& entry : index) {
    if (entry.offset % kAlignment != 0 || entry.offset > size || entry.bytes > size - entry.offset)
      return "is damaged: an entry lies outside of it";
    entries_[entry.key] = {entry.bytes,
                           kernels::PackedBytes(mapping, mapping.get() + entry.offset)};
  }
  const WeightKey boot = ThisBoot();
  if (header.boot == WeightKey() || header.boot == boot) return {};
  if (ContentsChecksum(entries_) != header.contents)
    return "is damaged: its contents have another checksum";
  // So that the next start need not read all of it. If it cannot be noted, it will.
  const UniqueFile out(path_, O_WRONLY);
  struct stat same = {};
  if (boot != WeightKey() && out.get() >= 0 && fstat(out.get(), &same) == 0 &&
      same.st_ino == info.st_ino && same.st_dev == info.st_dev) {
    static_cast<void>(pwrite(out.get(), &boot, sizeof(boot), offsetof(Header, boot)) > 0);
  }
  return {};
}

kernels::PackedBytes WeightCacheFile::Find(const WeightKey& key, size_t bytes) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && it->second.bytes == bytes ? it->second.data : nullptr;
}

absl::Status WeightCacheFile::Write(const std::map<WeightKey, Entry>& entries) const {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.num_entries = static_cast<uint32_t>(entries.size());
  std::vector<IndexEntry> index;
  size_t at = Align(sizeof(Header) + entries.size() * sizeof(IndexEntry));
  const size_t payload = at;
  for (const auto& [key, entry] : entries) {
    index.push_back({key, at, entry.bytes});
    at = Align(at + entry.bytes);
  }
  header.file_bytes = at;
  header.boot = ThisBoot();
  header.contents = ContentsChecksum(entries);
  const std::span<const std::byte> index_bytes = std::as_bytes(std::span(index));
  header.checksum = StartChecksum(header, index_bytes);
  std::vector<std::byte> start(payload);
  std::memcpy(start.data(), &header, sizeof(header));
  std::copy(index_bytes.begin(), index_bytes.end(), start.begin() + sizeof(header));
  const bool sync = header.boot == WeightKey();
  return Replace(path_, sync, [&](int fd) -> absl::Status {
    TENON_RETURN_IF_ERROR(WriteAll(fd, start.data(), start.size()));
    constexpr std::byte kZeros[kAlignment] = {};
    for (const auto& [key, entry] : entries) {
      TENON_RETURN_IF_ERROR(WriteAll(fd, entry.data.get(), entry.bytes));
      TENON_RETURN_IF_ERROR(WriteAll(fd, kZeros, Align(entry.bytes) - entry.bytes));
    }
    return absl::OkStatus();
  });
}

}  // namespace tenon
