// Packed weights on disk: one file for the weights of a program, mapped at the next start.
#ifndef TENON_EXECUTOR_WEIGHT_CACHE_H_
#define TENON_EXECUTOR_WEIGHT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "executor/cache_folder.h"
#include "executor/sha256.h"
#include "ir/core/source_file.h"
#include "kernels/kernel.h"

namespace tenon {

using WeightKey = Digest;
WeightKey HashOf(std::span<const std::byte> bytes);

// Receives what went wrong without harm: a file that cannot be used or written.
using WarningSink = std::function<void(const std::string& message)>;

// Where packed weights are kept.
struct WeightCacheOptions {
  std::shared_ptr<const CacheFolder> folder;
  WarningSink warn;
  bool verify = false;  // reads all files again, whatever is noted of them
};

// The hash of a source file's contents. Hashing reads all of the file, so the hash is noted in the
// folder together with the file's identity. A file that changed within the last two seconds, before
// `now_ns` since the epoch, is hashed and not noted.
WeightKey ContentOf(const SourceFile& file, const WeightCacheOptions& options, int64_t now_ns);

// A cache file. Reading maps it; entries stay valid as long as somebody holds them. A file that is
// damaged, of another version, or that another user can write, counts as empty and is replaced by
// the next Write. Of two writers at once, one wins.
//
// A seal beside the file notes its identity after its contents were written or compared with their
// checksum, and the boot of the system. Contents are compared again when one of these changes: a
// crash may have lost some of them, or somebody has edited the file.
class WeightCacheFile {
 public:
  WeightCacheFile(std::string name, WeightCacheOptions options);

  // Null: not there.
  kernels::PackedBytes Find(const WeightKey& key, size_t bytes) const;

  struct Entry {
    size_t bytes = 0;
    kernels::PackedBytes data;
  };
  // Replaces the file.
  absl::Status Write(const std::map<WeightKey, Entry>& entries) const;
  // All that the file has.
  const std::map<WeightKey, Entry>& entries() const { return entries_; }

 private:
  // Empty: it was read, or is not there.
  std::string Read();
  bool IsSealed(const FileIdentity& identity, uint64_t contents) const;
  absl::Status Seal(const FileIdentity& identity, uint64_t contents) const;

  const std::string name_;
  const WeightCacheOptions options_;
  std::map<WeightKey, Entry> entries_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHT_CACHE_H_
