// Packed weights on disk: one file per program, mapped at the next start.
#ifndef TENON_EXECUTOR_WEIGHTS_WEIGHT_CACHE_H_
#define TENON_EXECUTOR_WEIGHTS_WEIGHT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "executor/weights/cache_folder.h"
#include "executor/weights/sha256.h"
#include "ir/base/source_file.h"
#include "kernels/kernel.h"

namespace tenon {

using WeightKey = Digest;
WeightKey HashOf(std::span<const std::byte> bytes);

// Receives problems that do no harm, such as a cache file that cannot be used or written.
using WarningSink = std::function<void(const std::string& message)>;

// The place of packed weights.
struct WeightCacheOptions {
  std::shared_ptr<const CacheFolder> folder;
  WarningSink warn;
  bool verify = false;  // checks all files again, instead of trusting recorded identities
};

// Returns the hash of a source file's contents. Computing it reads the file, so the folder records
// it with the identity of the file. A file that changed less than two seconds before `now_ns`, in
// nanoseconds since the epoch, is hashed but not recorded.
WeightKey ContentOf(const SourceFile& file, const WeightCacheOptions& options, int64_t now_ns);

// A cache file. Reading maps it; entries stay valid as long as somebody holds them. A file counts
// as empty if it is damaged, of another version, or writable for another user; the next Write
// replaces it. Of two writers at once, one wins.
//
// A seal beside the file records its identity after its contents were written or checked, and the
// boot of the system. Contents are checked again when one of these changes: a crash may have lost
// some of them, or the file was edited.
class WeightCacheFile {
 public:
  WeightCacheFile(std::string name, WeightCacheOptions options);

  // Returns an entry; null if there is none.
  kernels::PackedBytes Find(const WeightKey& key, size_t bytes) const;

  struct Entry {
    size_t bytes = 0;
    kernels::PackedBytes data;
  };
  // Replaces the file. The errors are those of CacheFolder::Replace.
  absl::Status Write(const std::map<WeightKey, Entry>& entries) const;
  // All entries of the file.
  const std::map<WeightKey, Entry>& entries() const { return entries_; }

 private:
  // Returns the reason if the file was not read; empty if it was read or does not exist.
  std::string Read();
  bool IsSealed(const FileIdentity& identity, uint64_t contents) const;
  absl::Status Seal(const FileIdentity& identity, uint64_t contents) const;

  const std::string name_;
  const WeightCacheOptions options_;
  std::map<WeightKey, Entry> entries_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_WEIGHT_CACHE_H_
