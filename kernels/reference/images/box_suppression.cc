// Reference kernel of non-maximum suppression.
#include "kernels/calls/box_suppression.h"

#include <algorithm>
#include <string>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

struct Box {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};

Box ReadBox(const float* at, bool center_point_box) {
  if (center_point_box) {
    const float x = at[0], y = at[1], half_width = at[2] / 2, half_height = at[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  return {std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]),
          std::max(at[1], at[3])};
}

bool Overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return false;
  const float shared = height * width;
  return shared / (a.area() + b.area() - shared) > threshold;
}

// An absent or present scalar operand.
template <typename T>
T ScalarOr(std::span<const TensorView> operands, size_t i, T other) {
  const bool present = i < operands.size() && operands[i].present();
  return present ? *operands[i].as<T>() : other;
}

KernelStatus NonMaxSuppression(const RunArgs& args) {
  const auto& attrs = args.get<nn::NonMaxSuppressionAttrs>();
  const TensorView& out = args.outputs[0];
  std::vector<SelectedBox> selected;
  if (KernelStatus status = SelectBoxes(args.inputs, attrs.center_point_box, selected);
      !status.ok())
    return status;
  if (static_cast<int64_t>(selected.size()) != out.shape[0]) {
    return KernelStatus::Internal("another number of boxes than was counted");
  }
  auto* row = out.as<int64_t>();
  for (const SelectedBox& s : selected) {
    for (int64_t value : {s.image, s.category, s.box}) *row++ = value;
  }
  return KernelStatus::Ok();
}

}  // namespace

KernelStatus SelectBoxes(std::span<const TensorView> operands, bool center_point_box,
                         std::vector<SelectedBox>& selected) {
  const TensorView &boxes = operands[0], &scores = operands[1];
  if (boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2] ||
      boxes.shape[2] != 4) {
    return KernelStatus::Invalid("boxes and scores do not fit (expected a score for each box)");
  }
  for (const TensorView& bound : operands.subspan(2)) {
    if (bound.present() && bound.numel() != 1) {
      return KernelStatus::Invalid("a bound has " + std::to_string(bound.numel()) +
                                   " elements (expected 1)");
    }
  }
  const auto most = ScalarOr<int64_t>(operands, 2, 0);
  const auto overlap = ScalarOr<float>(operands, 3, 0);
  const bool bounded = operands.size() > 4 && operands[4].present();
  const auto least = ScalarOr<float>(operands, 4, 0);
  if (!(overlap >= 0 && overlap <= 1)) {
    return KernelStatus::Invalid("iou_threshold is " + std::to_string(overlap) +
                                 " (expected 0 to 1)");
  }
  selected.clear();
  const int64_t categories = scores.shape[1], count = scores.shape[2];
  std::vector<int64_t> order;
  std::vector<Box> kept;
  for (int64_t row = 0; row < scores.shape[0] * categories && most > 0; ++row) {
    const int64_t image = row / categories;
    const float* score = scores.as<float>() + row * count;
    order.clear();
    for (int64_t i = 0; i < count; ++i) {
      if (bounded ? score[i] > least : score[i] == score[i]) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    kept.clear();
    for (int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) == most) break;
      const Box box = ReadBox(boxes.as<float>() + (image * count + i) * 4, center_point_box);
      const bool hidden = std::any_of(
          kept.begin(), kept.end(), [&](const Box& other) { return Overlap(box, other, overlap); });
      if (hidden) continue;
      kept.push_back(box);
      selected.push_back({image, row % categories, i});
    }
  }
  return KernelStatus::Ok();
}

Kernel RefNonMaxSuppression() {
  return {
      .op = "nn.non_max_suppression", .name = "ref.non_max_suppression", .run = NonMaxSuppression};
}

}  // namespace tenon::kernels
