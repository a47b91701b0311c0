#include "executor/prepare/run_time_shapes.h"

#include <algorithm>
#include <cmath>

#include "executor/control/trip_count.h"
#include "executor/prepare/run_time_shapes_internal.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/core/attribute.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using kernels::TensorView;
using run_time_shapes::Ints;
using run_time_shapes::KeptResults;
using run_time_shapes::kMaxElements;
using run_time_shapes::Shape;
using run_time_shapes::Shapes;

absl::Status CheckSize(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) {
      return absl::InvalidArgumentError(fmt::format(
          "the result would have shape [{}] (expected extents >= 0)", fmt::join(shape, ", ")));
    }
    if (d != 0 && n > kMaxElements / d) {
      return absl::InvalidArgumentError(
          fmt::format("the result would have shape [{}] (expected {} elements at most)",
                      fmt::join(shape, ", "), kMaxElements));
    }
    n *= std::max<int64_t>(d, 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> Reshape(std::span<const TensorView> operands, bool allow_zero) {
  TENON_ASSIGN_OR_RETURN(Shape shape, Ints(operands[1], "shape"));
  const TensorView& x = operands[0];
  int64_t known = 1, inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= x.shape.size())
        return absl::InvalidArgumentError(
            fmt::format("0 at {} in shape has no extent of x to copy (expected one of the first "
                        "{})",
                        i, x.shape.size()));
      shape[i] = x.shape[i];
    }
    if (shape[i] == -1) {
      if (inferred >= 0)
        return absl::InvalidArgumentError("shape has several -1 (expected at most one)");
      inferred = static_cast<int64_t>(i);
    } else if (shape[i] >= 0 && (shape[i] == 0 || known <= kMaxElements / shape[i])) {
      known *= shape[i];
    } else {
      return absl::InvalidArgumentError(fmt::format(
          "shape has the extent {} (expected -1 or extents whose product is at most {})", shape[i],
          kMaxElements));
    }
  }
  const int64_t total = x.numel();
  if (inferred >= 0 && known > 0) shape[inferred] = total / known;
  if (inferred >= 0 && known == 0)
    return absl::InvalidArgumentError(
        "-1 in shape cannot be inferred beside 0 (expected only one of them)");
  if ((inferred >= 0 ? known * shape[inferred] : known) != total) {
    return absl::InvalidArgumentError(
        fmt::format("{} elements cannot have shape [{}] (expected a shape of as many)", total,
                    fmt::join(shape, ", ")));
  }
  return shape;
}

absl::StatusOr<Shape> Expand(std::span<const TensorView> operands) {
  TENON_ASSIGN_OR_RETURN(Shape target, Ints(operands[1], "shape"));
  Shape shape(std::max(target.size(), operands[0].shape.size()), 1);
  const auto& x = operands[0].shape;
  std::copy(x.begin(), x.end(), shape.end() - static_cast<std::ptrdiff_t>(x.size()));
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t& extent = shape[shape.size() - target.size() + i];
    if (target[i] == 1 || target[i] == extent) continue;
    if (extent != 1) {
      return absl::InvalidArgumentError(
          fmt::format("x of shape [{}] cannot be broadcast with [{}] (expected extents that are "
                      "equal or 1)",
                      fmt::join(x, ", "), fmt::join(target, ", ")));
    }
    extent = target[i];
  }
  return shape;
}

