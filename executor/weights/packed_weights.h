// Packed constants: made once, shared, and optionally kept on disk.
#ifndef TENON_EXECUTOR_WEIGHTS_PACKED_WEIGHTS_H_
#define TENON_EXECUTOR_WEIGHTS_PACKED_WEIGHTS_H_

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

#include "absl/status/status.h"
#include "executor/tensor.h"
#include "executor/weights/large_constant.h"
#include "executor/weights/packed_uses.h"
#include "executor/weights/saved_weights.h"
#include "executor/weights/weight_cache.h"
#include "ir/base/source_file.h"
#include "kernels/kernel.h"

namespace tenon {

// A store of packed constants. All instructions of a program share it, and all programs that are
// given the same one. Equal constants in equal layouts are packed once. Instructions, and not the
// store, keep the results alive.
//
// With a cache folder, a run that has packed constants also writes them to a file there, and the
// next start maps that file. Its name follows from the contents of the source files. A constant in
// a source file is known by its position, any other by its bytes. Thread-safe.
class PackedWeights {
 public:
  // How a store works.
  struct Options {
    // Files that constants may lie in. Their pages are given back to the system once packed:
    // kernels read the packed form, and the rest can be read again.
    std::vector<SourceFile> files;
    // Empty: nothing on disk. The folder is created if necessary. It is not used if another user
    // can write to it; `warn` says so.
    std::string cache_folder;
    WarningSink warn;  // receives problems that do no harm; may be empty
    // Checks source and cache files again, instead of trusting recorded identities.
    bool verify_weights = false;
    // Weights of the file of the only program that uses the store; null: none.
    std::shared_ptr<const SavedWeights> saved{};
    // Receives what that program packs, to save it; may be null.
    std::shared_ptr<PackedUses> uses{};
  };
  // Makes an empty store. Creates the cache folder if it is missing.
  explicit PackedWeights(Options options);

  // Returns `bytes` packed bytes. Calls `fill` unless they are known; it returns false if it runs
  // out of memory. `from` are the constants from which they are made. Null if there is no memory:
  // `why`, which may be null, then says which limit was exceeded, unless `fill` returned false.
  // Without `on_disk` the cache folder is neither asked nor given the result.
  kernels::PackedBytes Pack(std::span<const Tensor> from, std::string_view layout, size_t bytes,
                            const std::function<bool(std::byte*)>& fill,
                            absl::Status* why = nullptr, bool on_disk = true);
  // Returns what the program's file has for an instruction; null if it has nothing of that size.
  // `name` is that of SavedWeight.
  kernels::PackedBytes FindSaved(int instruction, std::string_view name, size_t bytes);
  PackedUses* uses() const { return options_.uses.get(); }  // Options::uses
  // Hint that nobody reads these bytes of a constant. They leave memory if they lie in a file.
  void Release(std::span<const std::byte> bytes) const;
  // Writes what was packed since the last call, if there is a cache folder.
  void Save();

  // Counters since the start.
  struct Stats {
    int64_t packed = 0;       // computed
    int64_t shared = 0;       // found in memory
    int64_t from_disk = 0;    // mapped from the cache folder or the program's file
    size_t packed_bytes = 0,  // size of what was computed
        from_disk_bytes = 0;  // size of what was mapped
  };
  Stats stats() const;  // a copy of the counters

 private:
  struct Known {
    std::string layout;
    size_t bytes = 0;
    // A constant that was packed.
    struct Source {
      const void* data;                 // its bytes
      size_t bytes;                     // their size
      std::weak_ptr<const void> owner;  // expired: `data` may be something else
    };
    std::vector<Source> from;
    std::weak_ptr<const std::byte> packed;
  };

