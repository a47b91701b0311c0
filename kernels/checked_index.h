// Checks of integers that operands hold and that decide where a kernel reads and writes. Every
// kernel that takes a position, axis or length from an operand uses them.
#ifndef TENON_KERNELS_CHECKED_INDEX_H_
#define TENON_KERNELS_CHECKED_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/kernel.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {

// Returns text such as " (expected 0 to 3)", with one number if both are equal, and " (expected
// none)" if high < low.
template <typename T>
std::string ExpectedRange(T low, T high) {
  if (high < low) return " (expected none)";
  const std::string first = std::to_string(low);
  return " (expected " + (low == high ? first : first + " to " + std::to_string(high)) + ")";
}

// Counts a negative index from the end. Returns false, and leaves the index, if it is out of range.
inline bool ResolveIndex(int64_t& index, int64_t extent) {
  if (index < -extent || index >= extent) return false;
  if (index < 0) index += extent;
  return true;
}

// The error for an index that ResolveIndex refuses. `of` names what is indexed, such as "an axis".
inline KernelStatus IndexOutOfRange(int64_t index, int64_t extent, std::string_view of = "an axis",
                                    std::string_view elements = "elements") {
  return KernelStatus::Invalid("index " + std::to_string(index) + " is out of range for " +
                               std::string(of) + " of " + std::to_string(extent) + " " +
                               std::string(elements) + ExpectedRange(-extent, extent - 1));
}

// Reads the integers of `list` as distinct axes of a tensor of rank `rank`, in the order of the
// list. Negative axes count from the end. Returns an error for axes that are out of range or
// repeated.
inline KernelStatus ReadAxes(const TensorView& list, int64_t rank, Dims& axes) {
  axes.clear();
  for (int64_t i = 0; i < list.numel(); ++i) {
    int64_t axis = IndexAt(list, i);
    if (!ResolveIndex(axis, rank)) {
      return KernelStatus::Invalid("axis " + std::to_string(axis) + " is out of range for rank " +
                                   std::to_string(rank) + ExpectedRange(-rank, rank - 1));
    }
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return KernelStatus::Invalid("axis " + std::to_string(axis) +
                                   " is named twice (expected each axis once)");
    }
    axes.push_back(axis);
  }
  return KernelStatus::Ok();
}

// Returns an error unless `length`, that of sequence `number`, is in [0, steps].
inline KernelStatus CheckLength(int64_t number, int64_t length, int64_t steps) {
  if (length >= 0 && length <= steps) return KernelStatus::Ok();
  return KernelStatus::Invalid("length " + std::to_string(length) + " of sequence " +
                               std::to_string(number) + " is out of range for " +
                               std::to_string(steps) + " steps" + ExpectedRange<int64_t>(0, steps));
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CHECKED_INDEX_H_