absl::StatusOr<Shape> Slice(std::span<const TensorView> operands) {
  TENON_ASSIGN_OR_RETURN(const Shape starts, Ints(operands[1], "starts"));
  TENON_ASSIGN_OR_RETURN(const Shape ends, Ints(operands[2], "ends"));
  Shape axes, steps(starts.size(), 1);
  if (operands.size() > 3 && operands[3].present()) {
    TENON_ASSIGN_OR_RETURN(axes, Ints(operands[3], "axes"));
  } else {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (operands.size() > 4 && operands[4].present()) {
    TENON_ASSIGN_OR_RETURN(steps, Ints(operands[4], "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return absl::InvalidArgumentError(
        fmt::format("there are {} starts, {} ends, {} axes and {} steps (expected as many of each)",
                    starts.size(), ends.size(), axes.size(), steps.size()));
  }
  Shape shape(operands[0].shape.begin(), operands[0].shape.end());
  std::vector<bool> seen(shape.size(), false);
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || seen[axis]) {
      return absl::InvalidArgumentError(
          fmt::format("axis {} is repeated or out of range (expected different axes in [{}, {}))",
                      axes[i], -rank, rank));
    }
    if (steps[i] == 0) {
      return absl::InvalidArgumentError("a step is 0 (expected other numbers)");
    }
    seen[axis] = true;
    const int64_t extent = shape[axis];
    auto from_end = [extent](int64_t v) { return v < 0 ? v + extent : v; };
    if (steps[i] > 0) {
      const int64_t start = std::clamp<int64_t>(from_end(starts[i]), 0, extent);
      const int64_t end = std::clamp<int64_t>(from_end(ends[i]), 0, extent);
      shape[axis] = end > start ? 1 + (end - start - 1) / steps[i] : 0;
    } else {
      // ONNX clamps the start to an element, if there is one.
      const int64_t first = extent > 0 ? 0 : -1;
      const int64_t start = std::clamp<int64_t>(from_end(starts[i]), first, extent - 1);
      const int64_t end = std::clamp<int64_t>(from_end(ends[i]), -1, extent - 1);
      // Minus the step as unsigned: the smallest integer has no negative.
      const uint64_t stride = uint64_t{0} - static_cast<uint64_t>(steps[i]);
      shape[axis] = start > end
                        ? 1 + static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / stride)
                        : 0;
    }
  }
  return shape;
}

absl::StatusOr<Shape> Tile(std::span<const TensorView> operands) {
  TENON_ASSIGN_OR_RETURN(const Shape repeats, Ints(operands[1], "repeats"));
  Shape shape(operands[0].shape.begin(), operands[0].shape.end());
  if (repeats.size() != shape.size()) {
    return absl::InvalidArgumentError(fmt::format(
        "there are {} repeats (expected {}, one for each axis)", repeats.size(), shape.size()));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || (repeats[i] > 0 && shape[i] > kMaxElements / repeats[i])) {
      return absl::InvalidArgumentError(
          fmt::format("repeats holds {} for an axis of {} elements (expected 0 or more, and at "
                      "most {} elements)",
                      repeats[i], shape[i], kMaxElements));
    }
    shape[i] *= repeats[i];
  }
  return shape;
}

// How many elements a range of integers has. The bounds as they are in 64 bits, signed or not.
absl::StatusOr<uint64_t> IntegerCount(std::span<const TensorView> operands) {
  int64_t values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = LoadAsInt(operands[i].dtype, static_cast<const std::byte*>(operands[i].data));
  }
  const auto [start, limit, delta] = values;
  if (delta == 0) return absl::InvalidArgumentError("delta is 0 (expected any other number)");
  if (operands[0].dtype != DType::kU64) return TripCount(start, limit, delta);
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit);
  return from < to ? (to - from - 1) / static_cast<uint64_t>(delta) + 1 : 0;
}

absl::StatusOr<double> FloatCount(std::span<const TensorView> operands) {
  double values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = LoadAsDouble(operands[i].dtype, static_cast<const std::byte*>(operands[i].data));
  }
  const auto [start, limit, delta] = values;
  if (delta == 0 || std::isnan(delta) || !std::isfinite(start) || !std::isfinite(limit)) {
    return absl::InvalidArgumentError(
        fmt::format("start is {}, limit {} and delta {} (expected finite bounds and a delta other "
                    "than 0)",
                    start, limit, delta));
  }
  return std::max(0.0, std::ceil((limit - start) / delta));
}

absl::StatusOr<Shape> RangeShape(std::span<const TensorView> operands) {
  for (const TensorView& operand : operands) {
    if (operand.data == nullptr) return absl::FailedPreconditionError("the bounds are not known");
  }
  double count = 0;
  if (IsFloat(operands[0].dtype)) {
    TENON_ASSIGN_OR_RETURN(count, FloatCount(operands));
  } else {
    TENON_ASSIGN_OR_RETURN(const uint64_t exact, IntegerCount(operands));
    count = static_cast<double>(exact);  // exact up to the largest that is allowed
  }
  if (count > static_cast<double>(kMaxElements)) {
    return absl::InvalidArgumentError(
        fmt::format("the range has {:.4g} elements (expected {} at most)", count, kMaxElements));
  }
  return Shape{static_cast<int64_t>(count)};
}

}  // namespace

absl::StatusOr<Shape> run_time_shapes::Ints(const kernels::TensorView& view,
                                            std::string_view name) {
  if (view.data == nullptr && view.numel() > 0) {
    return absl::FailedPreconditionError(fmt::format("the value of {} is not known", name));
  }
  Shape values(view.numel());
  const auto* at = static_cast<const std::byte*>(view.data);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = LoadAsInt(view.dtype, at + i * SizeOf(view.dtype));
  return values;
}

bool HasRunTimeShape(OpId op) {
  return op == ctl::FailOp::kId || op == ten::RangeOp::kId || op == ten::DynamicReshapeOp::kId ||
         op == ten::DynamicExpandOp::kId || op == ten::DynamicSliceOp::kId ||
         op == ten::DynamicTileOp::kId || run_time_shapes::IsSelection(op) ||
         run_time_shapes::MakesStrings(op);
}

namespace {

absl::StatusOr<Shapes> FindShapes(const OpInfo& info, std::span<const Attribute> slots,
                                  std::span<const TensorView> operands, KeptResults found) {
  if (run_time_shapes::MakesStrings(info.id())) {
    return run_time_shapes::StringShapes(info, slots, operands, found);
  }
  if (run_time_shapes::IsSelection(info.id())) {
    return run_time_shapes::SelectionShapes(info, slots, operands, found);
  }
  absl::StatusOr<Shape> shape;
  switch (info.id()) {
    case ctl::FailOp::kId: {
      const Attribute what = slots[info.FindSlot("what")];
      return absl::InvalidArgumentError(std::string(what.str()));
    }
    case ten::RangeOp::kId:
      shape = RangeShape(operands);
      break;
    case ten::DynamicExpandOp::kId:
      shape = Expand(operands);
      break;
    case ten::DynamicSliceOp::kId:
      shape = Slice(operands);
      break;
    case ten::DynamicTileOp::kId:
      shape = Tile(operands);
      break;
    default: {
      const int slot = info.FindSlot("allow_zero");
      const bool allow_zero = slot >= 0 && slots[slot] &&
                              slots[slot].kind() == Attribute::Kind::kBool &&
                              slots[slot].bool_value();
      shape = Reshape(operands, allow_zero);
    }
  }
  if (!shape.ok()) return shape.status();
  return Shapes{*std::move(shape)};
}

}  // namespace

absl::StatusOr<Shapes> RunTimeShapes(const OpInfo& info, std::span<const Attribute> slots,
                                     std::span<const TensorView> operands, KeptResults found) {
  absl::StatusOr<Shapes> shapes = FindShapes(info, slots, operands, found);
  absl::Status status = shapes.status();
  if (status.ok()) {
    for (const Shape& shape : *shapes) status.Update(CheckSize(shape));
  }
  if (status.ok()) return shapes;
  return absl::Status(status.code(),
                      fmt::format("{}: {}", info.name(), std::string(status.message())));
}

}  // namespace tenon
