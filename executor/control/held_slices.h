// Results of loops that stack one slice per iteration.
#ifndef TENON_EXECUTOR_CONTROL_HELD_SLICES_H_
#define TENON_EXECUTOR_CONTROL_HELD_SLICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "executor/control/held_value.h"

namespace tenon {

// The slices of one loop result, stacked along an axis; for reversed loops the last one comes
// first. A repeated sequence of calls allocates only results that are given away. Not thread-safe.
class HeldSlices {
 public:
  // Start with one of the three Start functions. StartInto writes to the caller's memory if the
  // slices fill it; otherwise it only counts them.
  void StartInto(const kernels::TensorView& result, int64_t axis, bool reverse);
  // Nobody reads the result.
  void StartUnread();
  // Writes to own memory. `count` is the number of slices, if it is known.
  void Start(int64_t axis, bool reverse, std::optional<int64_t> count);

  // Returns the place of the next slice, valid until Added. InvalidArgument if its shape differs
  // from that of the first; ResourceExhausted above kMaxTensorBytes.
  absl::StatusOr<std::byte*> Place(DType dtype, std::span<const int64_t> shape);
  // Says that the slice has been written.
  void Added();

  int64_t count() const { return count_; }
  // The shape of the stacked slices, and a comparison with it. Both require count() > 0.
  absl::InlinedVector<int64_t, 6> StackedShape() const;
  bool HasStackedShape(std::span<const int64_t> shape) const;
  // Returns the result after Start. Its memory, up to twice its size if the count was not known,
  // belongs to the caller. Requires count() > 0 and equal to the count given to Start.
  absl::StatusOr<HeldValue> Finish();
  // Frees the memory of an unfinished result.
  void Drop();

 private:
  enum class Mode : uint8_t { kUnread, kInto, kOwn };
  void Clear(Mode mode, int64_t axis, bool reverse);
  // Finds the place of the result once the shape of the first slice is known.
  absl::Status Begin(DType dtype, std::span<const int64_t> shape);
  // Compares all axes except the one along which slices are stacked.
  bool IsSliceOf(std::span<const int64_t> shape) const;
  absl::StatusOr<std::byte*> PlaceBehindOthers();
  // Copies a slice to its place in a result of `extent` slices.
  void Put(const std::byte* slice, int64_t index, std::byte* result, int64_t extent) const;

  Mode mode_ = Mode::kUnread;
  int64_t axis_ = 0;
  bool reverse_ = false;
  // The result, and its number of slices; null if slices are not put there.
  std::byte* result_ = nullptr;
  int64_t extent_ = 0;
  absl::InlinedVector<int64_t, 6> result_shape_;  // of kInto
  std::optional<int64_t> expected_;               // of kOwn
  std::shared_ptr<std::byte> own_;                // kOwn: the result, or slices one after the other
  size_t own_capacity_ = 0;
  // Sizes of a slice and of all, for the last result whose number of slices was not known before.
  size_t last_slice_bytes_ = 0, last_bytes_ = 0;
  HeldMemory memory_;
  std::shared_ptr<std::byte> slice_;  // for slices that are copied or not read

  bool begun_ = false;
  DType dtype_ = DType::kInvalid;
  absl::InlinedVector<int64_t, 6> shape_;
  size_t slice_bytes_ = 0;
  size_t outer_ = 1, inner_ = 0;  // a slice is outer_ runs of inner_ bytes, apart in the result
  int64_t count_ = 0;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_HELD_SLICES_H_
