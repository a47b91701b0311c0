// Ops that select by value or index.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A result with more elements fits no memory.
constexpr double kMaxDepth = 0x1p48;

absl::StatusOr<int64_t> ReadAxis(const Node& node, int64_t fallback, int64_t rank) {
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", fallback));
  return node.Axis(axis, rank);
}

absl::Status SetResults(Node& node, absl::StatusOr<Value> first) {
  if (!first.ok()) return first.status();
  Operation* op = first->defining_op();
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (static_cast<unsigned>(i) < op->num_results()) {
      node.SetOutput(i, op->result(static_cast<unsigned>(i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportTopK(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(node.version() < 10 ? 1 : 2, node.version() < 10 ? 1 : 2));
  const Value x = node.input(0);
  ten::TopkOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.axis, ReadAxis(node, -1, x.type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.largest, node.Flag("largest", true));
  TENON_ASSIGN_OR_RETURN(attrs.sorted, node.Flag("sorted", true));
  if (node.version() < 10) {
    TENON_ASSIGN_OR_RETURN(const int64_t k, node.Int("k", 1));
    attrs.k = {node.Dim(k)};
  } else {
    TENON_ASSIGN_OR_RETURN(const auto k, node.Extents(1));
    if (!k) {
      return SetResults(
          node, node.Make<ten::DynamicTopkOp>(
                    x, node.input(1),
                    ten::DynamicTopkOp::Attrs{
                        .axis = attrs.axis, .largest = attrs.largest, .sorted = attrs.sorted}));
    }
    if (k->size() != 1) return node.Error("the k of TopK must be one element");
    attrs.k = *k;
  }
  return SetResults(node, node.Make<ten::TopkOp>(x, attrs));
}

absl::Status ImportUnique(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  ten::UniqueOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.sorted, node.Flag("sorted", true));
  attrs.flat = node.Find("axis") == nullptr;
  if (!attrs.flat) {
    TENON_ASSIGN_OR_RETURN(attrs.axis, ReadAxis(node, 0, node.input(0).type().rank()));
  }
  return SetResults(node, node.Make<ten::UniqueOp>(node.input(0), attrs));
}

// Positions of the ones along the axis, compared with 0, 1, … below the depth.
absl::Status ImportOneHot(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const Value values = node.input(2);
  const int64_t rank = node.input(0).type().rank() + 1;
  TENON_ASSIGN_OR_RETURN(const int64_t axis, ReadAxis(node, -1, rank));
  if (values.type().rank() != 1) return node.Error("the values of OneHot must be a vector");
  Formula f(node);
  Value depth, along;
  TENON_ASSIGN_OR_RETURN(const auto known, IsInt(node.input(1).type().dtype())
                                               ? node.Extents(1)
                                               : absl::StatusOr<std::optional<Formula::Dims>>(
                                                     std::optional<Formula::Dims>()));
  if (known && known->size() == 1) {
    if (known->front().is_constant() && known->front().constant() < 0) {
      return node.Error(
          fmt::format("the depth of OneHot is {} (expected 0 or more)", known->front().constant()));
    }
    depth = f.Extent(known->front());
    along = f.Iota(known->front(), axis, rank);
  } else {
    // A NaN is in no range; as an integer it would be 0.
    const DType checked = IsFloat(node.input(1).type().dtype()) ? DType::kF64 : DType::kI64;
    depth = f.Reshape(f.Cast(node.input(1), checked), {});
    depth = f.CheckRange(depth, f.Scalar(checked, 0), f.Scalar(checked, kMaxDepth),
                         "the depth of OneHot");
    depth = f.Cast(depth, DType::kI64);
    const Value range =
        f.Make<ten::RangeOp>(f.Scalar(DType::kI64, 0), depth, f.Scalar(DType::kI64, 1));
    along = f.Along(range, axis, rank);
  }
  Formula::Dims dims = Formula::DimsOf(node.input(0));
  dims.insert(dims.begin() + axis, f.One());
  Value indices = node.input(0);
  if (const DType dtype = indices.type().dtype(); IsFloat(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    indices = f.CheckRange(indices, f.Scalar(dtype, -infinity), f.Scalar(dtype, infinity),
                           "an index of OneHot");
  }
  indices = f.Reshape(f.Cast(indices, DType::kI64), std::move(dims));
  const Value negative = f.Make<ten::LessOp>(indices, f.Scalar(DType::kI64, 0));
  const Value wrapped = f.Where(negative, f.Add(indices, depth), indices);
  const auto value = [&](int64_t i) {
    const ten::SliceOp::Attrs one{
        .axes = {0}, .starts = {node.Dim(i)}, .ends = {node.Dim(i + 1)}, .steps = {1}};
    return f.Reshape(f.Make<ten::SliceOp>(values, one), {});
  };
  const Value hot = f.Make<ten::EqualOp>(wrapped, along);
  const Value off = value(0), on = value(1);
  return f.Return(f.Where(hot, on, off));
}

// The slices whose condition holds: gathered at the positions that are not zero.
absl::Status ImportCompress(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  Formula f(node);
  Value x = node.input(0);
  int64_t axis = 0;
  if (node.Find("axis") == nullptr) {
    x = f.Reshape(x, {Product(node.context(), x.type().dims())});
  } else {
    TENON_ASSIGN_OR_RETURN(axis, ReadAxis(node, 0, x.type().rank()));
  }
  if (node.input(1).type().rank() != 1) {
    return node.Error("the condition of Compress must be a vector");
  }
  const Value positions = f.Make<ten::NonzeroOp>(node.input(1));
  if (!f.ok()) return f.status();
  const Value indices = f.Reshape(positions, {positions.type().dim(1)});
  return f.Return(f.Make<ten::GatherOp>(x, indices, ten::GatherOp::Attrs{.axis = axis}));
}

absl::Status ImportScatterElements(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  ten::ScatterElementsOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.axis, ReadAxis(node, 0, node.input(0).type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.reduction, node.Str("reduction", "none"));
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (attrs.reduction != known) continue;
    return node.Return(
        node.Make<ten::ScatterElementsOp>(node.input(0), node.input(1), node.input(2), attrs));
  }
  return node.Error(fmt::format("{} has the reduction \"{}\" (expected none, add, mul, max or min)",
                                node.op_type(), attrs.reduction));
}

absl::Status ImportScatter(Node& node) { return ImportScatterElements(node); }

// Rows of a cache of keys or values, put in from the sample's index on.
absl::Status ImportTensorScatter(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value past = node.input(0), update = node.input(1);
  const int64_t rank = past.type().rank();
  TENON_ASSIGN_OR_RETURN(const int64_t axis, ReadAxis(node, -2, rank));
  TENON_ASSIGN_OR_RETURN(const std::string mode, node.Str("mode", "linear"));
  if (axis == 0 || update.type().rank() != rank || (mode != "linear" && mode != "circular")) {
    return node.Error(
        "TensorScatter needs a cache and an update of one rank, an axis behind the first and the "
        "mode linear or circular");
  }
  Formula f(node);
  Value at = f.Iota(update.type().dim(axis), axis, rank);
  if (node.input(2)) {
    if (node.input(2).type().rank() != 1) {
      return node.Error("the write_indices of TensorScatter must be a vector");
    }
    // In a linear cache the update ends before the end.
    const DimExpr last = mode == "linear" ? past.type().dim(axis) - update.type().dim(axis)
                                          : past.type().dim(axis) - 1;
    const Value first = f.CheckUpTo(f.Cast(node.input(2), DType::kI64), f.Extent(last),
                                    "a write index of TensorScatter");
    at = f.Add(f.Along(first, 0, rank, past.type().dim(0)), at);
  }
  if (mode == "circular") {
    at = f.Make<ten::ModOp>(at, f.Extent(past.type().dim(axis)));
  }
  // But along the axis an update is as large as the cache; one that is not is refused.
  Formula::Dims extents = Formula::DimsOf(past);
  extents[axis] = update.type().dim(axis);
  return f.Return(f.Make<ten::ScatterElementsOp>(past, f.Expand(at, std::move(extents)), update,
                                                 ten::ScatterElementsOp::Attrs{.axis = axis}));
}

// A matrix with ones on a diagonal.
absl::Status ImportEyeLike(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  if (x.type().rank() != 2) return node.Error("EyeLike needs a matrix");
  TENON_ASSIGN_OR_RETURN(const int64_t k, node.Int("k", 0));
  TENON_ASSIGN_OR_RETURN(const int64_t type, node.Int("dtype", 0));
  const DType dtype = type == 0                            ? x.type().dtype()
                      : type == static_cast<int32_t>(type) ? DTypeOf(static_cast<int32_t>(type))
                                                           : DType::kInvalid;
  if (dtype == DType::kInvalid || IsNarrow(dtype))
    return node.Unsupported(fmt::format("EyeLike with the dtype {}", type),
                            "booleans, floats of 16 to 64 bits or integers of 8 to 64 bits");
  Formula f(node);
  const Value ones = f.Expand(f.Scalar(dtype, 1), Formula::DimsOf(x));
  const Value upper = f.Make<ten::TriluOp>(ones, ten::TriluOp::Attrs{.upper = true, .diagonal = k});
  return f.Return(f.Make<ten::TriluOp>(upper, ten::TriluOp::Attrs{.upper = false, .diagonal = k}));
}

}  // namespace tenon::onnx
