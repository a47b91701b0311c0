// Packed forms of constants: made once, shared, and kept on disk if wanted.
#ifndef TENON_EXECUTOR_PACKED_WEIGHTS_H_
#define TENON_EXECUTOR_PACKED_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/large_constant.h"
#include "executor/tensor.h"
#include "executor/weight_cache.h"
#include "ir/core/source_file.h"
#include "kernels/kernel.h"

namespace tenon {

// Shared by all instructions of a program, and by the programs that are given the same one: equal
// constants in equal layouts are packed once. It does not keep the results alive; instructions do.
//
// With a cache folder the results are also written to a file there, after the run that made them,
// and the next start maps that file. It is named after the contents of the source files; a constant
// in them is known by its place, any other by its bytes. Thread-safe.
class PackedWeights {
 public:
  struct Options {
    // Where constants may lie. Their pages are given back to the system once packed: what kernels
    // read is the packed form, and the rest can be read again.
    std::vector<SourceFile> files;
    // Empty: nothing on disk. Made if it does not exist. Not used where another user can write it.
    std::string cache_folder;
    WarningSink warn;             // may be empty
    bool verify_weights = false;  // reads source and cache files again, whatever is noted of them
  };
  explicit PackedWeights(Options options);

  // The constants from which something is made. Calls `fill` unless it is known. Null if there is
  // no memory, for this or for `fill`, which then returns false.
  kernels::PackedBytes Pack(std::span<const Tensor> from, std::string_view layout, size_t bytes,
                            const std::function<bool(std::byte*)>& fill);
  // Of bytes of a constant that nobody is reading: they leave the memory if they lie in a file.
  void Release(std::span<const std::byte> bytes) const;
  // Writes what was packed since the last call, if there is a cache folder.
  void Save();

  struct Stats {
    int64_t packed = 0;     // by fill
    int64_t shared = 0;     // known in memory
    int64_t from_disk = 0;  // mapped
    size_t packed_bytes = 0, from_disk_bytes = 0;
  };
  Stats stats() const;

 private:
  struct Known {
    std::string layout;
    size_t bytes = 0;
    struct Source {
      const void* data;
      size_t bytes;
      std::weak_ptr<const void> owner;
    };
    std::vector<Source> from;
    std::weak_ptr<const std::byte> packed;
  };

  // The file that a constant lies in; null: none.
  const SourceFile* FileOf(std::span<const std::byte> bytes) const;
  kernels::PackedBytes FindInMemory(uint64_t hash, std::span<const Tensor> from,
                                    std::string_view layout, size_t bytes);
  WeightKey KeyOf(std::span<const Tensor> from, std::string_view layout, size_t bytes);
  WeightCacheFile& CacheFor(const WeightKey& first);
  // The next Save writes it.
  void Use(const WeightKey& key, size_t bytes, kernels::PackedBytes packed);
  const WeightKey& ContentOfFile(size_t file);

  const Options options_;
  WeightCacheOptions cache_options_;  // without a folder: nothing on disk
  mutable std::mutex mutex_;
  std::multimap<uint64_t, Known> known_;            // by layout, size and samples of the constants
  std::vector<std::optional<WeightKey>> contents_;  // of the source files, when first needed
  std::optional<WeightCacheFile> cache_;
  std::map<WeightKey, WeightCacheFile::Entry> used_;  // of the cache, as the next Save writes it
  bool unsaved_ = false;
  Stats stats_;
};

// The packed weights of one instruction: keeps what it got for other shapes and sessions.
class InstructionWeights {
 public:
  struct Constant {
    Tensor tensor;                         // null: the input is not constant
    std::shared_ptr<LargeConstant> large;  // if set, it has the bytes
  };
  // `constants`: by kernel input.
  InstructionWeights(std::shared_ptr<PackedWeights> store, std::vector<Constant> constants)
      : store_(std::move(store)), constants_(std::move(constants)) {}

  // `fill` is also given how the inputs `from` are made, null for those whose bytes are there.
  kernels::PackedBytes Pack(
      std::span<const int> from, std::string_view layout, size_t bytes,
      const std::function<bool(std::byte*, std::span<const std::shared_ptr<const DeferredBlob>>)>&
          fill);
  PackedWeights& store() const { return *store_; }
  // No Pack of this input will need its bytes any more (Kernel::packs_once).
  void Done(int input);

 private:
  const std::shared_ptr<PackedWeights> store_;
  std::mutex mutex_;
  std::vector<Constant> constants_;
  std::map<std::string, kernels::PackedBytes, std::less<>> packed_;  // by layout and inputs
};

// What one call of a kernel's Prepare sees of them. While bytes are made, inputs that are made when
// they are read are there, and misaligned inputs are replaced by aligned copies, in `inputs`, the
// views that the kernel has, the latter unless it reads them anywhere.
class PrepareWeights : public kernels::WeightStore {
 public:
  PrepareWeights(const kernels::Kernel& kernel, InstructionWeights& weights,
                 std::span<kernels::TensorView> inputs)
      : kernel_(kernel), weights_(weights), inputs_(inputs), packed_(inputs.size(), false) {}

  kernels::PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                            const std::function<void(std::byte*)>& fill) override;
  // Was something made of this input? Then the kernel does not read it when it runs.
  bool packed(size_t input) const { return packed_[input]; }
  void Release(int input, size_t begin, size_t end) override;

 private:
  const kernels::Kernel& kernel_;
  InstructionWeights& weights_;
  const std::span<kernels::TensorView> inputs_;
  std::vector<bool> packed_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PACKED_WEIGHTS_H_
