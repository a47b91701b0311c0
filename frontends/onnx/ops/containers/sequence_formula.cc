#include "frontends/onnx/ops/containers/sequence_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "frontends/onnx/graph_importer.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Form = Container::Form;

// Longer lists are packed before they are changed: each change copies the list.
constexpr size_t kMaxChanged = 256;

bool IsShortList(const Container& c) {
  return c.form == Form::kList && c.parts.size() <= kMaxChanged;
}

bool SameShapes(std::span<const Value> values) {
  return std::all_of(values.begin(), values.end(), [&](Value value) {
    return value.type().rank() == values[0].type().rank() &&
           std::equal(value.type().dims().begin(), value.type().dims().end(),
                      values[0].type().dims().begin(), DimExpr::ProvablyEqual);
  });
}

}  // namespace

// One element in packed tensors: the row behind it and what it adds to the offsets, and its bounds.
// All are vectors of one number but `adds`, which has two.
struct SequenceFormula::Cut {
  Value next_row, adds, dims, next_dims, data, next_data;
};

void SequenceFormula::Fail(const absl::Status& status) { f_.Take(status); }

absl::Status SequenceFormula::Return(Value value) {
  if (!ok()) return status();
  return node_.Return(value);
}

absl::Status SequenceFormula::Return(const Container& container) {
  if (!ok()) return status();
  return node_.Return(Wrap(node_.builder(), node_.location(), container));
}

std::optional<int64_t> SequenceFormula::Known(Value value) const {
  const auto known = node_.importer().shape_data().FindConstants(value);
  return known && known->size() == 1 ? std::optional((*known)[0]) : std::nullopt;
}

std::optional<int64_t> SequenceFormula::KnownPosition(Value position, size_t size, bool end) {
  const std::optional<int64_t> known = Known(position);
  if (!known) return std::nullopt;
  const auto count = static_cast<int64_t>(size);
  const int64_t last = end ? count : count - 1;
  if (*known >= -count && *known <= last) return *known < 0 ? *known + count : *known;
  Fail(node_.Error(fmt::format("the position of {} is {} (expected {} to {})", node_.op_type(),
                               *known, -count, last)));
  return std::nullopt;
}

Value SequenceFormula::CheckedPosition(Value position, Value size, bool end) {
  const Value at = f_.Cast(f_.Reshape(position, {}), DType::kI64);
  const Value zero = f_.Scalar(DType::kI64, 0);
  const Value last = end ? size : f_.Sub(size, f_.Scalar(DType::kI64, 1));
  const Value checked = f_.CheckRange(at, f_.Sub(zero, size), last,
                                      fmt::format("the position of {}", node_.op_type()));
  return f_.Where(f_.Make<ten::LessOp>(checked, zero), f_.Add(checked, size), checked);
}

Value SequenceFormula::ExtentAt(Value x, int64_t axis) {
  if (!ok()) return Value();
  if (!x.type().dim(axis).is_unknown()) return f_.Extent(x.type().dim(axis));
  return f_.Reshape(f_.Make<ten::ShapeOp>(x, ten::ShapeOp::Attrs{.start = axis, .end = axis + 1}),
                    {});
}

Value SequenceFormula::First(Value vector, int64_t from, int64_t count) {
  return f_.Make<ten::SliceOp>(vector, ten::SliceOp::Attrs{.axes = {0},
                                                           .starts = {node_.Dim(from)},
                                                           .ends = {node_.Dim(from + count)},
                                                           .steps = {1}});
}

Value SequenceFormula::Between(Value x, Value from, Value to) {
  const int64_t first_axis = 0;
  const Value axes = f_.Ints(std::span(&first_axis, 1));
  const Value part = f_.Make<ten::DynamicSliceOp>(x, from, to, axes, Value());
  if (!ok()) return Value();
  std::vector<DimExpr> dims(x.type().dims().begin(), x.type().dims().end());
  dims[0] = part.type().dim(0);
  Value typed = part;
  typed.set_type(WithDims(x.type(), dims));
  return typed;
}

