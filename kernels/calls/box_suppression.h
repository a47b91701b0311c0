// The boxes that non-maximum suppression keeps.
#ifndef TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_
#define TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tenon::kernels {

struct SelectedBox {
  int64_t image, category, box;
};

// Sets `selected` to the rows of the result of nn.non_max_suppression for these operands, which
// have data. An error for a threshold of overlap that is not in [0, 1].
KernelStatus SelectBoxes(std::span<const TensorView> operands, bool center_point_box,
                         std::vector<SelectedBox>& selected);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_
