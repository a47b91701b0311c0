// Shapes of operations that select, reduce or lay out by run-time axes and counts.
#include <algorithm>

#include "executor/attr_decode.h"
#include "executor/prepare/run_time_shapes_internal.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/core/attribute.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "kernels/calls/box_suppression.h"
#include "kernels/calls/found_results.h"
#include "kernels/calls/resize_request.h"
#include "kernels/calls/unique_slices.h"
#include "kernels/checked_index.h"
#include "kernels/op_attrs.h"

namespace tenon::run_time_shapes {
namespace {

using kernels::TensorView;

absl::Status NeedsData(const TensorView& x, std::string_view name) {
  if (x.data != nullptr || x.numel() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("the value of {} is not known", name));
}

// Axes counted from the front; an error for repeats.
absl::StatusOr<Shape> AxesInOrder(const TensorView& list, int64_t rank) {
  TENON_RETURN_IF_ERROR(NeedsData(list, "axes"));
  kernels::Dims axes;
  const kernels::KernelStatus status = kernels::ReadAxes(list, rank, axes);
  if (!status.ok()) return absl::InvalidArgumentError(std::string(status.message()));
  return Shape(axes.begin(), axes.end());
}

// The same, sorted.
absl::StatusOr<Shape> Axes(const TensorView& list, int64_t rank) {
  TENON_ASSIGN_OR_RETURN(Shape axes, AxesInOrder(list, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

absl::StatusOr<Shapes> Reduce(const ten::DynamicReduceAttrs& attrs,
                              std::span<const TensorView> operands) {
  const TensorView& x = operands[0];
  TENON_ASSIGN_OR_RETURN(Shape axes, Axes(operands[1], x.rank()));
  if (axes.empty() && !attrs.noop_with_empty_axes) {
    for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  Shape shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
    if (!reduced) shape.push_back(x.shape[axis]);
    if (reduced && attrs.keepdims) shape.push_back(1);
  }
  return Shapes{shape};
}

absl::StatusOr<Shapes> Squeeze(std::span<const TensorView> operands) {
  const TensorView& x = operands[0];
  TENON_ASSIGN_OR_RETURN(const Shape axes, Axes(operands[1], x.rank()));
  Shape shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      shape.push_back(x.shape[axis]);
    } else if (x.shape[axis] != 1) {
      return absl::InvalidArgumentError(
          fmt::format("axis {} has {} elements (expected 1)", axis, x.shape[axis]));
    }
  }
  return Shapes{shape};
}

absl::StatusOr<Shapes> Unsqueeze(std::span<const TensorView> operands) {
  const TensorView& x = operands[0];
  TENON_ASSIGN_OR_RETURN(const Shape axes, Axes(operands[1], x.rank() + operands[1].numel()));
  Shape shape(x.shape.begin(), x.shape.end());
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return Shapes{shape};
}

absl::StatusOr<Shapes> TopK(const ten::DynamicTopkAttrs& attrs,
                            std::span<const TensorView> operands) {
  TENON_ASSIGN_OR_RETURN(const Shape k, Ints(operands[1], "k"));
  const TensorView& x = operands[0];
  Shape shape(x.shape.begin(), x.shape.end());
  if (k.size() != 1 || k[0] < 0 || k[0] > shape[attrs.axis]) {
    return absl::InvalidArgumentError(
        fmt::format("k is [{}] for an axis of {} elements (expected one number, 0 to {})",
                    fmt::join(k, ", "), shape[attrs.axis], shape[attrs.axis]));
  }
  shape[attrs.axis] = k[0];
  return Shapes{shape, shape};
}

absl::StatusOr<Shapes> NonZero(std::span<const TensorView> operands) {
  const TensorView& x = operands[0];
  TENON_RETURN_IF_ERROR(NeedsData(x, "x"));
  const auto* at = static_cast<const std::byte*>(x.data);
  int64_t count = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    count += LoadAsDouble(x.dtype, at + static_cast<size_t>(i) * SizeOf(x.dtype)) != 0 ? 1 : 0;
  }
  return Shapes{{x.rank(), count}};
}

absl::StatusOr<Shapes> Unique(const ten::UniqueAttrs& attrs, std::span<const TensorView> operands,
                              KeptResults found) {
  const TensorView& x = operands[0];
  TENON_RETURN_IF_ERROR(NeedsData(x, "x"));
  kernels::UniqueSlices slices = kernels::FindUniqueSlices(x, attrs.axis, attrs.flat, attrs.sorted);
  const auto count = static_cast<int64_t>(slices.first.size());
  Shape shape = attrs.flat ? Shape(1) : Shape(x.shape.begin(), x.shape.end());
  shape[attrs.flat ? 0 : attrs.axis] = count;
  const auto extent = static_cast<int64_t>(slices.inverse.size());
  kernels::KeepFound(std::move(slices), found);
  return Shapes{shape, {count}, {extent}, {count}};
}

absl::StatusOr<Shapes> Pad(std::span<const TensorView> operands) {
  const TensorView &x = operands[0], &axes = operands[3];
  TENON_ASSIGN_OR_RETURN(const Shape pads, Ints(operands[1], "pads"));
  Shape padded;
  if (axes.present()) {
    TENON_ASSIGN_OR_RETURN(padded, AxesInOrder(axes, x.rank()));
  } else {
    for (int64_t axis = 0; axis < x.rank(); ++axis) padded.push_back(axis);
  }
  if (pads.size() != 2 * padded.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} pads for {} axes (expected two for each)", pads.size(), padded.size()));
  }
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < padded.size(); ++i) {
    const int64_t axis = padded[i];
    for (int64_t pad : {pads[i], pads[padded.size() + i]}) {
      if (pad < -kMaxElements || pad > kMaxElements) {
        return absl::InvalidArgumentError(
            fmt::format("pads holds {} (expected {} to {})", pad, -kMaxElements, kMaxElements));
      }
      shape[axis] += pad;
    }
  }
  return Shapes{shape};
}

