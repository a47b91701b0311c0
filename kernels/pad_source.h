// The source of each element of a padded tensor.
#ifndef TENON_KERNELS_PAD_SOURCE_H_
#define TENON_KERNELS_PAD_SOURCE_H_

#include <cstdint>

#include "kernels/op_attrs.h"

namespace tenon::kernels {

// Returns the position in an axis of `extent` elements from which padded position `at` takes its
// element; -1 for the constant. Requires extent > 0, or the mode kConstant.
inline int64_t PadSource(int64_t at, int64_t extent, ten::PadMode mode) {
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

#endif  // TENON_KERNELS_PAD_SOURCE_H_
