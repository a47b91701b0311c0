#include "executor/control/held_slices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/memory/lasting_memory.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// Memory of a result, which comes and goes with the runs. A heap keeps the room of smaller blocks
// for the next; more is to be the system's again.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateResult(size_t bytes) {
  constexpr size_t kLarge = size_t{8} << 20;
  return bytes < kLarge ? AllocateAligned(bytes) : AllocateLasting(bytes);
}

absl::Status TooMany(int64_t values, size_t bytes) {
  return absl::ResourceExhaustedError(
      fmt::format("{} values of {} bytes are stacked (expected {} bytes at most together)", values,
                  bytes, kMaxTensorBytes));
}

}  // namespace

void HeldSlices::Clear(Mode mode, int64_t axis, bool reverse) {
  Drop();
  mode_ = mode;
  axis_ = axis, reverse_ = reverse;
  result_ = nullptr;
  extent_ = count_ = 0;
  begun_ = false;
}

void HeldSlices::StartInto(const kernels::TensorView& result, int64_t axis, bool reverse) {
  Clear(Mode::kInto, axis, reverse);
  result_ = static_cast<std::byte*>(result.data);
  result_shape_.assign(result.shape.begin(), result.shape.end());
  extent_ = result.shape[static_cast<size_t>(axis)];
}

void HeldSlices::StartUnread() { Clear(Mode::kUnread, 0, false); }

void HeldSlices::Start(int64_t axis, bool reverse, std::optional<int64_t> count) {
  Clear(Mode::kOwn, axis, reverse);
  expected_ = count;
}

void HeldSlices::Drop() { own_ = slice_ = nullptr; }

absl::Status HeldSlices::Begin(DType dtype, std::span<const int64_t> shape) {
  TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
  begun_ = true;
  dtype_ = dtype;
  shape_.assign(shape.begin(), shape.end());
  slice_bytes_ = static_cast<size_t>(bytes);
  inner_ = SizeOf(dtype), outer_ = 1;
  for (size_t i = 0; i < shape_.size(); ++i) {
    (static_cast<int64_t>(i) < axis_ ? outer_ : inner_) *= static_cast<size_t>(shape_[i]);
  }
  if (mode_ == Mode::kInto) {
    // Slices of other extents are not written there.
    if (!IsSliceOf(result_shape_)) result_ = nullptr;
  }
  if (mode_ != Mode::kOwn || !expected_) return absl::OkStatus();
  extent_ = *expected_;
  if (slice_bytes_ > 0 && extent_ > kMaxTensorBytes / bytes) {
    return TooMany(extent_, slice_bytes_);
  }
  TENON_ASSIGN_OR_RETURN(own_, AllocateResult(static_cast<size_t>(extent_) * slice_bytes_));
  result_ = own_.get();
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> HeldSlices::PlaceBehindOthers() {
  if (slice_bytes_ > 0 && count_ >= kMaxTensorBytes / static_cast<int64_t>(slice_bytes_)) {
    return TooMany(count_ + 1, slice_bytes_);
  }
  const size_t used = static_cast<size_t>(count_) * slice_bytes_;
  const size_t bytes = used + slice_bytes_;
  if (own_ == nullptr || bytes > own_capacity_) {
    // The first guess is that there will be as many as the last time.
    const size_t guess = count_ > 0                          ? own_capacity_ / 2 * 3
                         : slice_bytes_ == last_slice_bytes_ ? last_bytes_
                                                             : 0;
    const size_t capacity = std::max(bytes, guess);
    // What is grown out of goes: a heap would keep the room of all steps.
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                           count_ > 0 ? AllocateLasting(capacity) : AllocateResult(capacity));
    if (used > 0) std::memcpy(memory.get(), own_.get(), used);
    own_ = std::move(memory);
    own_capacity_ = capacity;
  }
  return own_.get() + used;
}

absl::StatusOr<std::byte*> HeldSlices::Place(DType dtype, std::span<const int64_t> shape) {
  if (!begun_) TENON_RETURN_IF_ERROR(Begin(dtype, shape));
  if (!std::equal(shape.begin(), shape.end(), shape_.begin(), shape_.end())) {
    return absl::InvalidArgumentError(
        fmt::format("values to stack are {} and {} (expected one shape)", ShapeText(dtype_, shape_),
                    ShapeText(dtype, shape)));
  }
  if (mode_ == Mode::kOwn && result_ == nullptr) return PlaceBehindOthers();
  if (result_ != nullptr && count_ < extent_ && outer_ == 1) {
    return result_ + static_cast<size_t>(reverse_ ? extent_ - 1 - count_ : count_) * slice_bytes_;
  }
  if (slice_ == nullptr) {
    TENON_ASSIGN_OR_RETURN(slice_, memory_.Take(slice_bytes_));
  }
  return slice_.get();
}

void HeldSlices::Put(const std::byte* slice, int64_t index, std::byte* result,
                     int64_t extent) const {
  if (inner_ == 0) return;
  const auto place = static_cast<size_t>(reverse_ ? extent - 1 - index : index);
  for (size_t o = 0; o < outer_; ++o) {
    std::memcpy(result + (o * static_cast<size_t>(extent) + place) * inner_, slice + o * inner_,
                inner_);
  }
}

void HeldSlices::Added() {
  if (result_ != nullptr && count_ < extent_ && outer_ != 1) {
    Put(slice_.get(), count_, result_, extent_);
  }
  ++count_;
}

absl::InlinedVector<int64_t, 6> HeldSlices::StackedShape() const {
  absl::InlinedVector<int64_t, 6> stacked = shape_;
  stacked.insert(stacked.begin() + axis_, count_);
  return stacked;
}

bool HeldSlices::HasStackedShape(std::span<const int64_t> shape) const {
  return IsSliceOf(shape) && shape[static_cast<size_t>(axis_)] == count_;
}

bool HeldSlices::IsSliceOf(std::span<const int64_t> shape) const {
  if (shape.size() != shape_.size() + 1) return false;
  for (size_t i = 0; i < shape_.size(); ++i) {
    if (shape[static_cast<int64_t>(i) < axis_ ? i : i + 1] != shape_[i]) return false;
  }
  return true;
}

absl::StatusOr<HeldValue> HeldSlices::Finish() {
  TENON_CHECK(mode_ == Mode::kOwn && count_ > 0);
  HeldValue result;
  if (result_ == nullptr) {
    const size_t bytes = static_cast<size_t>(count_) * slice_bytes_;
    last_slice_bytes_ = slice_bytes_, last_bytes_ = bytes;
    const bool in_order = outer_ == 1 && !reverse_;
    // Whoever keeps the result keeps what it does not use of its memory.
    if (!in_order || own_capacity_ / 2 > bytes) {
      TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> stacked, AllocateResult(bytes));
      if (in_order) {
        std::memcpy(stacked.get(), own_.get(), bytes);
      } else {
        for (int64_t i = 0; i < count_; ++i) {
          Put(own_.get() + static_cast<size_t>(i) * slice_bytes_, i, stacked.get(), count_);
        }
      }
      own_ = std::move(stacked);
    }
  }
  result.Set({own_.get(), dtype_, StackedShape()}, own_);
  Drop();
  return result;
}

}  // namespace tenon
