// Joining and cutting sequences.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Form = Container::Form;

// Sequences that are known to have more elements are packed.
constexpr int64_t kMaxList = 64;
// No tensor has more elements.
constexpr double kMaxSplit = static_cast<double>(int64_t{1} << 48);

ten::SliceOp::Attrs SliceOf(Node& node, int64_t axis, int64_t from, int64_t to) {
  return {.axes = {axis}, .starts = {node.Dim(from)}, .ends = {node.Dim(to)}, .steps = {1}};
}

// The axes of a tensor when axis `from` goes to `to`.
std::vector<int64_t> Moved(int64_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> perm;
  for (int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return perm;
}

}  // namespace

Value SequenceFormula::Join(const Container& c, int64_t axis, bool new_axis) {
  if (c.form == Form::kList && c.parts.empty()) {
    Fail(node_.Error(fmt::format("{} joins a sequence without elements (expected at least one)",
                                 node_.op_type())));
    return Value();
  }
  const std::optional<int64_t> rank = c.rank();
  if (!rank) {
    Fail(node_.Unsupported("elements whose rank is not known", "elements of one rank"));
    return Value();
  }
  const absl::StatusOr<int64_t> normal = node_.Axis(axis, new_axis ? *rank + 1 : *rank);
  if (!normal.ok()) {
    Fail(normal.status());
    return Value();
  }
  if (c.form == Form::kList) {
    std::vector<Value> pieces;
    for (const Value x : c.parts) {
      Formula::Dims dims = Formula::DimsOf(x);
      if (new_axis) dims.insert(dims.begin() + *normal, f_.One());
      pieces.push_back(new_axis ? f_.Reshape(x, std::move(dims)) : x);
    }
    return Joined(std::move(pieces), *normal);
  }
  if (c.form == Form::kStacked) {
    const Value moved = f_.Transpose(c.parts[0], Moved(*rank + 1, 0, *normal));
    if (new_axis || !ok()) return moved;
    Formula::Dims dims = Formula::DimsOf(moved);
    dims[*normal + 1] = dims[*normal] * dims[*normal + 1];
    dims.erase(dims.begin() + *normal);
    return f_.Reshape(moved, std::move(dims));
  }
  return new_axis ? StackPacked(c, *rank, *normal) : JoinPacked(c, *rank, *normal);
}

SequenceFormula::Extents SequenceFormula::SameExtents(const Container& packed, int64_t rank,
                                                      int64_t joined) {
  if (!ok()) return {};
  const DimExpr count = Count(packed);
  const Value expected = f_.Scalar(DType::kI64, static_cast<double>(rank));
  const Value begins = f_.Make<ten::SliceOp>(packed.offsets(), SliceOf(node_, 1, 0, 1));
  const auto rows = [&](DimExpr from, DimExpr to) {
    return f_.Make<ten::SliceOp>(
        begins, ten::SliceOp::Attrs{.axes = {0}, .starts = {from}, .ends = {to}, .steps = {1}});
  };
  const Value ranks =
      f_.CheckRange(f_.Sub(rows(f_.One(), count + 1), rows(node_.Dim(0), count)), expected,
                    expected, fmt::format("the rank of an element of {}", node_.op_type()));
  // The sum makes the check a part of what the result depends on.
  const Value all =
      f_.Add(f_.Reshape(packed.dims(), {count, node_.Dim(rank)}), f_.Sub(ranks, expected));
  const Value first = f_.Make<ten::GatherOp>(
      all, CheckedPosition(f_.Scalar(DType::kI64, 0), Length(packed)), ten::GatherOp::Attrs{});
  std::vector<int64_t> same(static_cast<size_t>(rank), 1), slack(static_cast<size_t>(rank), 0);
  if (joined >= 0) same[joined] = 0;
  if (joined >= 0) slack[joined] = int64_t{1} << 48;
  const Value least = f_.Mul(first, f_.Ints(same));
  const Value checked =
      f_.CheckRange(all, least, f_.Add(least, f_.Ints(slack)),
                    fmt::format("an extent of an element of {}", node_.op_type()));
  return {checked,
          f_.Make<ten::GatherOp>(checked, f_.Scalar(DType::kI64, 0), ten::GatherOp::Attrs{})};
}

Value SequenceFormula::StackPacked(const Container& packed, int64_t rank, int64_t axis) {
  if (rank == 0) return packed.data();
  const Extents extents = SameExtents(packed, rank, -1);
  const Value count = f_.Reshape(Length(packed), {f_.One()});
  const Value stacked =
      f_.Make<ten::DynamicReshapeOp>(packed.data(), Joined({count, extents.first}, 0),
                                     ten::DynamicReshapeOp::Attrs{.allow_zero = true});
  return axis == 0 ? stacked : f_.Transpose(stacked, Moved(rank + 1, 0, axis));
}

