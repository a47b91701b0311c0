// A large constant that stays in memory only while it has readers.
#ifndef TENON_EXECUTOR_WEIGHTS_LARGE_CONSTANT_H_
#define TENON_EXECUTOR_WEIGHTS_LARGE_CONSTANT_H_

#include <atomic>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "ir/core/constants/deferred_blob.h"

namespace tenon {

// The bytes of a program's constant, for its readers: the kernel inputs that use it. A reader that
// has packed the constant for good calls Done. After the last one the bytes are given up, and freed
// unless the module or another program has them. Constants in a model file are rarely aligned: an
// aligned copy is made only for a reader that needs one. Thread-safe.
class LargeConstant {
 public:
  // Smaller constants are not worth it.
  static constexpr size_t kBytes = size_t{64} << 10;

  // For `readers`: the constant is never given up, and Done does nothing.
  static constexpr int kForever = -1;

  // `readers` is the number of Done calls to come, or kForever. `deferred`, if not null, computes
  // the bytes of `source`, which then has only a shape.
  LargeConstant(Tensor source, int readers, std::shared_ptr<const DeferredBlob> deferred = nullptr);

  // The address of the bytes, also after they are given up. Only readers that are not done may read
  // there; for deferred bytes only after MakeAligned. Use Hold otherwise.
  void* data() const { return data_.load(std::memory_order_acquire); }
  // Returns the constant, which the result keeps alive. Null if it was given up.
  Tensor Hold() const;
  // Returns how the bytes are computed; null if they exist already.
  std::shared_ptr<const DeferredBlob> HoldDeferred() const;
  // Moves data() to an aligned copy, which stays. Does nothing if data() is aligned and the bytes
  // exist. ResourceExhausted if there is no memory.
  absl::StatusOr<void*> MakeAligned();
  // One reader will not read the bytes again, in any run. Call it once per reader.
  void Done();

 private:
  mutable std::mutex mutex_;
  Tensor source_;  // null: given up
  std::shared_ptr<const DeferredBlob> deferred_;
  Tensor copy_;
  std::atomic<void*> data_;
  int readers_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_LARGE_CONSTANT_H_
