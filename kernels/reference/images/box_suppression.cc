// Reference kernel of non-maximum suppression.
#include "kernels/calls/box_suppression.h"

#include <algorithm>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

bool Overlap(const cpu::Box& a, const cpu::Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return false;
  const float shared = height * width;
  return shared / (a.area() + b.area() - shared) > threshold;
}

// The boxes that are selected of one image and class.
std::vector<int64_t> SelectedOf(const SuppressionCall& call, int64_t image, int64_t category) {
  const float* score = call.Scores(image, category);
  std::vector<int64_t> order, kept;
  for (int64_t i = 0; i < call.count; ++i) {
    if (call.is_bounded ? score[i] > call.least : score[i] == score[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= call.most) break;
    const cpu::Box box = call.BoxAt(image, i);
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      return Overlap(box, call.BoxAt(image, other), call.overlap);
    });
    if (!hidden) kept.push_back(i);
  }
  return kept;
}

KernelStatus NonMaxSuppression(const RunArgs& args) {
  const auto& attrs = args.get<nn::NonMaxSuppressionAttrs>();
  const TensorView& out = args.outputs[0];
  SuppressionCall call;
  if (KernelStatus status = SuppressionCall::Read(args.inputs, attrs.center_point_box, call);
      !status.ok())
    return status;
  std::vector<int64_t> rows;
  for (int64_t image = 0; image < call.images; ++image) {
    for (int64_t category = 0; category < call.categories; ++category) {
      for (int64_t box : SelectedOf(call, image, category)) {
        rows.insert(rows.end(), {image, category, box});
      }
    }
  }
  if (static_cast<int64_t>(rows.size()) != out.numel()) {
    return KernelStatus::Internal("another number of boxes than was counted");
  }
  std::copy(rows.begin(), rows.end(), out.as<int64_t>());
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefNonMaxSuppression() {
  return {
      .op = "nn.non_max_suppression", .name = "ref.non_max_suppression", .run = NonMaxSuppression};
}

}  // namespace tenon::kernels