  // The file that holds a constant; null if none does.
  const SourceFile* FileOf(std::span<const std::byte> bytes) const;
  kernels::PackedBytes FindInMemory(uint64_t hash, std::span<const Tensor> from,
                                    std::string_view layout, size_t bytes);
  WeightKey KeyOf(std::span<const Tensor> from, std::string_view layout, size_t bytes);
  WeightCacheFile& CacheFor(const WeightKey& first);
  // Makes the next Save write it.
  void Use(const WeightKey& key, size_t bytes, kernels::PackedBytes packed);
  const WeightKey& ContentOfFile(size_t file);

  const Options options_;
  WeightCacheOptions cache_options_;  // without a folder: nothing on disk
  mutable std::mutex mutex_;
  std::multimap<uint64_t, Known> known_;            // by layout, size and samples of the constants
  std::vector<std::optional<WeightKey>> contents_;  // of the source files, computed on demand
  std::optional<WeightCacheFile> cache_;
  std::map<WeightKey, WeightCacheFile::Entry> used_;  // that the next Save writes
  bool unsaved_ = false;
  Stats stats_;
};

// The packed weights of one instruction. Keeps them for other shapes and sessions. Thread-safe.
class InstructionWeights {
 public:
  // A kernel input.
  struct Constant {
    Tensor tensor;                         // null: the input is not constant
    std::shared_ptr<LargeConstant> large;  // holds the bytes, if it is set
    const void* address = nullptr;         // by which PackedUses knows it
  };
  static constexpr int kNoNumber = -1;  // an instruction of which nothing is on disk

  // `constants` is by kernel input. `instruction` counts those of the program that pack, in the
  // order of compiling. kNoNumber: nothing is on disk, neither in the cache folder nor in a file of
  // the program.
  InstructionWeights(std::shared_ptr<PackedWeights> store, std::vector<Constant> constants,
                     int instruction)
      : store_(std::move(store)), instruction_(instruction), constants_(std::move(constants)) {}

  // See PackedWeights::Pack. `fill` also gets the deferred contents of the inputs `from`; null for
  // those whose bytes exist. `kind` and `find` are those of PackedUses::Add, for a store with uses.
  kernels::PackedBytes Pack(
      std::span<const int> from, std::string_view layout, size_t bytes,
      const std::function<bool(std::byte*, std::span<const std::shared_ptr<const DeferredBlob>>)>&
          fill,
      absl::Status* why = nullptr, const std::string& kind = {},
      const PackedUses::FindOrders& find = {});
  PackedWeights& store() const { return *store_; }  // the store that it shares
  // No later Pack needs the bytes of this input (Kernel::packs_once).
  void Done(int input);

 private:
  const std::shared_ptr<PackedWeights> store_;
  const int instruction_;
  std::mutex mutex_;
  std::vector<Constant> constants_;
  std::map<std::string, kernels::PackedBytes, std::less<>> packed_;  // by layout and inputs
};

// The weight store of one call of a kernel's Prepare. While `fill` runs, deferred inputs have their
// bytes in `inputs`, the views of the kernel. Misaligned inputs are replaced by aligned copies
// there, unless the kernel reads unaligned ones.
class PrepareWeights : public kernels::WeightStore {
 public:
  // All arguments must outlive this object.
  PrepareWeights(const kernels::Kernel& kernel, InstructionWeights& weights,
                 std::span<kernels::TensorView> inputs)
      : kernel_(kernel), weights_(weights), inputs_(inputs), packed_(inputs.size(), false) {}

  kernels::PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                            const std::function<void(std::byte*)>& fill) override;
  // True if something was packed from this input, so that the kernel does not read it in runs.
  bool packed(size_t input) const { return packed_[input]; }
  // ResourceExhausted if Pack returned null, with the limit that was exceeded.
  const absl::Status& refused() const { return refused_; }
  void Release(int input, size_t begin, size_t end) override;

 private:
  const kernels::Kernel& kernel_;
  InstructionWeights& weights_;
  const std::span<kernels::TensorView> inputs_;
  std::vector<bool> packed_;
  absl::Status refused_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_PACKED_WEIGHTS_H_