absl::StatusOr<Shapes> Resize(const ten::DynamicResizeAttrs& attrs,
                              std::span<const TensorView> operands) {
  for (const TensorView& list : operands.subspan(1)) {
    if (list.present()) TENON_RETURN_IF_ERROR(NeedsData(list, "roi, scales or sizes"));
  }
  kernels::ResizeRequest request = kernels::ReadResizeRequest(attrs, operands);
  if (!request.error.empty()) return absl::InvalidArgumentError(request.error);
  return Shapes{std::move(request.sizes)};
}

absl::StatusOr<Shapes> Dft(const ten::DynamicDftAttrs& attrs,
                           std::span<const TensorView> operands) {
  const TensorView &x = operands[0], &length = operands[2];
  TENON_ASSIGN_OR_RETURN(const Shape axes, AxesInOrder(operands[1], x.rank()));
  if (axes.size() != 1 || axes[0] == x.rank() - 1) {
    return absl::InvalidArgumentError(
        "axis is the last one, which holds the parts of numbers (expected another one)");
  }
  Shape shape(x.shape.begin(), x.shape.end());
  int64_t& extent = shape[axes[0]];
  if (length.present()) {
    TENON_ASSIGN_OR_RETURN(const Shape given, Ints(length, "length"));
    if (given.size() != 1 || given[0] < 1 || given[0] > kMaxElements) {
      return absl::InvalidArgumentError(fmt::format("length is [{}] (expected one number, 1 to {})",
                                                    fmt::join(given, ", "), kMaxElements));
    }
    extent = given[0];
  } else if (attrs.onesided && attrs.inverse) {
    extent = 2 * (extent - 1);
  }
  if (extent < 1) {
    return absl::InvalidArgumentError(
        fmt::format("the transform would have {} elements (expected 1 or more)", extent));
  }
  if (attrs.onesided && !attrs.inverse) extent = extent / 2 + 1;
  shape.back() = attrs.onesided && attrs.inverse ? 1 : 2;
  return Shapes{shape};
}

absl::StatusOr<Shapes> NonMaxSuppression(const nn::NonMaxSuppressionAttrs& attrs,
                                         std::span<const TensorView> operands, KeptResults found) {
  for (const TensorView& operand : operands) {
    if (operand.present()) TENON_RETURN_IF_ERROR(NeedsData(operand, "boxes, scores or bounds"));
  }
  std::vector<kernels::SelectedBox> selected;
  const kernels::KernelStatus status =
      kernels::SelectBoxes(operands, attrs.center_point_box, selected);
  if (!status.ok()) return absl::InvalidArgumentError(std::string(status.message()));
  const auto count = static_cast<int64_t>(selected.size());
  kernels::KeepFound(std::move(selected), found);
  return Shapes{{count, 3}};
}

template <typename Attrs>
const Attrs& As(const std::shared_ptr<const void>& attrs) {
  return *static_cast<const Attrs*>(attrs.get());
}

}  // namespace

bool IsSelection(OpId op) {
  return op == ten::DynamicReduceOp::kId || op == ten::DynamicSqueezeOp::kId ||
         op == ten::DynamicUnsqueezeOp::kId || op == ten::DynamicTopkOp::kId ||
         op == ten::NonzeroOp::kId || op == ten::UniqueOp::kId || op == ten::DynamicPadOp::kId ||
         op == ten::DynamicResizeOp::kId || op == ten::DynamicDftOp::kId ||
         op == nn::NonMaxSuppressionOp::kId;
}

absl::StatusOr<Shapes> SelectionShapes(const OpInfo& info, std::span<const Attribute> slots,
                                       std::span<const TensorView> operands, KeptResults found) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const void> attrs, DecodeAttrs(info, slots));
  switch (info.id()) {
    case ten::DynamicReduceOp::kId:
      return Reduce(As<ten::DynamicReduceAttrs>(attrs), operands);
    case ten::DynamicSqueezeOp::kId:
      return Squeeze(operands);
    case ten::DynamicUnsqueezeOp::kId:
      return Unsqueeze(operands);
    case ten::DynamicTopkOp::kId:
      return TopK(As<ten::DynamicTopkAttrs>(attrs), operands);
    case ten::NonzeroOp::kId:
      return NonZero(operands);
    case ten::UniqueOp::kId:
      return Unique(As<ten::UniqueAttrs>(attrs), operands, found);
    case ten::DynamicPadOp::kId:
      return Pad(operands);
    case ten::DynamicDftOp::kId:
      return Dft(As<ten::DynamicDftAttrs>(attrs), operands);
    case nn::NonMaxSuppressionOp::kId:
      return NonMaxSuppression(As<nn::NonMaxSuppressionAttrs>(attrs), operands, found);
    default:
      return Resize(As<ten::DynamicResizeAttrs>(attrs), operands);
  }
}

}  // namespace tenon::run_time_shapes
