#include "transforms/shapes/run_time_to_static.h"

#include <algorithm>
#include <vector>

#include "ir/base/check.h"
#include "ir/dialect/shapes/shape_floats.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using Dims = absl::InlinedVector<DimExpr, 6>;
using MayMention = std::function<bool(const Operation&, std::span<const DimExpr>)>;

bool AllKnown(std::span<const DimExpr> dims) {
  return std::none_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); });
}

std::vector<DimExpr> ToVector(std::span<const DimExpr> dims) { return {dims.begin(), dims.end()}; }

// The extent that makes the products of `whole` and `rest` equal.
DimExpr Quotient(Context& context, std::span<const DimExpr> whole, std::span<const DimExpr> rest) {
  Dims numerator(whole.begin(), whole.end()), denominator;
  for (DimExpr d : rest) {
    const auto same = std::find_if(numerator.begin(), numerator.end(),
                                   [&](DimExpr n) { return DimExpr::ProvablyEqual(n, d); });
    if (same != numerator.end() && !d.is_constant(0)) {
      numerator.erase(same);
    } else {
      denominator.push_back(d);
    }
  }
  const DimExpr n = Product(context, numerator), d = Product(context, denominator);
  if (n.is_unknown() || d.is_unknown()) return DimExpr::Unknown(context);
  if (const std::optional<DimExpr> exact = DimExpr::ExactDiv(n, d)) return *exact;
  return FloorDiv(n, d);
}

// Extents of dynamic_reshape; unknown where they cannot be told.
Dims ReshapedDims(Type x, std::span<const DimExpr> shape, bool allow_zero) {
  Context& context = x.context();
  Dims dims, others;
  int inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    DimExpr d = shape[i];
    if (d.is_constant(-1)) {
      inferred = static_cast<int>(i);
      d = DimExpr::Unknown(context);
    } else if (d.is_constant(0) && !allow_zero) {
      const bool has = x.is_tensor() && static_cast<int64_t>(i) < x.rank();
      d = has ? x.dim(static_cast<int64_t>(i)) : DimExpr::Unknown(context);
    }
    dims.push_back(d);
    if (inferred != static_cast<int>(i)) others.push_back(d);
  }
  if (inferred >= 0 && x.is_tensor() && AllKnown(x.dims()) && AllKnown(others)) {
    dims[inferred] = Quotient(context, x.dims(), others);
  }
  return dims;
}

Dims ExpandedDims(Type x, std::span<const DimExpr> shape) {
  Dims dims(shape.begin(), shape.end());
  const size_t rank = x.rank();
  if (dims.size() < rank)
    dims.insert(dims.begin(), rank - dims.size(), DimExpr::Constant(x.context(), 1));
  for (size_t i = 0; i < rank; ++i) {
    DimExpr& d = dims[dims.size() - rank + i];
    const DimExpr own = x.dim(static_cast<int64_t>(i));
    if (d.is_unknown() || own.is_unknown()) {
      const DimExpr known = d.is_unknown() ? own : d;
      d = known.is_constant() && !known.is_constant(1) ? known : DimExpr::Unknown(x.context());
    } else {
      d = Broadcast(own, d);
    }
  }
  return dims;
}

absl::StatusOr<StaticForm> FormOfReshape(Operation& op, const ShapeData& data,
                                         const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicReshapeOp reshape(&op);
  const ShapeElements* shape = data.Find(reshape.shape());
  if (shape == nullptr) return form;
  form.dims = ReshapedDims(reshape.x().type(), *shape, reshape.allow_zero());
  if (!AllKnown(form.dims) || !may_mention(op, form.dims)) return form;
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(
      const ten::ReshapeOp result,
      ten::ReshapeOp::Create(builder, op.location(), reshape.x(), {.shape = ToVector(form.dims)}));
  form.replacement = result.op();
  return form;
}

