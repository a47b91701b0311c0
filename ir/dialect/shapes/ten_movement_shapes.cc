// Shape functions of ten's shape and data-movement ops.
#include <algorithm>
#include <cmath>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/pad_value.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// Most extents that a shape vector may have; more is a broken model.
constexpr int64_t kMostRunTimeAxes = 64;

// Length of a shape operand, if its type tells; -1 otherwise.
int64_t VectorLength(Type type) {
  if (!type.is_tensor() || type.rank() != 1 || !type.dim(0).is_constant()) return -1;
  const int64_t n = type.dim(0).constant();
  return n <= kMostRunTimeAxes ? n : -1;
}

DimVector CopyDims(Type type) { return DimVector(type.dims().begin(), type.dims().end()); }

absl::Status CheckCount(const InferContext& c, std::string_view name, size_t found,
                        size_t expected) {
  if (found == expected) return absl::OkStatus();
  return c.Error(fmt::format("{} has {} elements, expected {}", name, found, expected));
}

absl::Status CheckNonNegative(const InferContext& c, std::string_view name,
                              std::span<const DimExpr> dims) {
  for (DimExpr d : dims) {
    if (d.is_constant() && d.constant() < 0) {
      return c.Error(fmt::format("{} holds {}, expected extents >= 0", name, d.text()));
    }
  }
  return absl::OkStatus();
}

// Like InferI64s, of floats.
std::span<const double> Floats(const InferContext& c, std::string_view name) {
  const Attribute a = InferAttr(c, name);
  if (!a || a.kind() != Attribute::Kind::kDenseArray || !IsFloat(a.type().dtype())) return {};
  return a.floats();
}

