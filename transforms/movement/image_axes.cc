#include "transforms/movement/image_axes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/movement/axis_ops.h"

namespace tenon {
namespace {

// Values that belong to axes [N, C, spatial…], as often as they repeat, for [N, spatial…, C].
template <typename T>
std::vector<T> PermutedGroups(std::span<const T> values, int64_t rank) {
  const Permutation perm = ChannelsLast(rank);
  std::vector<T> out;
  for (size_t group = 0; group < values.size(); group += perm.size()) {
    for (int64_t axis : perm) out.push_back(values[group + static_cast<size_t>(axis)]);
  }
  return out;
}

// Where axis `axis` of [N, C, spatial…] lies in [N, spatial…, C].
int64_t MovedAxis(int64_t axis, int64_t rank) {
  return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

class AxesRewriter {
 public:
  AxesRewriter(Operation& op, int64_t rank)
      : op_(op), rank_(rank), slots_(op.slots().begin(), op.slots().end()) {}

  std::vector<Attribute> Take() { return std::move(slots_); }

  bool Axis(std::string_view name) {
    const int64_t axis = Slot(name).int_value();
    if (axis < 0 || axis >= rank_) return false;
    Slot(name) = Attribute::Int(op_.context(), MovedAxis(axis, rank_), Slot(name).type());
    return true;
  }

  bool Dims(std::string_view name, size_t groups) {
    const std::span<const DimExpr> dims = Slot(name).dims();
    if (dims.size() != groups * static_cast<size_t>(rank_)) return false;
    Slot(name) = Attribute::Dims(op_.context(), PermutedGroups(dims, rank_));
    return true;
  }

  // Empty lists mean a default.
  bool F32s(std::string_view name, size_t groups) {
    const std::span<const double> values = Slot(name).floats();
    if (values.empty()) return true;
    if (values.size() != groups * static_cast<size_t>(rank_)) return false;
    std::vector<float> moved;
    for (double v : PermutedGroups(values, rank_)) moved.push_back(static_cast<float>(v));
    Slot(name) = Attribute::F32s(op_.context(), moved);
    return true;
  }

  // A sorted list of axes with lists that belong to them.
  bool Slice() {
    const ten::SliceOp::Attrs attrs = ten::SliceOp(&op_).attrs();
    std::vector<size_t> order(attrs.axes.size());
    std::iota(order.begin(), order.end(), 0);
    for (int64_t axis : attrs.axes) {
      if (axis < 0 || axis >= rank_) return false;
    }
    const auto moved = [&](size_t i) { return MovedAxis(attrs.axes[i], rank_); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return moved(a) < moved(b); });
    std::vector<int64_t> axes, steps;
    std::vector<DimExpr> starts, ends;
    for (size_t i : order) {
      axes.push_back(moved(i));
      starts.push_back(attrs.starts[i]);
      ends.push_back(attrs.ends[i]);
      steps.push_back(attrs.steps[i]);
    }
    Slot("axes") = Attribute::I64s(op_.context(), axes);
    Slot("starts") = Attribute::Dims(op_.context(), starts);
    Slot("ends") = Attribute::Dims(op_.context(), ends);
    Slot("steps") = Attribute::I64s(op_.context(), steps);
    return true;
  }

  // False where axes stay that have another order then.
  bool Reduce(bool& same_result) {
    const std::span<const int64_t> axes = Slot("axes").ints();
    std::vector<int64_t> moved;
    for (int64_t axis : axes) {
      if (axis < 0 || axis >= rank_) return false;
      moved.push_back(MovedAxis(axis, rank_));
    }
    std::sort(moved.begin(), moved.end());
    same_result = !Slot("keepdims").bool_value();
    const bool channels = std::find(axes.begin(), axes.end(), 1) != axes.end();
    const auto spatial = std::count_if(axes.begin(), axes.end(), [](int64_t a) { return a > 1; });
    if (same_result && !channels && spatial != rank_ - 2) return false;
    Slot("axes") = Attribute::I64s(op_.context(), moved);
    return true;
  }

 private:
  Attribute& Slot(std::string_view name) {
    return slots_[static_cast<size_t>(op_.info().FindSlot(name))];
  }

  Operation& op_;
  int64_t rank_;
  std::vector<Attribute> slots_;
};

// The neighbouring axes of `wide` whose extents multiply to each axis of `narrow`.
std::optional<std::vector<Permutation>> AxesOf(Type narrow, Type wide) {
  std::vector<Permutation> groups;
  int64_t axis = 0;
  for (DimExpr extent : narrow.dims()) {
    Permutation group;
    DimExpr product = DimExpr::Constant(narrow.context(), 1);
    while (axis < wide.rank() && !(DimExpr::ProvablyEqual(product, extent) && !group.empty())) {
      product = product * wide.dim(axis);
      group.push_back(axis++);
    }
    if (group.empty() || !DimExpr::ProvablyEqual(product, extent)) return std::nullopt;
    groups.push_back(std::move(group));
  }
  if (axis != wide.rank()) return std::nullopt;
  return groups;
}

}  // namespace

Permutation ChannelsLast(int64_t rank) {
  Permutation perm = {0};
  for (int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

Permutation ChannelsFirst(int64_t rank) {
  Permutation perm = {0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
  return perm;
}

Permutation Compose(std::span<const int64_t> first, std::span<const int64_t> second) {
  Permutation perm;
  for (int64_t axis : second) perm.push_back(first[static_cast<size_t>(axis)]);
  return perm;
}

bool IsIdentity(std::span<const int64_t> perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool KeepsOrder(Type x, std::span<const int64_t> perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (x.dim(axis).is_constant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

absl::StatusOr<Value> Permuted(OpBuilder& builder, Location location, Value x,
                               std::span<const int64_t> perm) {
  if (IsIdentity(perm)) return x;
  const Type type = x.type();
  std::vector<DimExpr> shape;
  for (int64_t axis : perm) shape.push_back(type.dim(axis));
  const bool is_known =
      std::none_of(shape.begin(), shape.end(), [](DimExpr d) { return d.is_unknown(); });
  if (is_known && KeepsOrder(type, perm)) {
    TENON_ASSIGN_OR_RETURN(const ten::ReshapeOp made,
                           ten::ReshapeOp::Create(builder, location, x, {.shape = shape}));
    return made.out();
  }
  TENON_ASSIGN_OR_RETURN(
      const ten::TransposeOp made,
      ten::TransposeOp::Create(builder, location, x, {.perm = {perm.begin(), perm.end()}}));
  return made.out();
}

std::optional<ChannelsLastForm> AlongAxes(Operation& op, int64_t rank) {
  AxesRewriter rewriter(op, rank);
  ChannelsLastForm form;
  const auto rewrite = [&] {
    if (WorksAlongAxis(op)) return rewriter.Axis("axis");
    if (ReducesAxes(op)) return rewriter.Reduce(form.same_result);
    switch (op.id()) {
      case ten::SliceOp::kId:
        return rewriter.Slice();
      case ten::PadOp::kId:
        return rewriter.Dims("pads", 2);
      case ten::TileOp::kId:
        return rewriter.Dims("repeats", 1);
      case ten::ResizeOp::kId:
        return rewriter.Dims("sizes", 1) && rewriter.F32s("scales", 1) && rewriter.F32s("roi", 2);
      default:
        return false;
    }
  };
  if (!rewrite()) return std::nullopt;
  form.slots = rewriter.Take();
  return form;
}

std::optional<PixelMove> ChannelsLastMove(Type x, Type split, std::span<const int64_t> perm,
                                          Type result) {
  if (!x.is_tensor() || !split.is_tensor() || !result.is_tensor() || x.rank() < 3 ||
      result.rank() < 3) {
    return std::nullopt;
  }
  std::vector<DimExpr> moved;
  for (int64_t axis : perm) moved.push_back(split.dim(axis));
  const auto from = AxesOf(x, split),
             to = AxesOf(result, Type::Tensor(x.context(), x.dtype(), moved));
  if (!from || !to || from->front() != Permutation{0} || to->front() != Permutation{0} ||
      perm[0] != 0) {
    return std::nullopt;
  }
  PixelMove move;
  Permutation place(perm.size());  // of an axis of `split` where channels are last
  for (int64_t axis : ChannelsLast(x.rank())) {
    for (int64_t part : (*from)[static_cast<size_t>(axis)]) {
      place[static_cast<size_t>(part)] = static_cast<int64_t>(move.split.size());
      move.split.push_back(split.dim(part));
    }
  }
  for (int64_t axis : ChannelsLast(result.rank())) {
    for (int64_t part : (*to)[static_cast<size_t>(axis)]) {
      move.perm.push_back(place[static_cast<size_t>(perm[static_cast<size_t>(part)])]);
    }
    move.joined.push_back(result.dim(axis));
  }
  const Permutation& channels = (*from)[1];
  const bool keeps_channels = std::ranges::any_of((*to)[1], [&](int64_t part) {
    const int64_t axis = perm[static_cast<size_t>(part)];
    return !split.dim(axis).is_constant(1) && std::ranges::find(channels, axis) != channels.end();
  });
  if (!keeps_channels) return std::nullopt;
  return move;
}

}  // namespace tenon
