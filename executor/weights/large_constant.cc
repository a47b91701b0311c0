#include "executor/weights/large_constant.h"

#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"

namespace tenon {

LargeConstant::LargeConstant(Tensor source, int readers,
                             std::shared_ptr<const DeferredBlob> deferred)
    : source_(std::move(source)),
      deferred_(std::move(deferred)),
      data_(source_.data()),
      readers_(readers) {
  if (readers_ != 0) return;
  source_ = Tensor();
  deferred_ = nullptr;
}

Tensor LargeConstant::Hold() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return source_;
}

std::shared_ptr<const DeferredBlob> LargeConstant::HoldDeferred() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return deferred_;
}

absl::StatusOr<void*> LargeConstant::MakeAligned() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!copy_ && source_ && (deferred_ != nullptr || !source_.aligned())) {
    TENON_ASSIGN_OR_RETURN(Tensor copy, Tensor::TryMake(source_.dtype(), source_.shape()));
    if (deferred_ == nullptr) {
      std::memcpy(copy.data(), source_.data(), source_.num_bytes());
    } else if (!deferred_->CopyTo(copy.as<std::byte>())) {
      return absl::ResourceExhaustedError(
          fmt::format("the bytes of a constant do not fit the memory {}", kMemoryLimit));
    }
    copy_ = std::move(copy);
    data_.store(copy_.data(), std::memory_order_release);
  }
  return data();
}

void LargeConstant::Done() {
  Tensor unused;  // freed behind the lock
  std::shared_ptr<const DeferredBlob> unused_recipe;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (readers_ == kForever) return;
  TENON_CHECK(readers_ > 0);
  if (--readers_ > 0) return;
  unused = std::exchange(source_, Tensor());
  unused_recipe = std::exchange(deferred_, nullptr);
}

}  // namespace tenon
