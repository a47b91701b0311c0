// Packed weights on disk: one file for the weights of a program, mapped at the next start.
#ifndef TENON_EXECUTOR_WEIGHT_CACHE_H_
#define TENON_EXECUTOR_WEIGHT_CACHE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/source_file.h"
#include "kernels/kernel.h"

namespace tenon {

// A hash of 128 bits.
struct WeightKey {
  uint64_t low = 0, high = 0;
  auto operator<=>(const WeightKey&) const = default;
};
WeightKey HashOf(std::span<const std::byte> bytes);

// Receives what went wrong without harm: a file that cannot be used or written.
using WarningSink = std::function<void(const std::string& message)>;

// The contents of a source file. Hashing it reads all of it; so the hash is noted in `folder`
// under path, device, inode, size and time of modification, and is computed again when one of these
// changes. Not thread-safe across equal folders in one process only in that both may compute it.
WeightKey ContentOf(const SourceFile& file, const std::string& folder, const WarningSink& warn);

// A cache file. Reading maps it; entries stay valid as long as somebody holds them. A file that is
// damaged, or of another version, counts as empty and is replaced by the next Write. Writers write
// under a name of their own and rename, so readers and other writers are not disturbed; of two that
// write at once, one wins.
class WeightCacheFile {
 public:
  WeightCacheFile(std::string path, const WarningSink& warn);

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

  std::string path_;
  std::map<WeightKey, Entry> entries_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHT_CACHE_H_