absl::StatusOr<StaticForm> FormOfExpand(Operation& op, const ShapeData& data,
                                        const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicExpandOp expand(&op);
  const ShapeElements* shape = data.Find(expand.shape());
  if (shape == nullptr || !expand.x().type().is_tensor()) return form;
  form.dims = ExpandedDims(expand.x().type(), *shape);
  if (!AllKnown(*shape) || !may_mention(op, *shape)) return form;
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(
      const ten::ExpandOp result,
      ten::ExpandOp::Create(builder, op.location(), expand.x(), {.shape = ToVector(*shape)}));
  form.replacement = result.op();
  return form;
}

absl::StatusOr<StaticForm> FormOfTile(Operation& op, const ShapeData& data,
                                      const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicTileOp tile(&op);
  const ShapeElements* repeats = data.Find(tile.repeats());
  const Type x = tile.x().type();
  if (repeats == nullptr || !x.is_tensor() || static_cast<int64_t>(repeats->size()) != x.rank()) {
    return form;
  }
  for (int64_t i = 0; i < x.rank(); ++i) form.dims.push_back(x.dim(i) * (*repeats)[i]);
  if (!AllKnown(*repeats) || !may_mention(op, *repeats)) return form;
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(
      const ten::TileOp result,
      ten::TileOp::Create(builder, op.location(), tile.x(), {.repeats = ToVector(*repeats)}));
  form.replacement = result.op();
  return form;
}

absl::StatusOr<StaticForm> FormOfPad(Operation& op, const ShapeData& data,
                                     const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicPadOp pad(&op);
  const ShapeElements* given = data.Find(pad.pads());
  const Type x = pad.x().type();
  if (given == nullptr || !x.is_tensor()) return form;
  const int64_t rank = x.rank(), padded = static_cast<int64_t>(given->size()) / 2;
  absl::InlinedVector<int64_t, 6> axes;
  for (int64_t i = 0; i < padded; ++i) axes.push_back(i);
  if (pad.axes()) {
    const auto known = data.FindConstants(pad.axes());
    if (!known) return form;
    axes.assign(known->begin(), known->end());
  }
  if (static_cast<int64_t>(axes.size()) != padded || (!pad.axes() && padded != rank)) return form;
  const DimExpr zero = DimExpr::Constant(op.context(), 0);
  std::vector<DimExpr> pads(static_cast<size_t>(2 * rank), zero);
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  bool is_static = AllKnown(*given);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    // Left for the kernel to refuse, or to let the last one win.
    if (axis < 0 || axis >= rank || seen[axis]) return form;
    seen[axis] = true;
    pads[axis] = (*given)[i];
    pads[rank + axis] = (*given)[padded + i];
  }
  for (int64_t i = 0; i < rank; ++i) {
    const DimExpr extent = x.dim(i) + pads[i] + pads[rank + i];
    for (DimExpr by : {pads[i], pads[rank + i]}) {
      is_static &= by.is_constant() || DimExpr::ProvablyLessEqual(zero, by);
    }
    if (extent.is_constant() && extent.constant() < 0) return StaticForm();  // refused, too
    form.dims.push_back(extent);
  }
  if (!is_static || !may_mention(op, pads)) return form;
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(const ten::PadOp result,
                         ten::PadOp::Create(builder, op.location(), pad.x(), pad.value(),
                                            {.pads = pads, .mode = std::string(pad.mode())}));
  form.replacement = result.op();
  return form;
}

// Is `bound` a symbol less a small number, and for each size of the symbol that makes it negative
// not closer to the end than the axis is long?
bool FewNegativesAreFar(DimExpr bound, DimExpr extent) {
  constexpr int64_t kFew = 4;
  std::vector<std::string_view> symbols;
  bound.CollectSymbols(symbols);
  if (symbols.size() != 1) return false;
  Context& context = bound.context();
  const DimExpr less = DimExpr::Symbol(context, symbols[0]) - bound;
  if (!less.is_constant() || less.constant() < 1 || less.constant() > kFew) return false;
  for (int64_t size = 0; size < less.constant(); ++size) {
    const auto at_size = [&](DimExpr e) {
      return e.Substitute([&](std::string_view symbol) -> std::optional<DimExpr> {
        if (symbol != symbols[0]) return std::nullopt;
        return DimExpr::Constant(context, size);
      });
    };
    if (!DimExpr::ProvablyLessEqual(at_size(extent + bound), DimExpr::Constant(context, 0)))
      return false;
  }
  return true;
}

