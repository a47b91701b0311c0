// What a loop stacks: a slice of each iteration, put where the result is.
#ifndef TENON_EXECUTOR_HELD_SLICES_H_
#define TENON_EXECUTOR_HELD_SLICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "executor/held_value.h"

namespace tenon {

// What the iterations of a loop yield for one result that stacks it along an axis, for backwards
// ones the last slice first. A sequence of calls that comes again allocates nothing but the results
// that it gives away. Not thread-safe.
class HeldSlices {
 public:
  // One of these before the first slice. To the caller's memory, if the slices fill it; if not,
  // they are counted only.
  void StartInto(const kernels::TensorView& result, int64_t axis, bool reverse);
  // Nobody reads the result.
  void StartUnread();
  // To memory of their own. `count`: how many there will be, if that is known.
  void Start(int64_t axis, bool reverse, std::optional<int64_t> count);

  // The place of the next slice, until Added. InvalidArgument unless its shape is that of the
  // first, ResourceExhausted for more than kMaxTensorBytes.
  absl::StatusOr<std::byte*> Place(DType dtype, std::span<const int64_t> shape);
  // It is there.
  void Added();

  int64_t count() const { return count_; }
  // Extents of the slices stacked, and whether they are these. REQUIRES: count() > 0.
  absl::InlinedVector<int64_t, 6> StackedShape() const;
  bool HasStackedShape(std::span<const int64_t> shape) const;
  // The result of Start, whose memory is the caller's from here on: up to twice its size where the
  // count was not known. REQUIRES: count() > 0, which is the count that Start was given.
  absl::StatusOr<HeldValue> Finish();
  // Memory of an unfinished result goes.
  void Drop();

 private:
  enum class Mode : uint8_t { kUnread, kInto, kOwn };
  void Clear(Mode mode, int64_t axis, bool reverse);
  // With the shape of the first slice: where the result is.
  absl::Status Begin(DType dtype, std::span<const int64_t> shape);
  // In all axes but the one along which they are stacked.
  bool IsSliceOf(std::span<const int64_t> shape) const;
  absl::StatusOr<std::byte*> PlaceBehindOthers();
  // Copies a slice to its place in a result of `extent` slices.
  void Put(const std::byte* slice, int64_t index, std::byte* result, int64_t extent) const;

  Mode mode_ = Mode::kUnread;
  int64_t axis_ = 0;
  bool reverse_ = false;
  // The result, and how many slices it has; null: not where they are put.
  std::byte* result_ = nullptr;
  int64_t extent_ = 0;
  absl::InlinedVector<int64_t, 6> result_shape_;  // of kInto
  std::optional<int64_t> expected_;               // of kOwn
  std::shared_ptr<std::byte> own_;  // of kOwn: the result, or slices one after the other
  size_t own_capacity_ = 0;
  // Of the last result whose number of slices was not known before: the size of a slice and of all.
  size_t last_slice_bytes_ = 0, last_bytes_ = 0;
  HeldMemory memory_;
  std::shared_ptr<std::byte> slice_;  // where slices are made that are copied, or not read

  bool begun_ = false;
  DType dtype_ = DType::kInvalid;
  absl::InlinedVector<int64_t, 6> shape_;
  size_t slice_bytes_ = 0;
  size_t outer_ = 1, inner_ = 0;  // a slice: so many runs of so many bytes, apart in the result
  int64_t count_ = 0;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_HELD_SLICES_H_
