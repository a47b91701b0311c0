#include "executor/weights/weight_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"

namespace tenon {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'P', 'W', '\n'};
constexpr uint32_t kVersion = 4;  // also tells byte orders apart
constexpr size_t kFileAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t num_entries;
  uint64_t file_bytes;
  uint64_t checksum;  // of header and index, with 0 in its place
  uint64_t contents;  // checksum of the entries
  uint64_t unused[3];
};
struct IndexEntry {
  WeightKey key;
  uint64_t offset, bytes;
};
static_assert(sizeof(Header) == 64 && sizeof(IndexEntry) == 48);

// What is noted of a file: `content` holds as long as it has this identity.
struct Note {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  FileIdentity identity;
  WeightKey content;
  uint64_t checksum;  // of what precedes
};
static_assert(sizeof(Note) == 16 + sizeof(FileIdentity) + 32 + 8);

size_t Align(size_t bytes) {
  return (bytes + kFileAlignment - 1) / kFileAlignment * kFileAlignment;
}

uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string ErrnoText() { return std::strerror(errno); }

absl::Status WriteAll(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::UnavailableError(ErrnoText());
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

// Of this boot of the system; zeros if it has no name.
WeightKey ThisBoot() {
  const CacheFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
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
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof(header));
  XXH3_64bits_update(&state, index.data(), index.size());
  return XXH3_64bits_digest(&state);
}

// Hashes page by page range, and lets the pages go: the file may be larger than what fits.
WeightKey HashOfMapped(std::span<const std::byte> bytes) {
  constexpr size_t kStep = size_t{16} << 20;
  Sha256 hash;
  for (size_t at = 0; at < bytes.size(); at += kStep) {
    const std::span<const std::byte> part = bytes.subspan(at, std::min(kStep, bytes.size() - at));
    hash.Update(part);
    DropPages(part);
  }
  return hash.Finish();
}

uint64_t ChecksumOf(const Note& note) {
  return Checksum(std::as_bytes(std::span(&note, 1)).first(offsetof(Note, checksum)));
}

// What was noted under that name. NotFound: nothing.
absl::StatusOr<Note> ReadNote(const CacheFolder& folder, const std::string& name) {
  TENON_ASSIGN_OR_RETURN(const CacheFolder::File file, folder.Read(name));
  Note note = {};
  if (file.identity.size != sizeof(note) ||
      read(file.fd.get(), &note, sizeof(note)) != static_cast<ssize_t>(sizeof(note)) ||
      std::memcmp(note.magic, kMagic, sizeof(kMagic)) != 0 || note.version != kVersion ||
      note.checksum != ChecksumOf(note)) {
    return absl::DataLossError("is damaged or of another version");
  }
  return note;
}