// A symbolic bound counted from the start of the axis, if its sign can be told; as it is otherwise.
DimExpr FromStart(DimExpr bound, DimExpr extent, int64_t step) {
  if (bound.is_unknown() || bound.is_constant() || extent.is_unknown() || step < 0) return bound;
  const DimExpr zero = DimExpr::Constant(bound.context(), 0);
  if (DimExpr::ProvablyLessEqual(zero, bound)) return bound;
  if (DimExpr::ProvablyLessEqual(bound, zero - 1)) return Max(extent + bound, zero);
  // Not further from the end than the axis is long, or not at all: before the first element.
  if (DimExpr::ProvablyLessEqual(extent + bound, zero)) return zero;
  // Negative on an empty axis only.
  if (DimExpr::ProvablyLessEqual(extent - 1, bound)) return Max(bound, zero);
  if (FewNegativesAreFar(bound, extent)) return Max(bound, zero);
  return bound;
}

// One sliced axis; sorted by axis.
struct SlicedAxis {
  int64_t axis;
  DimExpr start, end;
  int64_t step;
};

absl::StatusOr<StaticForm> FormOfSlice(Operation& op, const ShapeData& data,
                                       const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicSliceOp slice(&op);
  const Type x = slice.x().type();
  const ShapeElements* starts = data.Find(slice.starts());
  const ShapeElements* ends = data.Find(slice.ends());
  if (!x.is_tensor() || starts == nullptr || ends == nullptr || starts->size() != ends->size()) {
    return form;
  }
  absl::InlinedVector<int64_t, 6> axes, steps;
  for (size_t i = 0; i < starts->size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
    steps.push_back(1);
  }
  if (slice.axes()) {
    const auto known = data.FindConstants(slice.axes());
    if (!known) return form;
    axes = *known;
  }
  if (slice.steps()) {
    const auto known = data.FindConstants(slice.steps());
    if (!known) return form;
    steps = *known;
  }
  if (axes.size() != starts->size() || steps.size() != starts->size()) return form;
  std::vector<SlicedAxis> sliced;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    // Left for the kernel to refuse.
    if (axis < 0 || axis >= x.rank() || steps[i] == 0) return form;
    const DimExpr extent = x.dim(axis);
    sliced.push_back({axis, FromStart((*starts)[i], extent, steps[i]),
                      FromStart((*ends)[i], extent, steps[i]), steps[i]});
  }
  std::sort(sliced.begin(), sliced.end(),
            [](const SlicedAxis& a, const SlicedAxis& b) { return a.axis < b.axis; });
  ten::SliceOp::Attrs attrs;
  for (const SlicedAxis& s : sliced) {
    if (!attrs.axes.empty() && attrs.axes.back() == s.axis) return form;
    attrs.axes.push_back(s.axis);
    attrs.starts.push_back(s.start);
    attrs.ends.push_back(s.end);
    attrs.steps.push_back(s.step);
  }
  form.dims.assign(x.dims().begin(), x.dims().end());
  for (int64_t axis : attrs.axes) form.dims[axis] = DimExpr::Unknown(op.context());
  if (!AllKnown(attrs.starts) || !AllKnown(attrs.ends) || !may_mention(op, attrs.starts) ||
      !may_mention(op, attrs.ends)) {
    return form;
  }
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(const ten::SliceOp result,
                         ten::SliceOp::Create(builder, op.location(), slice.x(), attrs));
  form.replacement = result.op();
  return form;
}

