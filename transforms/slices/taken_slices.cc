#include "transforms/slices/taken_slices.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// Nonnegative bounds of a constant extent.
DimExpr Bound(DimExpr bound, DimExpr extent) {
  if (!extent.is_constant() || !bound.is_constant()) return bound;
  const int64_t n = extent.constant(), at = bound.constant();
  return DimExpr::Constant(extent.context(), std::clamp<int64_t>(at < 0 ? at + n : at, 0, n));
}

std::optional<Pick> PickOfSlice(ten::SliceOp slice) {
  if (slice.axes().size() != 1 || slice.steps()[0] != 1) return std::nullopt;
  const int64_t axis = slice.axes()[0];
  const Type x = slice.x().type(), out = slice.out().type();
  if (!x.is_tensor() || !out.is_tensor()) return std::nullopt;
  Pick pick;
  pick.axis = axis;
  pick.start = Bound(slice.starts()[0], x.dim(axis));
  pick.end = Bound(slice.ends()[0], x.dim(axis));
  pick.count = out.dim(axis);
  pick.user = slice.op();
  return pick;
}

std::optional<Pick> PickOfGather(ten::GatherOp gather) {
  const auto constant = DefinedBy<core::ConstantOp>(gather.indices());
  const Attribute indices = constant ? constant.value() : Attribute();
  const Type x = gather.x().type();
  if (!x.is_tensor() || !indices || indices.kind() != Attribute::Kind::kElements ||
      indices.type().num_elements() != 1 || indices.type().rank() > 1) {
    return std::nullopt;
  }
  Pick pick;
  pick.axis = gather.axis();
  pick.count = DimExpr::Constant(gather->context(), 1);
  pick.drops_axis = indices.type().rank() == 0;
  pick.user = gather.op();
  const DimExpr extent = x.dim(pick.axis);
  const int64_t index = indices.ElementAsInt(0);
  if (extent.is_constant() && -extent.constant() <= index && index < extent.constant()) {
    pick.start = Bound(DimExpr::Constant(gather->context(), index), extent);
    pick.end = pick.start + 1;
  } else {
    pick.index = index;
  }
  return pick;
}

// One row for each element of axis 0.
std::optional<Pick> PickOfRows(Operation* user, Type x, Value rows) {
  if (!x.is_tensor() || x.rank() < 2 || !rows.type().is_tensor() ||
      !DimExpr::ProvablyEqual(rows.type().dim(0), x.dim(0))) {
    return std::nullopt;
  }
  Pick pick;
  pick.axis = 1;
  pick.rows = rows;
  pick.count = DimExpr::Constant(user->context(), 1);
  pick.drops_axis = true;
  pick.user = user;
  return pick;
}

std::optional<Pick> PickOfTuples(ten::GatherNdOp gather) {
  const Type rows = gather.indices().type();
  if (gather.batch_dims() != 0 || !rows.is_tensor() || rows.rank() != 2 ||
      !rows.dim(1).is_constant(2)) {
    return std::nullopt;
  }
  return PickOfRows(gather.op(), gather.x().type(), gather.indices());
}

// x with axes 0 and 1 as one.
std::vector<DimExpr> MergedDims(Type x) {
  std::vector<DimExpr> dims = {x.dim(0) * x.dim(1)};
  dims.insert(dims.end(), x.dims().begin() + 2, x.dims().end());
  return dims;
}

std::optional<Pick> PickOfMerged(ten::ReshapeOp reshape) {
  const Type x = reshape.x().type(), out = reshape.out().type();
  if (!x.is_tensor() || !out.is_tensor() || x.rank() < 2 || out.rank() != x.rank() - 1 ||
      !reshape.out().has_one_use()) {
    return std::nullopt;
  }
  const std::vector<DimExpr> merged = MergedDims(x);
  if (!std::equal(merged.begin(), merged.end(), out.dims().begin(), out.dims().end(),
                  &DimExpr::ProvablyEqual)) {
    return std::nullopt;
  }
  const OpOperand& use = *reshape.out().uses().begin();
  const auto gather = DynCast<ten::GatherOp>(use.owner());
  if (!gather || use.index() != 0 || gather.axis() != 0 || !gather.indices().type().is_tensor() ||
      gather.indices().type().rank() != 1 || gather->block() != reshape->block()) {
    return std::nullopt;
  }
  return PickOfRows(gather.op(), x, gather.indices());
}

}  // namespace

bool Pick::Join(const Pick& o) {
  if (TakesSame(o)) return true;
  if (axis != o.axis || !start || !o.start) return false;
  for (DimExpr bound : {start, end, o.start, o.end}) {
    if (!bound.is_constant() || bound.constant() < 0) return false;
  }
  start = DimExpr::Constant(start.context(), std::min(start.constant(), o.start.constant()));
  end = DimExpr::Constant(start.context(), std::max(end.constant(), o.end.constant()));
  count = end - start;
  return true;
}

bool Pick::IsTail(DimExpr extent) const {
  if (rows) return false;
  if (index) return *index == -1;
  return DimExpr::ProvablyEqual(end, extent) ||
         (end.is_constant() && end.constant() >= std::numeric_limits<int32_t>::max());
}

std::optional<Pick> PickOf(const OpOperand& use) {
  Operation* user = use.owner();
  if (use.index() != 0 || !user->info().is_registered()) return std::nullopt;
  std::optional<Pick> pick;
  if (auto slice = DynCast<ten::SliceOp>(user)) pick = PickOfSlice(slice);
  if (auto gather = DynCast<ten::GatherOp>(user)) pick = PickOfGather(gather);
  if (auto gather = DynCast<ten::GatherNdOp>(user)) pick = PickOfTuples(gather);
  if (auto reshape = DynCast<ten::ReshapeOp>(user)) pick = PickOfMerged(reshape);
  if (pick && pick->count.is_unknown()) return std::nullopt;
  return pick;
}

absl::StatusOr<Value> MakePick(OpBuilder& builder, Location location, Value value, const Pick& pick,
                               Value index, std::vector<Operation*>& made) {
  // Notes an operation; its result.
  const auto note = [&made](const auto& op) {
    made.push_back(op.op());
    return op.out();
  };
  if (pick.index) {
    TENON_ASSIGN_OR_RETURN(
        const ten::GatherOp gather,
        ten::GatherOp::Create(builder, location, value, index, {.axis = pick.axis}));
    return note(gather);
  }
  if (!pick.rows) {
    TENON_ASSIGN_OR_RETURN(
        const ten::SliceOp slice,
        ten::SliceOp::Create(
            builder, location, value,
            {.axes = {pick.axis}, .starts = {pick.start}, .ends = {pick.end}, .steps = {1}}));
    return note(slice);
  }
  const Type type = value.type();
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  dims[1] = pick.count;
  Value taken;
  if (pick.rows.type().rank() == 1) {
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp merged,
        ten::ReshapeOp::Create(builder, location, value, {.shape = MergedDims(type)}));
    const Value rows = note(merged);
    TENON_ASSIGN_OR_RETURN(const ten::GatherOp gather,
                           ten::GatherOp::Create(builder, location, rows, pick.rows, {.axis = 0}));
    taken = note(gather);
  } else {
    TENON_ASSIGN_OR_RETURN(
        const ten::GatherNdOp gather,
        ten::GatherNdOp::Create(builder, location, value, pick.rows, {.batch_dims = 0}));
    taken = note(gather);
  }
  TENON_ASSIGN_OR_RETURN(const ten::ReshapeOp reshape,
                         ten::ReshapeOp::Create(builder, location, taken, {.shape = dims}));
  return note(reshape);
}

}  // namespace tenon
