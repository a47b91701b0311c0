#include "transforms/shapes/normalize_slice.h"

#include <algorithm>
#include <limits>

#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// Bounds beyond this reach the end of any axis.
constexpr int64_t kFarAway = std::numeric_limits<int32_t>::max();

// The normal form of a bound of a forward window.
DimExpr NormalBound(DimExpr bound, DimExpr extent) {
  if (extent.is_unknown() || bound.is_unknown()) return bound;
  if (!bound.is_constant()) return DimExpr::ProvablyLessEqual(extent, bound) ? extent : bound;
  const int64_t v = bound.constant();
  if (v >= kFarAway) return extent;
  if (v <= -kFarAway) return DimExpr::Constant(extent.context(), 0);
  if (!extent.is_constant()) return bound;
  const int64_t n = extent.constant();
  return DimExpr::Constant(extent.context(), std::clamp<int64_t>(v < 0 ? v + n : v, 0, n));
}

}  // namespace

bool NormalizeSlice(Operation& op) {
  const ten::SliceOp slice(&op);
  const Type x = slice.x().type();
  if (!x.is_tensor()) return false;
  const ten::SliceOp::Attrs old = slice.attrs();
  ten::SliceOp::Attrs now;
  for (size_t i = 0; i < old.axes.size(); ++i) {
    const DimExpr extent = x.dim(old.axes[i]);
    const bool forward = old.steps[i] > 0;
    const DimExpr start = forward ? NormalBound(old.starts[i], extent) : old.starts[i];
    const DimExpr end = forward ? NormalBound(old.ends[i], extent) : old.ends[i];
    if (old.steps[i] == 1 && start.is_constant(0) && DimExpr::ProvablyEqual(end, extent)) continue;
    now.axes.push_back(old.axes[i]);
    now.starts.push_back(start);
    now.ends.push_back(end);
    now.steps.push_back(old.steps[i]);
  }
  if (now.axes == old.axes && now.starts == old.starts && now.ends == old.ends) return false;
  Context& context = op.context();
  op.SetAttr("axes", Attribute::I64s(context, now.axes));
  op.SetAttr("starts", Attribute::Dims(context, now.starts));
  op.SetAttr("ends", Attribute::Dims(context, now.ends));
  op.SetAttr("steps", Attribute::I64s(context, now.steps));
  return true;
}

}  // namespace tenon
