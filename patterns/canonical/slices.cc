// A slice of a slice is one slice, for every size that bounds of either kind stand for.
#include "patterns/canonical/slices.h"

namespace tenon::pattern {
namespace {

// Bounds and steps are below this; an end at or above it is that of the axis.
constexpr int64_t kFarAway = std::numeric_limits<int32_t>::max();

struct SliceBounds {
  I64s axes;
  Dims starts, ends;
  I64s steps;
};

bool IsFar(DimExpr end) { return end.is_constant() && end.constant() >= kFarAway; }

// Is the bound an index from the start of the axis, whatever its symbols are?
bool CountsFromStart(DimExpr bound) {
  return DimExpr::ProvablyLessEqual(DimExpr::Constant(bound.context(), 0), bound);
}

// Elements start + i * step for i from 0, in front of the axis' end and of `end`.
struct Line {
  DimExpr start, end;
  int64_t step;
  bool IsForward() const {
    return step > 0 && step < kFarAway && CountsFromStart(start) && !IsFar(start) &&
           CountsFromStart(end);
  }
};

// The elements that `outer` takes of those that `inner` takes, which are `extent` many.
std::optional<Line> Joined(const Line& inner, const Line& outer, DimExpr extent) {
  if (!inner.IsForward() || !outer.IsForward()) return std::nullopt;
  Line line = {inner.start + outer.start * inner.step, inner.end, inner.step * outer.step};
  if (IsFar(outer.end) || DimExpr::ProvablyEqual(outer.end, extent)) return line;
  const DimExpr end = inner.start + outer.end * inner.step;
  line.end = IsFar(inner.end) || DimExpr::ProvablyLessEqual(end, inner.end) ? end
             : DimExpr::ProvablyLessEqual(inner.end, end)                   ? inner.end
                                                                            : Min(inner.end, end);
  return line;
}

// Where the axes of one are among those of the other: an axis more would hide from `hoist-slices`
// and `canonicalize-splits` that each takes slices of one axis.
std::optional<SliceBounds> Joined(Value between, const SliceBounds& inner,
                                  const SliceBounds& outer) {
  if (!between.type().is_tensor()) return std::nullopt;
  const bool outer_has_all = std::ranges::includes(outer.axes, inner.axes);
  if (!outer_has_all && !std::ranges::includes(inner.axes, outer.axes)) return std::nullopt;
  const auto find = [](const SliceBounds& bounds, int64_t axis) -> std::optional<Line> {
    const auto at = std::ranges::find(bounds.axes, axis) - bounds.axes.begin();
    const auto i = static_cast<size_t>(at);
    if (i == bounds.axes.size()) return std::nullopt;
    return Line{bounds.starts[i], bounds.ends[i], bounds.steps[i]};
  };
  SliceBounds joined;
  for (int64_t axis : outer_has_all ? outer.axes : inner.axes) {
    const std::optional<Line> a = find(inner, axis), b = find(outer, axis);
    const std::optional<Line> line = a && b ? Joined(*a, *b, between.type().dim(axis)) : a ? a : b;
    if (!line) return std::nullopt;
    joined.axes.push_back(axis);
    joined.starts.push_back(line->start);
    joined.ends.push_back(line->end);
    joined.steps.push_back(line->step);
  }
  return joined;
}

struct SliceVariables {
  Attr<I64s> axes, steps;
  Attr<Dims> starts, ends;
  Val Of(const Val& x) const {
    return Slice(x, {.axes = axes, .starts = starts, .ends = ends, .steps = steps});
  }
};

// One attribute of the slice that two make.
template <auto kField>
auto Part(const Val& between, const SliceVariables& inner, const SliceVariables& outer) {
  using Field = std::remove_cvref_t<decltype(SliceBounds().*kField)>;
  const auto part = [](Value value, const I64s& axes, const Dims& starts, const Dims& ends,
                       const I64s& steps, const I64s& outer_axes, const Dims& outer_starts,
                       const Dims& outer_ends, const I64s& outer_steps) -> std::optional<Field> {
    std::optional<SliceBounds> joined = Joined(value, {axes, starts, ends, steps},
                                               {outer_axes, outer_starts, outer_ends, outer_steps});
    if (!joined) return std::nullopt;
    return std::move((*joined).*kField);
  };
  return Compute(part, between, inner.axes, inner.starts, inner.ends, inner.steps, outer.axes,
                 outer.starts, outer.ends, outer.steps);
}

}  // namespace

// What else reads the inner slice keeps it, and with it the outer one: what takes halves of a slice
// and the slice itself, as rotary embeddings do, is known by that.
Rule SliceOfSlice() {
  Val x("x");
  const SliceVariables a = {.axes = Attr<I64s>("axes"),
                            .steps = Attr<I64s>("steps"),
                            .starts = Attr<Dims>("starts"),
                            .ends = Attr<Dims>("ends")};
  const SliceVariables b = {.axes = Attr<I64s>("outer_axes"),
                            .steps = Attr<I64s>("outer_steps"),
                            .starts = Attr<Dims>("outer_starts"),
                            .ends = Attr<Dims>("outer_ends")};
  Val inner = a.Of(x);
  return Rule("slice-of-slice")
      .Summary("a slice of a slice is one slice, where all bounds count from the start")
      .Match(b.Of(inner))
      .Replace(Slice(x, {.axes = Part<&SliceBounds::axes>(inner, a, b),
                         .starts = Part<&SliceBounds::starts>(inner, a, b),
                         .ends = Part<&SliceBounds::ends>(inner, a, b),
                         .steps = Part<&SliceBounds::steps>(inner, a, b)}))
      .Opaque("bounds of any number of axes are joined, each in one of four ways");
}

}  // namespace tenon::pattern
