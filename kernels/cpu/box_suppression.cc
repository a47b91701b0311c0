// Non-maximum suppression: a box is compared with 16 selected ones at a time.
#include "kernels/calls/box_suppression.h"

#include <vector>

#include "kernels/calls/found_results.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

KernelStatus SuppressBoxes(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  std::vector<SelectedBox> own;
  const auto* selected = KeptOf<std::vector<SelectedBox>>(args);
  if (selected == nullptr) {
    const bool center_point_box = args.get<nn::NonMaxSuppressionAttrs>().center_point_box;
    if (KernelStatus status = SelectBoxes(args.inputs, center_point_box, own); !status.ok())
      return status;
    selected = &own;
  }
  if (static_cast<int64_t>(selected->size()) != out.shape[0]) {
    return KernelStatus::Internal("another number of boxes than was counted");
  }
  auto* row = out.as<int64_t>();
  for (const SelectedBox& s : *selected) {
    for (int64_t value : {s.image, s.category, s.box}) *row++ = value;
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuNonMaxSuppression() {
  return {.op = "nn.non_max_suppression",
          .name = "cpu.non_max_suppression",
          .priority = 10,
          .run = SuppressBoxes};
}

}  // namespace tenon::kernels
