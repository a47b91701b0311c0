#include "executor/large_constant.h"

#include <cstring>
#include <utility>

#include "ir/core/check.h"

namespace tenon {

LargeConstant::LargeConstant(Tensor source, int readers)
    : source_(std::move(source)), data_(source_.data()), readers_(readers) {
  if (readers_ == 0) source_ = Tensor();
}

Tensor LargeConstant::Hold() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return source_;
}

absl::StatusOr<void*> LargeConstant::MakeAligned() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!copy_ && source_ && !source_.aligned()) {
    TENON_ASSIGN_OR_RETURN(copy_, Tensor::TryMake(source_.dtype(), source_.shape()));
    std::memcpy(copy_.data(), source_.data(), source_.num_bytes());
    data_.store(copy_.data(), std::memory_order_release);
  }
  return data();
}

void LargeConstant::Done() {
  Tensor unused;  // freed behind the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  TENON_CHECK(readers_ > 0);
  if (--readers_ == 0) unused = std::exchange(source_, Tensor());
}

}  // namespace tenon