Value SequenceFormula::JoinPacked(const Container& packed, int64_t rank, int64_t axis) {
  const Extents extents = SameExtents(packed, rank, axis);
  if (!ok()) return Value();
  const Value sizes = f_.Reshape(
      f_.Make<ten::SliceOp>(extents.all, SliceOf(node_, 1, axis, axis + 1)), {Count(packed)});
  std::vector<Value> shape;
  if (axis > 0) shape.push_back(First(extents.first, 0, axis));
  shape.push_back(
      f_.Make<ten::ReduceSumOp>(sizes, ten::ReduceSumOp::Attrs{.axes = {0}, .keepdims = true}));
  if (axis + 1 < rank) shape.push_back(First(extents.first, axis + 1, rank - axis - 1));
  Value numbers = packed.data();
  if (axis > 0) {
    const auto product = [&](Value dims) {
      return f_.Make<ten::ReduceProdOp>(dims,
                                        ten::ReduceProdOp::Attrs{.axes = {0}, .keepdims = false});
    };
    const Value outer = product(shape.front());
    const Value widths = axis + 1 < rank ? f_.Mul(sizes, product(shape.back())) : sizes;
    const Value places = Places(widths, outer);
    if (!ok()) return Value();
    numbers = f_.Make<ten::GatherOp>(numbers, Flat(places), ten::GatherOp::Attrs{});
  }
  return f_.Make<ten::DynamicReshapeOp>(numbers, Joined(std::move(shape), 0),
                                        ten::DynamicReshapeOp::Attrs{.allow_zero = true});
}

Value SequenceFormula::Places(Value widths, Value outer) {
  const Value zero = f_.Scalar(DType::kI64, 0), one = f_.Scalar(DType::kI64, 1);
  const Value ends = f_.Make<ten::CumsumOp>(widths, ten::CumsumOp::Attrs{.axis = 0});
  const Value starts = f_.Sub(ends, widths);
  const Value total =
      f_.Make<ten::ReduceSumOp>(widths, ten::ReduceSumOp::Attrs{.axes = {0}, .keepdims = false});
  const Value columns = f_.Make<ten::RangeOp>(zero, total, one);
  const Value rows = f_.Make<ten::RangeOp>(zero, outer, one);
  if (!ok()) return Value();
  // The slice of a column: as many slices as end at it or before.
  const Value before =
      f_.Make<ten::LessOp>(f_.Sub(f_.Reshape(ends, {f_.One(), ends.type().dim(0)}), one),
                           f_.Reshape(columns, {columns.type().dim(0), f_.One()}));
  const Value slice = f_.Make<ten::ReduceSumOp>(
      f_.Cast(before, DType::kI64), ten::ReduceSumOp::Attrs{.axes = {1}, .keepdims = false});
  const Value start = f_.Make<ten::GatherOp>(starts, slice, ten::GatherOp::Attrs{});
  const Value width = f_.Make<ten::GatherOp>(widths, slice, ten::GatherOp::Attrs{});
  const Value row = f_.Reshape(rows, {rows.type().dim(0), f_.One()});
  return f_.Add(f_.Add(f_.Mul(outer, start), f_.Sub(columns, start)), f_.Mul(row, width));
}

std::optional<Container> SequenceFormula::SplitNow(Value x, int64_t axis, Value sizes, bool keep) {
  const DimExpr extent = x.type().dim(axis);
  if (!extent.is_constant()) return std::nullopt;
  std::vector<int64_t> parts;
  const int64_t all = extent.constant();
  int64_t step = 1;
  if (sizes) {
    const auto known = node_.importer().shape_data().FindConstants(sizes);
    if (!known) return std::nullopt;
    if (sizes.type().rank() == 1) parts.assign(known->begin(), known->end());
    if (sizes.type().rank() == 0) step = (*known)[0];
  }
  if (!sizes || sizes.type().rank() == 0) {
    if (step < 1) {
      Fail(node_.Error(
          fmt::format("the size of {} is {} (expected 1 or more)", node_.op_type(), step)));
      return std::nullopt;
    }
    if (all > kMaxList * step) return std::nullopt;
    for (int64_t at = 0; at < all; at += step) parts.push_back(std::min(step, all - at));
  }
  Container list;
  list.dtype = x.type().dtype();
  int64_t at = 0;
  for (const int64_t size : parts) {
    if (size < 0 || size > all - at) {
      Fail(node_.Error(fmt::format("the sizes of {} do not sum up to {} (expected sizes that do)",
                                   node_.op_type(), all)));
      return std::nullopt;
    }
    Value part = f_.Make<ten::SliceOp>(x, SliceOf(node_, axis, at, at + size));
    at += size;
    if (!ok()) return std::nullopt;
    Formula::Dims dims = Formula::DimsOf(part);
    if (!keep) dims.erase(dims.begin() + axis);
    list.parts.push_back(keep ? part : f_.Reshape(part, std::move(dims)));
    list.element = JoinElements(list.element, list.parts.back().type());
  }
  if (at == all) return list;
  Fail(node_.Error(
      fmt::format("the sizes of {} sum up to {} (expected {})", node_.op_type(), at, all)));
  return std::nullopt;
}

