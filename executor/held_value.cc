#include "executor/held_value.h"

#include <algorithm>
#include <cstring>

#include "executor/lasting_memory.h"
#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon {
namespace {

// What grows step by step gets room for more.
size_t Grown(size_t bytes, size_t capacity) { return std::max(bytes, capacity + capacity / 2); }

}  // namespace

void HeldValue::Set(const kernels::TensorView& view, std::shared_ptr<const void> of) {
  dtype = view.dtype;
  shape.assign(view.shape.begin(), view.shape.end());
  data = view.data;
  owner = std::move(of);
}

absl::StatusOr<std::shared_ptr<std::byte>> HeldMemory::Take(size_t bytes) {
  const auto is_free = [](const Block& block) {
    return block.memory == nullptr || block.memory.use_count() == 1;
  };
  auto block = std::find_if(blocks_.begin(), blocks_.end(), is_free);
  if (block == blocks_.end()) block = blocks_.insert(blocks_.end(), Block());
  if (block->memory == nullptr || block->capacity < bytes) {
    const size_t capacity = Grown(bytes, block->capacity);
    *block = Block();  // the old one goes first
    TENON_ASSIGN_OR_RETURN(block->memory, AllocateLasting(capacity));
    block->capacity = capacity;
  }
  return block->memory;
}

void HeldMemory::GiveAway() {
  for (Block& block : blocks_) {
    if (block.memory.use_count() > 1) block = Block();
  }
}

void HeldSlices::Start(int64_t expected) {
  expected_ = expected;
  count_ = 0;
}

absl::StatusOr<std::byte*> HeldSlices::Place(DType dtype, std::span<const int64_t> shape) {
  if (count_ == 0) {
    TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    dtype_ = dtype;
    shape_.assign(shape.begin(), shape.end());
    slice_bytes_ = static_cast<size_t>(bytes);
  } else if (!std::equal(shape.begin(), shape.end(), shape_.begin(), shape_.end())) {
    return absl::InvalidArgumentError(
        fmt::format("values to stack are {} and {} (expected one shape)", ShapeText(dtype_, shape_),
                    ShapeText(dtype, shape)));
  }
  const int64_t slices = std::max(count_ + 1, expected_);
  if (slice_bytes_ > 0 && slices > kMaxTensorBytes / static_cast<int64_t>(slice_bytes_)) {
    return absl::ResourceExhaustedError(
        fmt::format("{} values of {} bytes are stacked", slices, slice_bytes_));
  }
  const size_t used = static_cast<size_t>(count_) * slice_bytes_;
  const size_t bytes = static_cast<size_t>(slices) * slice_bytes_;
  if (memory_ == nullptr || bytes > capacity_) {
    const size_t capacity = Grown(bytes, capacity_);
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, AllocateLasting(capacity));
    if (used > 0) std::memcpy(memory.get(), memory_.get(), used);
    memory_ = std::move(memory);
    capacity_ = capacity;
  }
  return memory_.get() + used;
}

absl::InlinedVector<int64_t, 6> HeldSlices::StackedShape(int64_t axis) const {
  absl::InlinedVector<int64_t, 6> stacked = shape_;
  stacked.insert(stacked.begin() + axis, count_);
  return stacked;
}

void HeldSlices::CopyTo(int64_t axis, bool reverse, std::byte* to) const {
  size_t inner = SizeOf(dtype_), outer = 1;
  for (size_t i = 0; i < shape_.size(); ++i) {
    (static_cast<int64_t>(i) < axis ? outer : inner) *= static_cast<size_t>(shape_[i]);
  }
  if (inner == 0 || outer == 0) return;
  const auto count = static_cast<size_t>(count_);
  for (size_t i = 0; i < count; ++i) {
    const size_t place = reverse ? count - 1 - i : i;
    const std::byte* const slice = memory_.get() + i * slice_bytes_;
    for (size_t o = 0; o < outer; ++o) {
      std::memcpy(to + (o * count + place) * inner, slice + o * inner, inner);
    }
  }
}

}  // namespace tenon