// One scale for each of the sizes, from which `x` (perhaps unranked) is resized to these: rounding
// takes them less than one element apart.
absl::Status CheckScales(const InferContext& c, Type x, std::span<const DimExpr> sizes) {
  const std::span<const double> scales = Floats(c, "scales");
  if (scales.empty()) return absl::OkStatus();
  TENON_RETURN_IF_ERROR(CheckCount(c, "scales", scales.size(), sizes.size()));
  for (size_t axis = 0; axis < scales.size(); ++axis) {
    const double scale = scales[axis];
    if (!(scale > 0) || !std::isfinite(scale)) {
      return c.Error(
          fmt::format("scales holds {}, expected finite numbers > 0", static_cast<float>(scale)));
    }
    if (!x.is_tensor()) continue;
    const DimExpr in = x.dim(static_cast<int64_t>(axis)), out = sizes[axis];
    if (!in.is_constant() || !out.is_constant()) continue;
    const double exact = static_cast<double>(in.constant()) * scale;
    const double size = static_cast<double>(out.constant());
    // Products are rounded to f32, too.
    if (std::fabs(size - exact) > 1 + 1e-6 * exact) {
      return c.Error(fmt::format("axis {} of {} elements, scaled by {}, cannot have {} elements",
                                 axis, in.text(), static_cast<float>(scale), out.text()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InferShapeOf(const InferContext& c, ResultTypes& results) {
  const int64_t start = InferI64(c, "start"), end = InferI64(c, "end");
  const Type x = c.operands[0];
  const int64_t rank = x.is_tensor() ? x.rank() : kMostRunTimeAxes;
  if (start < 0 || start > end || end > rank) {
    return c.Error(fmt::format("start is {} and end is {}, expected 0 <= start <= end <= {}", start,
                               end, rank));
  }
  const DimExpr extent = DimExpr::Constant(c.context, end - start);
  return SetTensor(c, results, DType::kI64, {&extent, 1});
}

absl::Status InferReshape(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> shape = InferDimList(c, "shape");
  TENON_RETURN_IF_ERROR(CheckNonNegative(c, "shape", shape));
  if (x.is_tensor() && ProvablyDifferent(Product(c.context, x.dims()), Product(c.context, shape))) {
    return c.Error(fmt::format("{} and {} differ in their number of elements, expected the same",
                               DimsText(x.dims()), DimsText(shape)));
  }
  return SetTensor(c, results, x.dtype(), shape);
}

absl::Status InferDynamicReshape(const InferContext& c, ResultTypes& results) {
  const DType dtype = c.operands[0].dtype();
  TENON_RETURN_IF_ERROR(CheckRank(c, "shape", c.operands[1], 1));
  const int64_t rank = VectorLength(c.operands[1]);
  if (rank < 0) return SetResult(results, Type::Unranked(c.context, dtype));
  return SetTensor(c, results, dtype, DimVector(rank, DimExpr::Unknown(c.context)));
}

absl::Status InferExpand(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> shape = InferDimList(c, "shape");
  TENON_RETURN_IF_ERROR(CheckNonNegative(c, "shape", shape));
  if (!x.is_tensor()) return SetResult(results, x);
  DimVector dims = CopyDims(x);
  TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, shape));
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferDynamicExpand(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  TENON_RETURN_IF_ERROR(CheckRank(c, "shape", c.operands[1], 1));
  const int64_t length = VectorLength(c.operands[1]);
  if (!x.is_tensor() || length < 0) {
    return SetResult(results, Type::Unranked(c.context, x.dtype()));
  }
  DimVector dims(std::max(length, x.rank()), DimExpr::Unknown(c.context));
  for (int64_t i = 1; i <= x.rank(); ++i) {
    const DimExpr d = x.dim(-i);
    if (i > length || (d.is_constant() && d.constant() != 1)) dims[dims.size() - i] = d;
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferTranspose(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_ASSIGN_OR_RETURN(const DimVector dims, PermutedDims(c, x.dims()));
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferConcat(const InferContext& c, ResultTypes& results) {
  if (c.operands.empty()) return c.Error("expected at least one operand");
  const DType dtype = c.operands[0].dtype();
  for (Type input : c.operands) {
    if (!input.is_tensor()) return SetResult(results, Type::Unranked(c.context, dtype));
  }
  DimVector dims = CopyDims(c.operands[0]);
  TENON_ASSIGN_OR_RETURN(const int64_t axis,
                         InferAxis(c, "axis", static_cast<int64_t>(dims.size())));
  for (size_t i = 1; i < c.operands.size(); ++i) {
    const Type input = c.operands[i];
    TENON_RETURN_IF_ERROR(
        CheckRank(c, fmt::format("operand {}", i), input, static_cast<int64_t>(dims.size())));
    for (int64_t k = 0; k < input.rank(); ++k) {
      if (k == axis) {
        dims[k] = dims[k] + input.dim(k);
        continue;
      }
      TENON_ASSIGN_OR_RETURN(dims[k], MergeEqual(c, dims[k], input.dim(k),
                                                 fmt::format("extent {} of operand {}", k, i)));
    }
  }
  return SetTensor(c, results, dtype, dims);
}

absl::Status InferSlice(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const int64_t> axes = InferI64s(c, "axes"), steps = InferI64s(c, "steps");
  const std::span<const DimExpr> starts = InferDimList(c, "starts"), ends = InferDimList(c, "ends");
  TENON_RETURN_IF_ERROR(CheckCount(c, "starts", starts.size(), axes.size()));
  TENON_RETURN_IF_ERROR(CheckCount(c, "ends", ends.size(), axes.size()));
  TENON_RETURN_IF_ERROR(CheckCount(c, "steps", steps.size(), axes.size()));
  if (std::find(steps.begin(), steps.end(), 0) != steps.end()) {
    return c.Error("steps holds 0, expected steps other than 0");
  }
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_RETURN_IF_ERROR(CheckAxes(c, "axes", axes, x.rank()));
  DimVector dims = CopyDims(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = SliceExtent(dims[axes[i]], starts[i], ends[i], steps[i]);
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferDynamicSlice(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), starts = c.operand(1), ends = c.operand(2), axes = c.operand(3);
  TENON_RETURN_IF_ERROR(CheckRank(c, "starts", starts, 1));
  TENON_RETURN_IF_ERROR(CheckRank(c, "ends", ends, 1));
  if (axes) TENON_RETURN_IF_ERROR(CheckRank(c, "axes", axes, 1));
  if (Type steps = c.operand(4)) TENON_RETURN_IF_ERROR(CheckRank(c, "steps", steps, 1));
  if (!x.is_tensor()) return SetResult(results, x);
  DimVector dims = CopyDims(x);
  const int64_t length = VectorLength(starts);
  // Without an axes operand the first axes are sliced; with one, it may be any of them.
  const int64_t sliced = axes || length < 0 ? x.rank() : length;
  if (sliced > x.rank()) {
    return c.Error(fmt::format("starts has {} elements, but x has rank {}", sliced, x.rank()));
  }
  for (int64_t i = 0; i < sliced; ++i) dims[i] = DimExpr::Unknown(c.context);
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferSplit(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> sizes = InferDimList(c, "sizes");
  if (sizes.empty()) return c.Error("sizes is empty, expected one or more extents");
  TENON_RETURN_IF_ERROR(CheckNonNegative(c, "sizes", sizes));
  if (!x.is_tensor()) {
    results.insert(results.end(), sizes.size(), x);
    return absl::OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank()));
  DimExpr total = DimExpr::Constant(c.context, 0);
  for (DimExpr size : sizes) {
    const DimExpr extent = x.dim(axis);
    if (size.is_constant() && extent.is_constant() && size.constant() > extent.constant()) {
      return c.Error(fmt::format("sizes {} hold {}, expected at most the {} elements of axis {}",
                                 DimsText(sizes), size.text(), extent.text(), axis));
    }
    total = total + size;
  }
  if (ProvablyDifferent(total, x.dim(axis))) {
    return c.Error(fmt::format("sizes {} add up to {}, but axis {} has {} elements, expected all",
                               DimsText(sizes), total.text(), axis, x.dim(axis).text()));
  }
  DimVector dims = CopyDims(x);
  for (DimExpr size : sizes) {
    dims[axis] = size;
    results.push_back(Type::Tensor(c.context, x.dtype(), dims));
  }
  return absl::OkStatus();
}

absl::Status InferGather(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0], indices = c.operands[1];
  if (!x.is_tensor() || !indices.is_tensor()) {
    return SetResult(results, Type::Unranked(c.context, x.dtype()));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank()));
  DimVector dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferGatherElements(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0], indices = c.operands[1];
  if (x.is_tensor()) {
    TENON_RETURN_IF_ERROR(InferAxis(c, "axis", x.rank()).status());
    TENON_RETURN_IF_ERROR(CheckRank(c, "indices", indices, x.rank()));
  }
  return SetResult(results, WithDType(indices, x.dtype()));
}

namespace {

// Index tuples in the last axis of `indices` (see ONNX GatherND): the shape of what they pick from
// x.
absl::StatusOr<std::optional<DimVector>> PickedShape(const InferContext& c, Type x, Type indices,
                                                     int64_t batch_dims) {
  if (!x.is_tensor() || !indices.is_tensor()) return std::nullopt;
  if (x.rank() == 0 || indices.rank() == 0) {
    return c.Error("x and indices must have rank 1 or more, not 0");
  }
  if (batch_dims < 0 || batch_dims >= std::min(x.rank(), indices.rank())) {
    return c.Error(fmt::format("batch_dims is {}, expected 0 <= batch_dims < {}", batch_dims,
                               std::min(x.rank(), indices.rank())));
  }
  if (!indices.dim(-1).is_constant()) return std::nullopt;
  const int64_t depth = indices.dim(-1).constant();
  if (depth < 1 || depth > x.rank() - batch_dims) {
    return c.Error(fmt::format("the last extent of indices is {}, expected 1 to {}", depth,
                               x.rank() - batch_dims));
  }
  DimVector dims(indices.dims().begin(), indices.dims().end() - 1);
  for (int64_t i = 0; i < batch_dims; ++i) {
    TENON_ASSIGN_OR_RETURN(dims[i], MergeEqual(c, x.dim(i), indices.dim(i),
                                               fmt::format("batch extent {} of x and indices", i)));
  }
  dims.insert(dims.end(), x.dims().begin() + batch_dims + depth, x.dims().end());
  return dims;
}

}  // namespace

absl::Status InferGatherNd(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  TENON_ASSIGN_OR_RETURN(const std::optional<DimVector> dims,
                         PickedShape(c, x, c.operands[1], InferI64(c, "batch_dims")));
  if (!dims) return SetResult(results, Type::Unranked(c.context, x.dtype()));
  return SetTensor(c, results, x.dtype(), *dims);
}

absl::Status InferScatterNd(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0], updates = c.operands[2];
  TENON_RETURN_IF_ERROR(CheckReduction(c, x.dtype()));
  if (x.dtype() != updates.dtype()) {
    return c.Error(fmt::format("x and updates must have one element type, not {} and {}",
                               Name(x.dtype()), Name(updates.dtype())));
  }
  TENON_ASSIGN_OR_RETURN(const std::optional<DimVector> dims, PickedShape(c, x, c.operands[1], 0));
  if (dims && updates.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckRank(c, "updates", updates, static_cast<int64_t>(dims->size())));
    for (size_t i = 0; i < dims->size(); ++i) {
      TENON_RETURN_IF_ERROR(
          MergeEqual(c, updates.dim(i), (*dims)[i], fmt::format("extent {} of updates", i))
              .status());
    }
  }
  return SetResult(results, x);
}

absl::Status InferPad(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> pads = InferDimList(c, "pads");
  TENON_RETURN_IF_ERROR(CheckPadValue(c, x, c.operand(1)));
  if (!x.is_tensor()) return SetResult(results, x);
  const size_t rank = x.rank();
  TENON_RETURN_IF_ERROR(CheckCount(c, "pads", pads.size(), 2 * rank));
  DimVector dims = CopyDims(x);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = dims[i] + pads[i] + pads[rank + i];
    if (dims[i].is_constant() && dims[i].constant() < 0) {
      return c.Error(fmt::format("pads crop more from axis {} than its {} elements (expected less)",
                                 i, x.dim(static_cast<int64_t>(i)).text()));
    }
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferTile(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> repeats = InferDimList(c, "repeats");
  TENON_RETURN_IF_ERROR(CheckNonNegative(c, "repeats", repeats));
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_RETURN_IF_ERROR(CheckCount(c, "repeats", repeats.size(), x.rank()));
  DimVector dims = CopyDims(x);
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] * repeats[i];
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferDynamicTile(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, x);
  if (const int64_t length = VectorLength(c.operands[1]); length >= 0) {
    TENON_RETURN_IF_ERROR(CheckCount(c, "repeats", length, x.rank()));
  }
  return SetTensor(c, results, x.dtype(), DimVector(x.rank(), DimExpr::Unknown(c.context)));
}

absl::Status InferRange(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckRank(c, "start", c.operands[0], 0));
  TENON_RETURN_IF_ERROR(CheckRank(c, "limit", c.operands[1], 0));
  TENON_RETURN_IF_ERROR(CheckRank(c, "delta", c.operands[2], 0));
  const DimExpr extent = DimExpr::Unknown(c.context);
  return SetTensor(c, results, c.operands[0].dtype(), {&extent, 1});
}

absl::Status InferResize(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const DimExpr> sizes = InferDimList(c, "sizes");
  TENON_RETURN_IF_ERROR(CheckNonNegative(c, "sizes", sizes));
  if (x.is_tensor()) TENON_RETURN_IF_ERROR(CheckCount(c, "sizes", sizes.size(), x.rank()));
  TENON_RETURN_IF_ERROR(CheckScales(c, x, sizes));
  if (const std::span<const double> roi = Floats(c, "roi"); !roi.empty()) {
    TENON_RETURN_IF_ERROR(CheckCount(c, "roi", roi.size(), 2 * sizes.size()));
  }
  return SetTensor(c, results, x.dtype(), sizes);
}

}  // namespace tenon