Container SequenceFormula::Split(Value x, int64_t axis, Value sizes, bool keep) {
  if (std::optional<Container> list = SplitNow(x, axis, sizes, keep || sizes); list || !ok()) {
    return list ? *std::move(list) : Container();
  }
  if (sizes) return SplitAtRunTime(x, axis, sizes);
  const int64_t rank = x.type().rank();
  Container stacked;
  stacked.form = Form::kStacked;
  stacked.dtype = x.type().dtype();
  Value rows = axis == 0 ? x : f_.Transpose(x, Moved(rank, axis, 0));
  if (keep && ok()) {
    Formula::Dims dims = Formula::DimsOf(rows);
    dims.insert(dims.begin() + 1 + axis, f_.One());
    rows = f_.Reshape(rows, std::move(dims));
  }
  if (!ok()) return stacked;
  stacked.element = WithDims(x.type(), rows.type().dims().subspan(1));
  stacked.parts = {rows};
  return stacked;
}

Container SequenceFormula::SplitAtRunTime(Value x, int64_t axis, Value sizes) {
  const Value zero = f_.Scalar(DType::kI64, 0), one = f_.Scalar(DType::kI64, 1);
  const Value extent = ExtentAt(x, axis);
  const std::string what = fmt::format("a size of {}", node_.op_type());
  Value parts = f_.Cast(sizes, DType::kI64);
  if (sizes.type().rank() == 0) {
    const Value step = f_.CheckRange(parts, one, f_.Scalar(DType::kI64, kMaxSplit), what);
    const Value starts = f_.Make<ten::RangeOp>(zero, extent, step);
    const Value rest = f_.Sub(extent, starts);
    parts = f_.Where(f_.Make<ten::LessOp>(rest, step), rest, step);
  } else {
    parts = f_.CheckUpTo(parts, extent, what);
    const Value sum = f_.CheckRange(
        f_.Make<ten::ReduceSumOp>(parts, ten::ReduceSumOp::Attrs{.axes = {0}, .keepdims = false}),
        extent, extent, fmt::format("the sum of the sizes of {}", node_.op_type()));
    parts = f_.Add(parts, f_.Sub(sum, extent));  // depends on the check
  }
  Container packed;
  packed.form = Form::kPacked;
  packed.dtype = x.type().dtype();
  if (!ok()) return packed;
  const DimExpr count = parts.type().dim(0);
  const Formula::Dims dims = Formula::DimsOf(x);
  const int64_t rank = x.type().rank();
  const std::span<const DimExpr> outer_dims(dims.data(), static_cast<size_t>(axis));
  const std::span<const DimExpr> inner_dims =
      std::span<const DimExpr>(dims).subspan(static_cast<size_t>(axis) + 1);
  const DimExpr outer = Product(node_.context(), outer_dims);
  const Value widths = f_.Mul(parts, f_.Extent(Product(node_.context(), inner_dims)));

  const Value column = f_.Reshape(parts, {count, f_.One()});
  const auto repeated = [&](std::span<const DimExpr> row) {
    const DimExpr length = node_.Dim(static_cast<int64_t>(row.size()));
    const Value once =
        f_.Reshape(f_.Extents(Formula::Dims(row.begin(), row.end())), {f_.One(), length});
    return f_.Expand(once, {count, length});
  };
  std::vector<Value> columns;
  if (!outer_dims.empty()) columns.push_back(repeated(outer_dims));
  columns.push_back(column);
  if (!inner_dims.empty()) columns.push_back(repeated(inner_dims));
  const Value extents = Joined(std::move(columns), 1);
  const Value counts = f_.Mul(widths, f_.Extent(outer));
  const int64_t none = 0;
  const Value ends = Joined({f_.Ints(std::span(&none, 1)),
                             f_.Make<ten::CumsumOp>(counts, ten::CumsumOp::Attrs{.axis = 0})},
                            0);
  const Value offsets = Joined({f_.Mul(f_.Iota(count + 1, 0, 2), f_.Extent(node_.Dim(rank))),
                                f_.Reshape(ends, {count + 1, f_.One()})},
                               1);
  if (!ok()) return packed;
  Value numbers = Flat(x);
  if (!outer.is_constant(1)) {
    const Value places = Places(widths, f_.Extent(outer));
    if (!ok()) return packed;
    numbers = f_.Make<ten::ScatterElementsOp>(
        numbers, f_.Reshape(places, {numbers.type().dim(0)}), numbers,
        ten::ScatterElementsOp::Attrs{.axis = 0, .reduction = "none"});
  }
  packed.parts = {offsets, Flat(extents), numbers};
  packed.element = LooseElement(x.type());
  return packed;
}

}  // namespace tenon::onnx