Value SequenceFormula::Joined(std::vector<Value> pieces, int64_t axis) {
  if (!ok()) return Value();
  if (pieces.size() == 1) return pieces[0];
  return f_.Make<ten::ConcatOp>(pieces, ten::ConcatOp::Attrs{.axis = axis});
}

Value SequenceFormula::Constants(std::vector<int64_t> dims, DType dtype,
                                 std::span<const int64_t> values) {
  const Type type = Type::Tensor(node_.context(), dtype, std::span<const int64_t>(dims));
  return f_.Take(
      node_.MakeConstant(Attribute::Elements(node_.context(), type, std::as_bytes(values))));
}

std::vector<Value> SequenceFormula::Piece(Value x) {
  Formula::Dims dims = Formula::DimsOf(x);
  const Value row = f_.Reshape(
      f_.Extents({node_.Dim(x.type().rank()), Product(node_.context(), x.type().dims())}),
      {node_.Dim(1), node_.Dim(2)});
  const Value extents = dims.empty() ? Constants({0}, DType::kI64, {}) : f_.Extents(dims);
  return {row, extents, Flat(x)};
}

Value SequenceFormula::Length(const Container& c) {
  if (c.form == Form::kList) {
    return f_.Scalar(DType::kI64, static_cast<double>(c.parts.size()));
  }
  const Value rows = ExtentAt(c.parts[0], 0);
  return c.form == Form::kStacked ? rows : f_.Sub(rows, f_.Scalar(DType::kI64, 1));
}

Value SequenceFormula::ListOffsets(std::span<const Value> elements) {
  // Sums of many extents are better computed than written out.
  constexpr size_t kMaxSums = 16;
  Context& context = node_.context();
  const DimExpr two = node_.Dim(2);
  const auto count = static_cast<int64_t>(elements.size());
  DimExpr rank = node_.Dim(0), numbers = node_.Dim(0);
  Formula::Dims sums = {rank, numbers}, own;
  for (const Value x : elements) {
    own.push_back(node_.Dim(x.type().rank()));
    own.push_back(Product(context, x.type().dims()));
    rank = rank + own[own.size() - 2];
    numbers = numbers + own.back();
    sums.push_back(rank);
    sums.push_back(numbers);
    if (elements.size() > kMaxSums) rank = numbers = node_.Dim(0);
  }
  if (elements.size() <= kMaxSums) return f_.Reshape(f_.Extents(sums), {node_.Dim(count + 1), two});
  const Value rows = f_.Make<ten::CumsumOp>(f_.Reshape(f_.Extents(own), {node_.Dim(count), two}),
                                            ten::CumsumOp::Attrs{.axis = 0});
  return Joined({Constants({1, 2}, DType::kI64, std::array<int64_t, 2>{}), rows}, 0);
}

bool SequenceFormula::CountElements(const Container& c) {
  const absl::Status counted =
      node_.importer().CountRepeats(static_cast<int64_t>(c.parts.size()), node_.location());
  if (!counted.ok()) Fail(counted);
  return counted.ok();
}

// Requires elements of one shape.
Container SequenceFormula::Stacked(const Container& c) {
  Container stacked{c};
  stacked.form = Form::kStacked;
  stacked.parts.assign(1, Value());
  if (!CountElements(c)) return stacked;
  std::vector<Value> rows;
  for (const Value x : c.parts) {
    Formula::Dims dims = Formula::DimsOf(x);
    dims.insert(dims.begin(), f_.One());
    rows.push_back(f_.Reshape(x, std::move(dims)));
  }
  stacked.parts[0] = Joined(std::move(rows), 0);
  return stacked;
}

