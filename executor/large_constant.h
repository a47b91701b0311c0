// A large constant that is in memory only as long as somebody may read it.
#ifndef TENON_EXECUTOR_LARGE_CONSTANT_H_
#define TENON_EXECUTOR_LARGE_CONSTANT_H_

#include <atomic>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "ir/core/deferred_blob.h"

namespace tenon {

// Holds the bytes of a program's constant for its readers: the kernel inputs that show it. One that
// has packed it for good says Done; after the last one the bytes are given up, and freed if nobody
// else (the module, another program) has them. In a model's file they rarely lie at a place that
// suits the elements: a copy is made only for a reader that wants them as they are. Thread-safe.
class LargeConstant {
 public:
  // From this size on a constant is worth it.
  static constexpr size_t kBytes = size_t{64} << 10;

  // `deferred`: if not null, makes the bytes of `source`, which has only its shape then.
  LargeConstant(Tensor source, int readers, std::shared_ptr<const DeferredBlob> deferred = nullptr);

  // Where the bytes are, or were: the address remains, and says that there is a constant, but may
  // be read only by readers that are not done, or through Hold. Of deferred ones nobody may read
  // there before MakeAligned.
  void* data() const { return data_.load(std::memory_order_acquire); }
  // The constant, kept alive by the result. Null: given up.
  Tensor Hold() const;
  // How it is made; null if its bytes are there, too.
  std::shared_ptr<const DeferredBlob> HoldDeferred() const;
  // Moves data() to an aligned copy, which stays. Nothing to do where data() is aligned, and the
  // bytes are there.
  absl::StatusOr<void*> MakeAligned();
  // Of one reader, once: it reads the bytes no more, whatever is run.
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

#endif  // TENON_EXECUTOR_LARGE_CONSTANT_H_