// Its checksum says whether a crash of the machine has left all of it.
absl::Status WriteNote(const CacheFolder& folder, const std::string& name,
                       const FileIdentity& identity, const WeightKey& content) {
  Note note = {};
  std::memcpy(note.magic, kMagic, sizeof(kMagic));
  note.version = kVersion;
  note.identity = identity;
  note.content = content;
  note.checksum = ChecksumOf(note);
  return folder
      .Replace(name, /*sync=*/false, [&](int fd) { return WriteAll(fd, &note, sizeof(note)); })
      .status();
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace

WeightKey HashOf(std::span<const std::byte> bytes) { return Sha256Of(bytes); }

WeightKey ContentOf(const SourceFile& file, const WeightCacheOptions& options, int64_t now_ns) {
  constexpr int64_t kSettledNs = 2'000'000'000;
  const bool settled = file.changed_ns <= now_ns - kSettledNs;
  const FileIdentity identity = {.device = file.device,
                                 .inode = file.inode,
                                 .size = file.bytes.size(),
                                 .modified_ns = file.modified_ns,
                                 .changed_ns = file.changed_ns};
  // One note for a file, which is replaced when the file changes.
  const std::string name =
      Hex(Sha256Of(fmt::format("{} {}\n{}", file.device, file.inode, file.path))) + ".id";
  if (settled && !options.verify) {
    const absl::StatusOr<Note> note = ReadNote(*options.folder, name);
    if (note.ok() && note->identity == identity) return note->content;
    if (!note.ok() && !absl::IsNotFound(note.status())) {
      options.warn(fmt::format("{}: {}; it is ignored and replaced", options.folder->PathOf(name),
                               MessageOf(note.status())));
    }
  }
  const WeightKey content = HashOfMapped(file.bytes);
  if (!settled) return content;
  const absl::Status written = WriteNote(*options.folder, name, identity, content);
  if (!written.ok()) options.warn(MessageOf(written));
  return content;
}

WeightCacheFile::WeightCacheFile(std::string name, WeightCacheOptions options)
    : name_(std::move(name)), options_(std::move(options)) {
  const std::string problem = Read();
  if (problem.empty()) return;
  entries_.clear();
  options_.warn(
      fmt::format("{}: {}; it is ignored and replaced", options_.folder->PathOf(name_), problem));
}

// The note that seals a file has the checksum of its contents and the boot.
WeightKey SealOf(uint64_t contents) {
  const WeightKey boot = ThisBoot();
  return Sha256Of(fmt::format("{} {}", Hex(boot), contents));
}

bool WeightCacheFile::IsSealed(const FileIdentity& identity, uint64_t contents) const {
  const absl::StatusOr<Note> seal = ReadNote(*options_.folder, name_ + ".seal");
  return seal.ok() && seal->identity == identity && seal->content == SealOf(contents);
}

absl::Status WeightCacheFile::Seal(const FileIdentity& identity, uint64_t contents) const {
  return WriteNote(*options_.folder, name_ + ".seal", identity, SealOf(contents));
}

std::string WeightCacheFile::Read() {
  absl::StatusOr<CacheFolder::File> file = options_.folder->Read(name_);
  if (!file.ok()) return absl::IsNotFound(file.status()) ? "" : MessageOf(file.status());
  const auto size = static_cast<size_t>(file->identity.size);
  if (size < sizeof(Header)) return "is no cache of packed weights";
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->fd.get(), 0);
  if (address == MAP_FAILED) return ErrnoText();
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
    if (entry.offset % kFileAlignment != 0 || entry.offset > size ||
        entry.bytes > size - entry.offset)
      return "is damaged: an entry lies outside of it";
    entries_[entry.key] = {entry.bytes,
                           kernels::PackedBytes(mapping, mapping.get() + entry.offset)};
  }
  if (!options_.verify && IsSealed(file->identity, header.contents)) return {};
  if (ContentsChecksum(entries_) != header.contents)
    return "is damaged: its contents have another checksum";
  // So that the next start need not read all of it. In a read-only folder it will.
  static_cast<void>(Seal(file->identity, header.contents));
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
  header.contents = ContentsChecksum(entries);
  const std::span<const std::byte> index_bytes = std::as_bytes(std::span(index));
  header.checksum = StartChecksum(header, index_bytes);
  std::vector<std::byte> start(payload);
  std::memcpy(start.data(), &header, sizeof(header));
  std::copy(index_bytes.begin(), index_bytes.end(), start.begin() + sizeof(header));
  // Where boots have no names, the seal outlives a crash.
  const bool sync = ThisBoot() == WeightKey();
  const auto write_contents = [&](int fd) -> absl::Status {
    TENON_RETURN_IF_ERROR(WriteAll(fd, start.data(), start.size()));
    constexpr std::byte kZeros[kFileAlignment] = {};
    for (const auto& [key, entry] : entries) {
      TENON_RETURN_IF_ERROR(WriteAll(fd, entry.data.get(), entry.bytes));
      TENON_RETURN_IF_ERROR(WriteAll(fd, kZeros, Align(entry.bytes) - entry.bytes));
    }
    return absl::OkStatus();
  };
  TENON_ASSIGN_OR_RETURN(const FileIdentity identity,
                         options_.folder->Replace(name_, sync, write_contents));
  return Seal(identity, header.contents);
}

}  // namespace tenon