Container SequenceFormula::Packed(const Container& c) {
  if (c.form == Form::kPacked) return c;
  Container packed{c};
  packed.form = Form::kPacked;
  packed.element = LooseElement(c.element);
  packed.parts.assign(3, Value());
  if (!ok() || (c.form == Form::kList && !CountElements(c))) return packed;
  if (c.form == Form::kStacked) {
    const Value x = c.parts[0];
    const DimExpr count = x.type().dim(0);
    const std::span<const DimExpr> dims = x.type().dims().subspan(1);
    const auto rank = static_cast<int64_t>(dims.size());
    const Value row = f_.Extents({node_.Dim(rank), Product(node_.context(), dims)});
    const Value offsets =
        f_.Mul(f_.Iota(count + 1, 0, 2), f_.Reshape(row, {node_.Dim(1), node_.Dim(2)}));
    Value extents = Constants({0}, DType::kI64, {});
    if (rank > 0) {
      extents = f_.Reshape(f_.Extents(Formula::Dims(dims.begin(), dims.end())),
                           {node_.Dim(1), node_.Dim(rank)});
      extents = Flat(f_.Expand(extents, {count, node_.Dim(rank)}));
    }
    packed.parts = {offsets, extents, Flat(x)};
    return packed;
  }
  packed.parts = {ListOffsets(c.parts)};
  if (c.parts.empty()) {
    packed.parts.push_back(Constants({0}, DType::kI64, {}));
    packed.parts.push_back(Constants({0}, c.dtype, {}));
    return packed;
  }
  Formula::Dims dims;
  std::vector<Value> data;
  for (const Value x : c.parts) {
    const Formula::Dims own = Formula::DimsOf(x);
    dims.insert(dims.end(), own.begin(), own.end());
    data.push_back(Flat(x));
  }
  packed.parts.push_back(dims.empty() ? Constants({0}, DType::kI64, {}) : f_.Extents(dims));
  packed.parts.push_back(Joined(std::move(data), 0));
  return packed;
}

std::vector<Value> SequenceFormula::PackedAs(Value value, const ContainerType& type) {
  std::optional<Container> container = Unwrap(value);
  if (!container) {
    container = Container{OptionalOf(value.type())};
    container->parts = {value};
  }
  if (container->is_strings() || container->is_maps()) return container->parts;
  const Container packed = Packed(*container);
  std::vector<Value> tensors;
  if (type.kind == ContainerType::Kind::kOptionalSequence) {
    tensors.push_back(packed.present ? packed.present : f_.Scalar(DType::kBool, 1));
  }
  tensors.insert(tensors.end(), packed.parts.begin(), packed.parts.end());
  return tensors;
}

Value SequenceFormula::Row(Value offsets, Value position) {
  return f_.Make<ten::GatherOp>(offsets, position, ten::GatherOp::Attrs{});
}

SequenceFormula::Cut SequenceFormula::CutAt(const Container& packed, Value position) {
  const Value next = f_.Add(position, f_.Scalar(DType::kI64, 1));
  const Value begin = Row(packed.offsets(), position), end = Row(packed.offsets(), next);
  return {f_.Reshape(next, {f_.One()}), f_.Sub(end, begin), First(begin, 0, 1), First(end, 0, 1),
          First(begin, 1, 1),           First(end, 1, 1)};
}

Value SequenceFormula::At(const Container& c, Value position) {
  if (c.form == Form::kList) {
    if (const auto known = KnownPosition(position, c.parts.size()); known || !ok()) {
      return ok() ? c.parts[static_cast<size_t>(*known)] : Value();
    }
    if (!c.parts.empty() && SameShapes(c.parts)) return At(Stacked(c), position);
  }
  if (c.form == Form::kStacked) {
    return f_.Make<ten::GatherOp>(c.parts[0], CheckedPosition(position, Length(c)),
                                  ten::GatherOp::Attrs{});
  }
  const std::optional<int64_t> rank = c.rank();
  if (!rank) {
    Fail(node_.Unsupported("elements whose rank is not known", "elements of one rank"));
    return Value();
  }
  const Container packed = Packed(c);
  const Cut cut = CutAt(packed, CheckedPosition(position, Length(packed)));
  const Value numbers = Between(packed.data(), cut.data, cut.next_data);
  const Value dims =
      f_.Reshape(Between(packed.dims(), cut.dims, cut.next_dims), {node_.Dim(*rank)});
  if (*rank == 0) return f_.Reshape(numbers, {});
  return f_.Make<ten::DynamicReshapeOp>(numbers, dims,
                                        ten::DynamicReshapeOp::Attrs{.allow_zero = true});
}

