// The source of each element of a padded tensor.
#ifndef TENON_KERNELS_CALLS_PAD_SOURCE_H_
#define TENON_KERNELS_CALLS_PAD_SOURCE_H_

#include <cstdint>

#include "kernels/op_attrs.h"

namespace tenon::kernels {

// Returns the position in an axis of `extent` elements from which position `i` of the padded axis
// takes its element; -1 for the constant. `before` and `behind` are the paddings. Negative ones cut
// elements off first: the rest is what is repeated, as in onnxruntime. Requires extent > 0, or the
// mode kConstant.
inline int64_t PadSource(int64_t i, int64_t extent, int64_t before, int64_t behind,
                         ten::PadMode mode) {
  const int64_t cut = before < 0 ? -before : 0, rest = extent - cut - (behind < 0 ? -behind : 0);
  // If nothing is left, all of the axis is repeated.
  if (cut + (behind < 0 ? -behind : 0) > 0 && rest > 0 && mode != ten::PadMode::kConstant) {
    return cut + PadSource(i, rest, before < 0 ? 0 : before, 0, mode);
  }
  const int64_t at = i - before;
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case ten::PadMode::kConstant:
      return -1;
    case ten::PadMode::kEdge:
      return at < 0 ? 0 : extent - 1;
    case ten::PadMode::kWrap:
      return (at % extent + extent) % extent;
    case ten::PadMode::kReflect: {
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t folded = (at % period + period) % period;
      return folded < extent ? folded : period - folded;
    }
  }
  return -1;
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_PAD_SOURCE_H_