// Axes whose scale is a known number; what runs decides about the others.
StaticForm FormOfScales(const ten::DynamicResizeOp& resize, const ShapeData& data) {
  StaticForm form;
  const Type x = resize.x().type();
  const std::span<const int64_t> axes = resize.axes();
  if (!x.is_tensor()) return form;
  const size_t count = axes.empty() ? static_cast<size_t>(x.rank()) : axes.size();
  const ShapeElements* scales = data.FindWithFloats(resize.scales());
  if (scales == nullptr || scales->size() != count) return form;
  form.dims.assign(x.dims().begin(), x.dims().end());
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (axis < 0 || axis >= x.rank()) return StaticForm();
    DimExpr& dim = form.dims[axis];
    if ((*scales)[i].is_constant(kFloatUnit)) continue;
    dim = (*scales)[i].is_constant()
              ? IntFromFloat(FloatFloor(FloatProduct(FloatFromInt(dim), (*scales)[i])))
              : DimExpr::Unknown(x.context());
  }
  return form;
}

absl::StatusOr<StaticForm> FormOfResize(Operation& op, const ShapeData& data,
                                        const MayMention& may_mention) {
  StaticForm form;
  const ten::DynamicResizeOp resize(&op);
  const Type x = resize.x().type();
  if (resize.scales() && !resize.roi()) return FormOfScales(resize, data);
  if (!resize.sizes() || resize.roi() || !x.is_tensor() || resize.policy() != "stretch")
    return form;
  const ShapeElements* sizes = data.Find(resize.sizes());
  const std::span<const int64_t> axes = resize.axes();
  const size_t count = axes.empty() ? static_cast<size_t>(x.rank()) : axes.size();
  if (sizes == nullptr || sizes->size() != count) return form;
  form.dims.assign(x.dims().begin(), x.dims().end());
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (axis < 0 || axis >= x.rank()) return StaticForm();
    form.dims[axis] = (*sizes)[i];
  }
  if (!AllKnown(form.dims) || !may_mention(op, form.dims)) return form;
  OpBuilder builder = OpBuilder::Before(&op);
  TENON_ASSIGN_OR_RETURN(
      const ten::ResizeOp result,
      ten::ResizeOp::Create(builder, op.location(), resize.x(),
                            {.sizes = ToVector(form.dims),
                             .scales = {},
                             .mode = std::string(resize.mode()),
                             .coordinate_mode = std::string(resize.coordinate_mode()),
                             .nearest_mode = std::string(resize.nearest_mode()),
                             .cubic_coeff_a = resize.cubic_coeff_a(),
                             .exclude_outside = resize.exclude_outside(),
                             .antialias = resize.antialias(),
                             .extrapolation_value = resize.extrapolation_value(),
                             .roi = {}}));
  form.replacement = result.op();
  return form;
}

StaticForm FormOfRange(Operation& op, const ShapeData& data) {
  StaticForm form;
  DimExpr bounds[3];
  for (unsigned i = 0; i < 3; ++i) {
    // The unit in which floats are kept cancels.
    const ShapeElements* e = data.FindWithFloats(op.operand(i));
    if (e == nullptr || e->size() != 1) return form;
    bounds[i] = (*e)[0];
  }
  form.dims = {RangeExtent(bounds[0], bounds[1], bounds[2])};
  return form;
}

}  // namespace

absl::StatusOr<StaticForm> FindStaticForm(Operation& op, const ShapeData& data,
                                          const MayMention& may_mention) {
  switch (op.id()) {
    case ten::DynamicReshapeOp::kId:
      return FormOfReshape(op, data, may_mention);
    case ten::DynamicExpandOp::kId:
      return FormOfExpand(op, data, may_mention);
    case ten::DynamicTileOp::kId:
      return FormOfTile(op, data, may_mention);
    case ten::DynamicPadOp::kId:
      return FormOfPad(op, data, may_mention);
    case ten::DynamicSliceOp::kId:
      return FormOfSlice(op, data, may_mention);
    case ten::DynamicResizeOp::kId:
      return FormOfResize(op, data, may_mention);
    case ten::RangeOp::kId:
      return FormOfRange(op, data);
    default:
      return StaticForm();
  }
}

}  // namespace tenon
