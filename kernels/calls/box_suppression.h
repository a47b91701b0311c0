// The boxes that non-maximum suppression keeps.
#ifndef TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_
#define TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/box_overlaps.h"
#include "kernels/kernel.h"

namespace tenon::kernels {

struct SelectedBox {
  int64_t image, category, box;
};

// The operands of nn.non_max_suppression, which have data.
struct SuppressionCall {
  // Reads the bounds. An error for shapes that do not fit and for a threshold of overlap that is
  // not in [0, 1].
  static KernelStatus Read(std::span<const TensorView> operands, bool center_point_box,
                           SuppressionCall& call);

  cpu::Box BoxAt(int64_t image, int64_t i) const;
  // The scores of one image and class.
  const float* Scores(int64_t image, int64_t category) const {
    return scores + (image * categories + category) * count;
  }

  const float *boxes, *scores;
  bool center_point_box;
  int64_t images, categories, count;
  int64_t most;   // boxes for each image and class
  float overlap;  // the largest that is allowed
  bool is_bounded;
  float least;  // with is_bounded: scores are larger
};

// Sets `selected` to the rows of the result.
void SelectBoxes(const SuppressionCall& call, std::vector<SelectedBox>& selected);
// The same with an error for wrong operands.
KernelStatus SelectBoxes(std::span<const TensorView> operands, bool center_point_box,
                         std::vector<SelectedBox>& selected);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_BOX_SUPPRESSION_H_
