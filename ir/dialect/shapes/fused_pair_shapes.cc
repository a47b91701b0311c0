// Shape functions of fused ops that do what several others do one after the other.
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// Scale and bias of a norm over `extent` elements: the operand groups `scale` and `scale` + 1.
absl::Status CheckNormFactors(const InferContext& c, int scale, DimExpr extent) {
  TENON_RETURN_IF_ERROR(CheckVector(c, "the norm's scale", c.operand(scale), extent));
  TENON_RETURN_IF_ERROR(CheckVector(c, "the norm's bias", c.operand(scale + 1), extent));
  if (c.operand(scale + 1) && InferStr(c, "norm") == "rms")
    return c.Error("only a layer norm has a bias");
  return absl::OkStatus();
}

DimExpr LastOf(const InferContext& c, Type type) {
  return type.is_tensor() ? type.dim(-1) : DimExpr::Unknown(c.context);
}

}  // namespace

absl::Status InferLinearNorm(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(InferFusedLinear(c, results));
  TENON_RETURN_IF_ERROR(CheckNormFactors(c, 4, LastOf(c, results[0])));
  return SetResult(results, Type(results[0]));
}

absl::Status InferNormLinear(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(InferFusedLinear(c, results));
  return CheckNormFactors(c, 4, LastOf(c, c.operand(0)));
}

absl::Status InferEmbeddingPool(const InferContext& c, ResultTypes& results) {
  const Type ids = c.operand(0), table = c.operand(1);
  TENON_RETURN_IF_ERROR(CheckRank(c, "table", table, 2));
  if (!ids.is_tensor()) return SetResult(results, Type::Unranked(c.context, table.dtype()));
  TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", ids.rank()));
  DimVector dims(ids.dims().begin(), ids.dims().end());
  dims.erase(dims.begin() + axis);
  dims.push_back(LastOf(c, table));
  return SetTensor(c, results, table.dtype(), dims);
}

absl::Status InferSquaredMatSub(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), matrices[] = {c.operand(1), c.operand(2)};
  for (const Type matrix : matrices) TENON_RETURN_IF_ERROR(CheckRank(c, "a matrix", matrix, 2));
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  const bool transposed = InferBool(c, "transpose_w");
  DimExpr depth = x.dim(-1), columns = DimExpr::Unknown(c.context);
  for (const Type matrix : matrices) {
    if (!matrix.is_tensor()) continue;
    TENON_ASSIGN_OR_RETURN(depth,
                           MergeEqual(c, depth, matrix.dim(transposed ? 1 : 0),
                                      "the number of columns that x has and a matrix takes"));
    TENON_ASSIGN_OR_RETURN(columns, MergeEqual(c, columns, matrix.dim(transposed ? 0 : 1),
                                               "the number of columns of the matrices"));
  }
  DimVector dims(x.dims().begin(), x.dims().end());
  dims.back() = columns;
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferLinearChain(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0);
  const Type residual = c.operand(1);
  const std::span<const Type> parameters = c.operand_group(2);
  const bool biased = InferBool(c, "biased");
  if (parameters.empty()) return c.Error("there must be at least one layer");
  if (biased && parameters.size() % 2 != 0) return c.Error("matrices and biases come in pairs");
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  DimVector dims(x.dims().begin(), x.dims().end());
  const bool transposed = InferBool(c, "transpose_w");
  const size_t step = biased ? 2 : 1;
  for (size_t i = 0; i < parameters.size(); i += step) {
    const Type w = parameters[i];
    TENON_RETURN_IF_ERROR(CheckRank(c, "w", w, 2));
    DimExpr columns = DimExpr::Unknown(c.context);
    if (w.is_tensor()) {
      columns = w.dim(transposed ? 0 : 1);
      TENON_RETURN_IF_ERROR(
          MergeEqual(c, dims.back(), w.dim(transposed ? 1 : 0),
                     fmt::format("the number of columns that layer {} takes", i / step))
              .status());
    }
    dims.back() = columns;
    if (biased) TENON_RETURN_IF_ERROR(CheckVector(c, "bias", parameters[i + 1], columns));
  }
  if (residual) TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "residual", residual, dims));
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferMovedNorm(const InferContext& c, ResultTypes& results) {
  constexpr int kOffset = 5;
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 2, 3, 4, kOffset}));
  const Type x = c.operand(0), index = c.operand(1), skip = c.operand(2);
  const bool permutes = !InferI64s(c, "perm").empty();
  if (permutes == static_cast<bool>(index))
    return c.Error("expected an index or perm, and not both");
  if (c.operand(kOffset) && !skip) return c.Error("an offset needs a skip");
  const Type unranked = Type::Unranked(c.context, x.dtype());
  if (!x.is_tensor()) {
    results.insert(results.end(), skip ? 2 : 1, unranked);
    return absl::OkStatus();
  }
  if (x.rank() < 2) return c.Error("x must be of rank 2 or more");
  DimVector sum(x.dims().begin(), x.dims().end());
  if (skip && skip.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckRank(c, "skip", skip, x.rank()));
    for (size_t i = 0; i < sum.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(sum[i], MergeEqual(c, sum[i], skip.dim(static_cast<int64_t>(i)),
                                                "an extent of x and skip"));
    }
  }
  TENON_RETURN_IF_ERROR(CheckNormFactors(c, 3, sum.back()));
  TENON_RETURN_IF_ERROR(CheckVector(c, "the offset", c.operand(kOffset), sum.back()));
  if (permutes) {
    TENON_ASSIGN_OR_RETURN(const DimVector dims, PermutedDims(c, sum));
    if (InferI64s(c, "perm").back() + 1 != x.rank()) return c.Error("perm moves the last axis");
    TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), dims));
  } else {
    TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank() - 1));
    if (!index.is_tensor()) {
      results.push_back(unranked);
    } else {
      DimVector dims(sum.begin(), sum.begin() + axis);
      dims.insert(dims.end(), index.dims().begin(), index.dims().end());
      dims.insert(dims.end(), sum.begin() + axis + 1, sum.end());
      TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), dims));
    }
  }
  return skip ? SetTensor(c, results, x.dtype(), sum) : absl::OkStatus();
}

