#include "kernels/calls/box_suppression.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/cpu/number_keys.h"

namespace tenon::kernels {
namespace {

// An absent or present scalar operand.
template <typename T>
T ScalarOr(std::span<const TensorView> operands, size_t i, T other) {
  const bool present = i < operands.size() && operands[i].present();
  return present ? *operands[i].as<T>() : other;
}

// Boxes by falling score, the first of equal ones first. They are sorted part by part, because few
// of many are looked at where the number of boxes is bounded.
class ByScore {
 public:
  // `places` are the boxes, in order.
  ByScore(const float* scores, std::span<const uint32_t> places, int64_t part,
          std::vector<uint64_t>& keys)
      : keys_(keys), part_(part) {
    keys_.clear();
    for (const uint32_t i : places) {
      constexpr uint32_t kSign = uint32_t{1} << 31;
      const uint32_t rising = static_cast<uint32_t>(cpu::KeyOf(scores[i])) ^ kSign;
      keys_.push_back(uint64_t{~rising} << 32 | i);
    }
  }

  bool Next(int64_t& box) {
    if (next_ == keys_.size()) return false;
    if (next_ == sorted_) SortPart();
    box = static_cast<int64_t>(keys_[next_++] & std::numeric_limits<uint32_t>::max());
    return true;
  }

 private:
  void SortPart() {
    const auto begin = keys_.begin() + static_cast<int64_t>(sorted_);
    const auto left = static_cast<int64_t>(keys_.size() - sorted_);
    const auto end = begin + std::min(part_, left);
    if (part_ < left) std::nth_element(begin, end, keys_.end());
    std::sort(begin, end);
    sorted_ += static_cast<size_t>(end - begin);
    part_ *= 2;
  }

  std::vector<uint64_t>& keys_;  // what is smaller comes first: the score from above, the place
  int64_t part_;
  size_t next_ = 0, sorted_ = 0;
};

}  // namespace

KernelStatus SuppressionCall::Read(std::span<const TensorView> operands, bool center_point_box,
                                   SuppressionCall& call) {
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
  call.boxes = boxes.as<float>(), call.scores = scores.as<float>();
  call.center_point_box = center_point_box;
  call.images = scores.shape[0], call.categories = scores.shape[1], call.count = scores.shape[2];
  call.most = std::max<int64_t>(ScalarOr<int64_t>(operands, 2, 0), 0);
  call.overlap = ScalarOr<float>(operands, 3, 0);
  call.is_bounded = operands.size() > 4 && operands[4].present();
  call.least = ScalarOr<float>(operands, 4, 0);
  if (!(call.overlap >= 0 && call.overlap <= 1)) {
    return KernelStatus::Invalid("iou_threshold is " + std::to_string(call.overlap) +
                                 " (expected 0 to 1)");
  }
  return KernelStatus::Ok();
}

cpu::Box SuppressionCall::BoxAt(int64_t image, int64_t i) const {
  const float* at = boxes + (image * count + i) * 4;
  if (center_point_box) {
    const float x = at[0], y = at[1], half_width = at[2] / 2, half_height = at[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  return {std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]),
          std::max(at[1], at[3])};
}

void SelectBoxes(const SuppressionCall& call, std::vector<SelectedBox>& selected) {
  constexpr int64_t kLeastPart = 64;
  selected.clear();
  if (call.most == 0 || call.count == 0) return;
  const cpu::BoxKernels& kernels = cpu::ActiveBoxKernels();
  std::vector<uint32_t> places(static_cast<size_t>(call.count));
  std::vector<uint64_t> keys;
  cpu::BoxBlocks kept;
  for (int64_t image = 0; image < call.images; ++image) {
    for (int64_t category = 0; category < call.categories; ++category) {
      const float* scores = call.Scores(image, category);
      int64_t found = 0;
      if (call.is_bounded) {
        found = kernels.above(scores, call.count, call.least, places.data());
      } else {
        for (int64_t i = 0; i < call.count; ++i) {
          if (scores[i] == scores[i])
            places[static_cast<size_t>(found++)] = static_cast<uint32_t>(i);
        }
      }
      const int64_t part = std::max(kLeastPart, 2 * std::min(call.most, call.count));
      ByScore by_score(scores, std::span(places).first(static_cast<size_t>(found)), part, keys);
      kept.Clear();
      for (int64_t i = 0; kept.count < call.most && by_score.Next(i);) {
        const cpu::Box box = call.BoxAt(image, i);
        if (kernels.overlaps(kept, box, call.overlap)) continue;
        kept.Add(box);
        selected.push_back({image, category, i});
      }
    }
  }
}

KernelStatus SelectBoxes(std::span<const TensorView> operands, bool center_point_box,
                         std::vector<SelectedBox>& selected) {
  SuppressionCall call;
  if (KernelStatus status = SuppressionCall::Read(operands, center_point_box, call); !status.ok())
    return status;
  SelectBoxes(call, selected);
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels
