#include "ir/dialect/shapes/infer_helpers.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"

namespace tenon {

std::string DimsText(std::span<const DimExpr> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i].text();
  }
  return text + "]";
}

Attribute InferAttr(const InferContext& c, std::string_view name) {
  const int slot = c.info.FindSlot(name);
  if (slot < 0 || static_cast<size_t>(slot) >= c.slots.size()) return Attribute();
  return c.slots[slot];
}

int64_t InferI64(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  return a && a.kind() == Attribute::Kind::kInteger ? a.int_value() : 0;
}

bool InferBool(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  return a && a.kind() == Attribute::Kind::kBool && a.bool_value();
}

std::string_view InferStr(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  return a && a.kind() == Attribute::Kind::kString ? a.str() : std::string_view();
}

std::span<const int64_t> InferI64s(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  if (!a || a.kind() != Attribute::Kind::kDenseArray || !IsSignedInt(a.type().dtype())) return {};
  return a.ints();
}

std::span<const DimExpr> InferDimList(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  return a && a.kind() == Attribute::Kind::kDims ? a.dims() : std::span<const DimExpr>();
}

absl::StatusOr<int64_t> InferAxis(const InferContext& c, std::string_view name, int64_t rank) {
  const int64_t axis = InferI64(c, name);
  if (axis < 0 || axis >= rank) {
    return c.Error(fmt::format("{} is {}, expected 0 <= {} < {}", name, axis, name, rank));
  }
  return axis;
}

absl::Status CheckAxes(const InferContext& c, std::string_view name, std::span<const int64_t> axes,
                       int64_t rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      return c.Error(fmt::format("{} holds {}, expected axes in [0, {})", name, axes[i], rank));
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      return c.Error(fmt::format("{} must be sorted and distinct, but {} follows {}", name, axes[i],
                                 axes[i - 1]));
    }
  }
  return absl::OkStatus();
}

bool ProvablyDifferent(DimExpr a, DimExpr b) {
  if (a == b) return false;
  if (a.is_constant() && b.is_constant()) return a.constant() != b.constant();
  if (a.is_unknown() || b.is_unknown()) return false;
  const DimExpr difference = a - b;
  return difference.is_constant() && difference.constant() != 0;
}

absl::StatusOr<DimExpr> MergeEqual(const InferContext& c, DimExpr a, DimExpr b,
                                   std::string_view what) {
  if (ProvablyDifferent(a, b)) {
    return c.Error(fmt::format("{} differs: {} against {}", what, a.text(), b.text()));
  }
  if (a.is_constant() || (b.is_unknown() && !a.is_unknown())) return a;
  if (b.is_constant() || a.is_unknown()) return b;
  // Of two names of one extent a symbol is the plainer: S rather than max(0, S - 1) + 1.
  const bool plainer = b.kind() == DimExpr::Kind::kSymbol && a.kind() != DimExpr::Kind::kSymbol;
  return plainer ? b : a;
}

namespace {

// False if a and b cannot be broadcast together.
bool BroadcastDim(DimExpr& a, DimExpr b) {
  if (a.is_constant(1)) {
    a = b;
    return true;
  }
  if (b.is_constant(1) || DimExpr::ProvablyEqual(a, b)) return true;
  if (a.is_constant() && b.is_constant()) return a.constant() == b.constant();
  if (a.is_constant()) return true;  // b must be 1 or a
  a = b.is_constant() ? b : Broadcast(a, b);
  return true;
}

constexpr int64_t kFarAway = std::numeric_limits<int32_t>::max();

}  // namespace

absl::Status BroadcastInto(const InferContext& c, DimVector& a, std::span<const DimExpr> b) {
  const DimVector before = a;
  if (a.size() < b.size())
    a.insert(a.begin(), b.size() - a.size(), DimExpr::Constant(c.context, 1));
  const size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    if (!BroadcastDim(a[offset + i], b[i])) {
      return c.Error(fmt::format(
          "operands of shapes {} and {} cannot be broadcast together, expected equal extents or 1",
          DimsText(before), DimsText(b)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBroadcastsTo(const InferContext& c, std::string_view what, Type from,
                               std::span<const DimExpr> to) {
  if (!from || !from.is_tensor()) return absl::OkStatus();
  const std::span<const DimExpr> dims = from.dims();
  bool fits = dims.size() <= to.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const DimExpr target = to[to.size() - dims.size() + i];
    fits = dims[i].is_constant(1) || !ProvablyDifferent(dims[i], target);
  }
  if (fits) return absl::OkStatus();
  return c.Error(
      fmt::format("{} of shape {} must broadcast to {}", what, DimsText(dims), DimsText(to)));
}

absl::Status CheckReduction(const InferContext& c, DType dtype) {
  const std::string_view reduction = InferStr(c, "reduction");
  if (!IsNarrow(dtype) || reduction == "none") return absl::OkStatus();
  return c.Error(fmt::format("reduction \"{}\" does not compute with {} (expected \"none\")",
                             reduction, Name(dtype)));
}

absl::Status CheckVector(const InferContext& c, std::string_view what, Type type, DimExpr extent) {
  if (!type || !type.is_tensor()) return absl::OkStatus();
  if (type.rank() != 1 || ProvablyDifferent(type.dim(0), extent)) {
    return c.Error(fmt::format("{} must be of shape [{}], not {}", what, extent.text(),
                               DimsText(type.dims())));
  }
  return absl::OkStatus();
}

absl::Status CheckOneElement(const InferContext& c, std::string_view what, Type type) {
  if (type && type.is_tensor() && type.rank() == 0) return absl::OkStatus();
  return CheckVector(c, what, type, DimExpr::Constant(c.context, 1));
}

absl::Status CheckRank(const InferContext& c, std::string_view what, Type type, int64_t rank) {
  if (!type.is_tensor() || type.rank() == rank) return absl::OkStatus();
  return c.Error(fmt::format("{} must be of rank {}, not {}", what, rank, type.rank()));
}

absl::StatusOr<DimVector> PermutedDims(const InferContext& c, std::span<const DimExpr> dims) {
  const std::span<const int64_t> perm = InferI64s(c, "perm");
  const auto rank = static_cast<int64_t>(dims.size());
  if (perm.size() != dims.size()) {
    return c.Error(fmt::format("perm has {} elements, expected {}", perm.size(), dims.size()));
  }
  std::vector<bool> seen(perm.size(), false);
  DimVector permuted;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= rank || seen[static_cast<size_t>(axis)]) {
      return c.Error(fmt::format("perm must be a permutation of 0..{}, but holds {}{}", rank - 1,
                                 axis, axis >= 0 && axis < rank ? " twice" : ""));
    }
    seen[static_cast<size_t>(axis)] = true;
    permuted.push_back(dims[static_cast<size_t>(axis)]);
  }
  return permuted;
}

absl::Status CheckOneDType(const InferContext& c, std::initializer_list<int> groups) {
  int first = -1;
  for (const int group : groups) {
    if (!c.operand(group)) continue;
    if (first < 0) first = group;
    const DType expected = c.operand(first).dtype(), dtype = c.operand(group).dtype();
    if (dtype == expected) continue;
    const std::vector<OperandDef>& operands = c.info.def().operands;
    return c.Error(fmt::format("{} must have the element type {} of {}, not {}",
                               operands[group].name, Name(expected), operands[first].name,
                               Name(dtype)));
  }
  return absl::OkStatus();
}

namespace {

// Window of a constant extent, in numbers.
int64_t ConstantSliceExtent(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto clamp = [&](int64_t bound) {
    if (bound < 0) bound = bound < -extent ? low : bound + extent;
    return std::clamp(bound, low, std::max(low, high));
  };
  start = clamp(start);
  if (step < 0 && extent > 0) start = std::max<int64_t>(start, 0);  // ONNX: [0, extent - 1]
  end = clamp(end);
  if (step > 0) return end > start ? (end - start - 1) / step + 1 : 0;
  if (step == std::numeric_limits<int64_t>::min()) return end < start ? 1 : 0;
  return end < start ? (start - end - 1) / -step + 1 : 0;
}

// A bound clamped to [low, high], where low = 0 (step > 0) or -1, and high = extent or extent - 1.
DimExpr ClampBound(DimExpr bound, DimExpr extent, int64_t step) {
  Context& context = extent.context();
  const DimExpr low = DimExpr::Constant(context, step > 0 ? 0 : -1);
  const DimExpr high = step > 0 ? extent : extent - 1;
  if (bound.is_constant()) {
    const int64_t v = bound.constant();
    if (v >= kFarAway) return high;
    if (v <= -kFarAway) return low;
    if (v < 0) return Max(extent + v, low);
    if (v == 0 && step > 0) return low;
    return Min(bound, high);
  }
  if (DimExpr::ProvablyLessEqual(bound, high)) return bound;
  if (DimExpr::ProvablyLessEqual(high, bound)) return high;
  return Min(bound, high);
}

}  // namespace

DimExpr SliceExtent(DimExpr extent, DimExpr start, DimExpr end, int64_t step) {
  Context& context = extent.context();
  if (start.is_unknown() || end.is_unknown()) return DimExpr::Unknown(context);
  if (extent.is_constant() && start.is_constant() && end.is_constant()) {
    return DimExpr::Constant(
        context, ConstantSliceExtent(extent.constant(), start.constant(), end.constant(), step));
  }
  if (extent.is_unknown()) {
    // Only a window whose size does not depend on the extent is known; there is none.
    return extent;
  }
  const DimExpr zero = DimExpr::Constant(context, 0);
  // A negative bound counts from the end: its sign must be known. -S is taken to be negative: a run
  // with S = 0 does not get the extent promised here, and is refused.
  for (DimExpr* bound : {&start, &end}) {
    if (bound->is_constant() || DimExpr::ProvablyLessEqual(zero, *bound)) continue;
    if (step < 0 || !DimExpr::ProvablyLessEqual(*bound, zero)) return DimExpr::Unknown(context);
    *bound = Max(extent + *bound, zero);
  }
  DimExpr from = ClampBound(start, extent, step);
  const DimExpr to = ClampBound(end, extent, step);
  DimExpr length = step > 0 ? to - from : from - to;
  if (step < 0 && start.is_constant() && start.constant() < -1) {
    // ONNX clamps such a start to an element, 0, if there is one.
    const int64_t v = start.constant();
    from = v <= -kFarAway ? zero : Max(extent + v, zero);
    length = Min(from - to, extent);
  }
  if (step > 0 && to == extent && start.is_constant()) {
    // The tail from a constant: written without the clamp on the start.
    const int64_t v = start.constant();
    if (v >= kFarAway) return zero;
    if (v < 0 && v > -kFarAway) {
      length = Min(extent, DimExpr::Constant(context, -v));
    } else if (v > 0) {
      length = Max(extent - v, zero);
    }
  }
  if (!DimExpr::ProvablyLessEqual(zero, length)) length = Max(length, zero);
  const int64_t stride = step > 0 ? step : -step;
  return stride == 1 ? length : CeilDiv(length, stride);
}

absl::StatusOr<WindowAttrs> InferWindowAttrs(const InferContext& c, int64_t spatial) {
  WindowAttrs w;
  w.strides = InferI64s(c, "strides");
  w.pads = InferI64s(c, "pads");
  w.dilations = InferI64s(c, "dilations");
  w.auto_pad = InferStr(c, "auto_pad");
  w.ceil_mode = InferBool(c, "ceil_mode");
  const auto check = [&](std::string_view name, std::span<const int64_t> values, int64_t size,
                         int64_t least) -> absl::Status {
    if (static_cast<int64_t>(values.size()) != size) {
      return c.Error(fmt::format("{} has {} elements, expected {} for {} spatial axes", name,
                                 values.size(), size, spatial));
    }
    for (int64_t v : values) {
      if (v < least || v > kFarAway) {
        return c.Error(fmt::format("{} holds {}, expected at least {}", name, v, least));
      }
    }
    return absl::OkStatus();
  };
  TENON_RETURN_IF_ERROR(check("strides", w.strides, spatial, 1));
  TENON_RETURN_IF_ERROR(check("pads", w.pads, 2 * spatial, 0));
  TENON_RETURN_IF_ERROR(check("dilations", w.dilations, spatial, 1));
  return w;
}

absl::StatusOr<DimExpr> WindowExtent(const InferContext& c, const WindowAttrs& w, int64_t axis,
                                     DimExpr extent, DimExpr kernel) {
  const int64_t stride = w.strides[axis];
  if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER") return CeilDiv(extent, stride);
  const bool valid = w.auto_pad == "VALID";
  const int64_t begin = valid ? 0 : w.pads[axis];
  const int64_t end = valid ? 0 : w.pads[axis + w.strides.size()];
  const DimExpr window = (kernel - 1) * w.dilations[axis] + 1;
  const DimExpr room = extent + (begin + end) - window;
  if (room.is_constant() && room.constant() < 0) {
    return c.Error(fmt::format(
        "the window of {} elements does not fit spatial axis {} of {} elements padded by {} and {}",
        window.text(), axis, extent.text(), begin, end));
  }
  if (!w.ceil_mode || valid) {
    // Where the window fits, room is not negative; said only where it is needed to see that the
    // extent is not.
    const DimExpr count = FloorDiv(room, stride) + 1;
    const DimExpr zero = DimExpr::Constant(c.context, 0);
    if (count.is_unknown() || DimExpr::ProvablyLessEqual(zero, count)) return count;
    return FloorDiv(Max(room, zero), stride) + 1;
  }
  // A window must start inside x or its begin padding.
  return Min(CeilDiv(room, stride) + 1, CeilDiv(extent + begin, stride));
}

absl::Status SetResult(ResultTypes& results, Type type) {
  results.push_back(type);
  return absl::OkStatus();
}

absl::Status SetTensor(const InferContext& c, ResultTypes& results, DType dtype,
                       std::span<const DimExpr> dims) {
  results.push_back(Type::Tensor(c.context, dtype, dims));
  return absl::OkStatus();
}

}  // namespace tenon