absl::Status InferAddTranspose(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), y = c.operand(1);
  if (!x.is_tensor() || !y.is_tensor())
    return SetResult(results, Type::Unranked(c.context, x.dtype()));
  DimVector sum(x.dims().begin(), x.dims().end());
  TENON_RETURN_IF_ERROR(BroadcastInto(c, sum, y.dims()));
  TENON_ASSIGN_OR_RETURN(const DimVector dims, PermutedDims(c, sum));
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferTransposeConcat(const InferContext& c, ResultTypes& results) {
  if (c.operands.empty()) return c.Error("expected at least one operand");
  const int64_t axis = InferI64(c, "axis");
  DimExpr rows = DimExpr::Unknown(c.context), columns = DimExpr::Constant(c.context, 0);
  for (Type input : c.operands) {
    if (!input.is_tensor()) return SetResult(results, Type::Unranked(c.context, input.dtype()));
    TENON_ASSIGN_OR_RETURN(const DimVector dims, PermutedDims(c, input.dims()));
    if (axis < 0 || axis > input.rank()) {
      return c.Error(fmt::format("axis is {}, expected 0 to {}", axis, input.rank()));
    }
    DimExpr outer = DimExpr::Constant(c.context, 1), inner = outer;
    for (size_t i = 0; i < dims.size(); ++i) {
      DimExpr& part = static_cast<int64_t>(i) < axis ? outer : inner;
      part = part * dims[i];
    }
    TENON_ASSIGN_OR_RETURN(rows, MergeEqual(c, rows, outer, "the number of rows"));
    columns = columns + inner;
  }
  const DimExpr dims[] = {rows, columns};
  return SetTensor(c, results, c.operands[0].dtype(), dims);
}

absl::Status InferFusedGroupNorm(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), skip = c.operand(1);
  const int64_t groups = InferI64(c, "groups");
  if (groups < 1) return c.Error(fmt::format("groups is {}, expected 1 or more", groups));
  if (!x.is_tensor()) {
    results.insert(results.end(), skip ? 2 : 1, x);
    return absl::OkStatus();
  }
  if (x.rank() < 2) return c.Error("x must be of rank 2 or more");
  DimVector dims(x.dims().begin(), x.dims().end());
  if (skip && skip.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckRank(c, "skip", skip, x.rank()));
    for (size_t i = 0; i < dims.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(dims[i], MergeEqual(c, dims[i], skip.dim(static_cast<int64_t>(i)),
                                                 "an extent of x and skip"));
    }
  }
  if (dims[1].is_constant() && dims[1].constant() % groups != 0) {
    return c.Error(fmt::format("{} channels are not {} equal groups", dims[1].text(), groups));
  }
  TENON_RETURN_IF_ERROR(CheckVector(c, "scale", c.operand(2), dims[1]));
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", c.operand(3), dims[1]));
  results.insert(results.end(), skip ? 2 : 1, Type::Tensor(c.context, x.dtype(), dims));
  return absl::OkStatus();
}

}  // namespace tenon