Container SequenceFormula::Insert(Container c, Value x, Value position) {
  if (x.type().dtype() != c.dtype) {
    Fail(
        node_.Error(fmt::format("{} puts {} into {}", node_.op_type(), x.type().text(), c.text())));
    return c;
  }
  const Type element = JoinElements(c.element, x.type());
  if (IsShortList(c)) {
    if (!CountElements(c)) return c;
    const std::optional<int64_t> at = position ? KnownPosition(position, c.parts.size(), true)
                                               : static_cast<int64_t>(c.parts.size());
    if (at) c.parts.insert(c.parts.begin() + *at, x);
    if (at) c.element = element;
    if (at || !ok()) return c;
  }
  c = Packed(c);
  c.element = LooseElement(element);
  const std::vector<Value> piece = Piece(x);
  if (!position) {
    const Value end = f_.Add(Row(c.offsets(), Length(c)), piece[0]);
    c.parts = {Joined({c.offsets(), end}, 0), Joined({c.dims(), piece[1]}, 0),
               Joined({c.data(), piece[2]}, 0)};
    return c;
  }
  const Value at = CheckedPosition(position, Length(c), true);
  const Value begin = Row(c.offsets(), at);
  const Value row = f_.Reshape(at, {f_.One()});
  const Value next_row = f_.Add(row, f_.Scalar(DType::kI64, 1));
  const Value places[] = {First(begin, 0, 1), First(begin, 1, 1)};
  const int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  const Value from = f_.Ints(std::span(&first, 1)), to = f_.Ints(std::span(&last, 1));
  c.parts[0] = Joined(
      {Between(c.offsets(), from, next_row), f_.Add(Between(c.offsets(), row, to), piece[0])}, 0);
  for (size_t i = 1; i < 3; ++i) {
    c.parts[i] = Joined({Between(c.parts[i], from, places[i - 1]), piece[i],
                         Between(c.parts[i], places[i - 1], to)},
                        0);
  }
  return c;
}

Container SequenceFormula::Erase(Container c, Value position) {
  const int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  if (!position) position = f_.Scalar(DType::kI64, -1);
  if (IsShortList(c)) {
    if (!CountElements(c)) return c;
    const auto known = KnownPosition(position, c.parts.size());
    if (known) c.parts.erase(c.parts.begin() + *known);
    if (known || !ok()) return c;
  }
  c = Packed(c);
  const Cut cut = CutAt(c, CheckedPosition(position, Length(c)));
  const Value begin = f_.Ints(std::span(&first, 1)), end = f_.Ints(std::span(&last, 1));
  const Value behind = f_.Add(cut.next_row, f_.Scalar(DType::kI64, 1));
  const Value from[] = {cut.dims, cut.data}, to[] = {cut.next_dims, cut.next_data};
  c.parts[0] = Joined({Between(c.offsets(), begin, cut.next_row),
                       f_.Sub(Between(c.offsets(), behind, end), cut.adds)},
                      0);
  for (size_t i = 1; i < 3; ++i) {
    c.parts[i] =
        Joined({Between(c.parts[i], begin, from[i - 1]), Between(c.parts[i], to[i - 1], end)}, 0);
  }
  return c;
}

}  // namespace tenon::onnx
