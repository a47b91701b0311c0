// Shape functions of the nn dialect.
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {

absl::Status InferNorm(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0);
  if (x.is_tensor()) {
    TENON_RETURN_IF_ERROR(InferAxis(c, "axis", x.rank()).status());
    TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "scale", c.operand(1), x.dims()));
    if (c.segments.size() > 2) {
      TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "bias", c.operand(2), x.dims()));
    }
  }
  return SetResult(results, x);
}

absl::Status InferBatchNorm(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2, 3, 4}));
  const Type x = c.operands[0];
  if (x.is_tensor()) {
    if (x.rank() < 2) return c.Error(fmt::format("x must be of rank 2 or more, not {}", x.rank()));
    for (int i = 1; i < 5; ++i) {
      TENON_RETURN_IF_ERROR(CheckVector(c, c.info.def().operands[i].name, c.operands[i], x.dim(1)));
    }
  }
  return SetResult(results, x);
}

namespace {

// Where an image has its axes: [N, C, spatial…], or [N, spatial…, C] with layout nhwc.
struct ImageAxes {
  int64_t channels, spatial;  // of the first spatial axis
};

ImageAxes InferImageAxes(const InferContext& c, int64_t rank) {
  return InferStr(c, "layout") == "nhwc" ? ImageAxes{rank - 1, 1} : ImageAxes{1, 2};
}

// What convolutions and their transposes have in common.
struct ConvAttrs {
  int64_t spatial, group;
  WindowAttrs window;
};

// REQUIRES: operand 0 is a ranked tensor.
absl::StatusOr<ConvAttrs> InferConvAttrs(const InferContext& c) {
  const int64_t rank = c.operand(0).rank(), group = InferI64(c, "group");
  if (rank < 3) return c.Error(fmt::format("x must be of rank 3 or more, not {}", rank));
  TENON_RETURN_IF_ERROR(CheckRank(c, "w", c.operand(1), rank));
  TENON_ASSIGN_OR_RETURN(const WindowAttrs window, InferWindowAttrs(c, rank - 2));
  if (group < 1) return c.Error(fmt::format("group is {}, expected at least 1", group));
  return ConvAttrs{rank - 2, group, window};
}

// `extent`: of w's axis 0, whose elements are called `what`.
absl::Status CheckGroups(const InferContext& c, DimExpr extent, std::string_view what,
                         int64_t group) {
  if (!extent.is_constant() || extent.constant() % group == 0) return absl::OkStatus();
  return c.Error(fmt::format("{} {} cannot be divided into {} groups", extent.text(), what, group));
}

}  // namespace

absl::StatusOr<DimVector> InferConvDims(const InferContext& c, Type bias) {
  const Type x = c.operand(0), w = c.operand(1);
  TENON_ASSIGN_OR_RETURN(const ConvAttrs conv, InferConvAttrs(c));
  DimVector dims(x.rank(), DimExpr::Unknown(c.context));
  const ImageAxes axes = InferImageAxes(c, x.rank());
  dims[0] = x.dim(0);
  if (!w.is_tensor()) return dims;
  if (ProvablyDifferent(x.dim(axes.channels), w.dim(1) * conv.group)) {
    return c.Error(fmt::format("x has {} channels, but w has {} for each of {} groups",
                               x.dim(axes.channels).text(), w.dim(1).text(), conv.group));
  }
  TENON_RETURN_IF_ERROR(CheckGroups(c, w.dim(0), "filters", conv.group));
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", bias, w.dim(0)));
  dims[axes.channels] = w.dim(0);
  for (int64_t i = 0; i < conv.spatial; ++i) {
    const int64_t axis = axes.spatial + i;
    TENON_ASSIGN_OR_RETURN(dims[axis], WindowExtent(c, conv.window, i, x.dim(axis), w.dim(2 + i)));
  }
  return dims;
}

absl::Status InferConv(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0);
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_ASSIGN_OR_RETURN(const DimVector dims, InferConvDims(c, c.operand(2)));
  if (c.segments.size() > 3) {
    // Kernels read an element for each of the result.
    const Type residual = c.operand(3);
    if (residual && residual.is_tensor()) {
      TENON_RETURN_IF_ERROR(CheckRank(c, "residual", residual, static_cast<int64_t>(dims.size())));
      for (size_t i = 0; i < dims.size(); ++i) {
        TENON_RETURN_IF_ERROR(MergeEqual(c, residual.dim(static_cast<int64_t>(i)), dims[i],
                                         "the residual and the result")
                                  .status());
      }
    }
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferConvTranspose(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), w = c.operand(1), bias = c.operand(2);
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_ASSIGN_OR_RETURN(const ConvAttrs conv, InferConvAttrs(c));
  const int64_t spatial = conv.spatial;
  const WindowAttrs& window = conv.window;
  const std::span<const int64_t> output_padding = InferI64s(c, "output_padding");
  if (static_cast<int64_t>(output_padding.size()) != spatial) {
    return c.Error(
        fmt::format("output_padding has {} elements, expected {}", output_padding.size(), spatial));
  }
  DimVector dims(x.rank(), DimExpr::Unknown(c.context));
  const ImageAxes axes = InferImageAxes(c, x.rank());
  dims[0] = x.dim(0);
  if (!w.is_tensor()) return SetTensor(c, results, x.dtype(), dims);
  if (ProvablyDifferent(x.dim(axes.channels), w.dim(0))) {
    return c.Error(fmt::format("x has {} channels, but w has {}", x.dim(axes.channels).text(),
                               w.dim(0).text()));
  }
  TENON_RETURN_IF_ERROR(CheckGroups(c, w.dim(0), "channels", conv.group));
  const DimExpr filters = w.dim(1) * conv.group;
  dims[axes.channels] = filters;
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", bias, filters));
  for (int64_t i = 0; i < spatial; ++i) {
    if (output_padding[i] < 0) {
      return c.Error(fmt::format("output_padding holds {}, expected 0 or more", output_padding[i]));
    }
    const DimExpr span = (w.dim(2 + i) - 1) * window.dilations[i] + 1;
    const int64_t pads = window.pads[i] + window.pads[spatial + i];
    DimExpr& extent = dims[axes.spatial + i];
    extent = (x.dim(axes.spatial + i) - 1) * window.strides[i] + span + (output_padding[i] - pads);
    if (extent.is_constant() && extent.constant() < 0) {
      return c.Error(fmt::format("spatial axis {} would have {} elements", i, extent.text()));
    }
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferPool(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 3) return c.Error(fmt::format("x must be of rank 3 or more, not {}", x.rank()));
  const int64_t spatial = x.rank() - 2;
  const std::span<const int64_t> kernel = InferI64s(c, "kernel");
  if (static_cast<int64_t>(kernel.size()) != spatial) {
    return c.Error(fmt::format("kernel has {} elements, expected {}", kernel.size(), spatial));
  }
  TENON_ASSIGN_OR_RETURN(const WindowAttrs window, InferWindowAttrs(c, spatial));
  DimVector dims(x.dims().begin(), x.dims().end());
  const int64_t first = InferImageAxes(c, x.rank()).spatial;
  for (int64_t i = 0; i < spatial; ++i) {
    if (kernel[i] < 1)
      return c.Error(fmt::format("kernel holds {}, expected at least 1", kernel[i]));
    TENON_ASSIGN_OR_RETURN(dims[first + i], WindowExtent(c, window, i, x.dim(first + i),
                                                         DimExpr::Constant(c.context, kernel[i])));
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferPoolWithIndices(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(InferPool(c, results));
  return SetResult(results, WithDType(results[0], DType::kI64));
}

absl::Status InferGridSample(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0], grid = c.operands[1];
  if (!x.is_tensor() || !grid.is_tensor()) return SetResult(results, x);
  if (x.rank() < 3) return c.Error(fmt::format("x must be of rank 3 or more, not {}", x.rank()));
  TENON_RETURN_IF_ERROR(CheckRank(c, "grid", grid, x.rank()));
  DimVector dims(x.rank(), DimExpr::Unknown(c.context));
  TENON_ASSIGN_OR_RETURN(dims[0], MergeEqual(c, x.dim(0), grid.dim(0), "the batch of x and grid"));
  dims[1] = x.dim(1);
  for (int64_t i = 2; i < x.rank(); ++i) dims[i] = grid.dim(i - 1);
  TENON_RETURN_IF_ERROR(MergeEqual(c, grid.dim(-1), DimExpr::Constant(c.context, x.rank() - 2),
                                   "the last extent of grid and the number of spatial axes")
                            .status());
  return SetTensor(c, results, x.dtype(), dims);
}

namespace {

// Batch, heads, sequence and head size of an attention operand of rank 3 (heads packed) or 4.
struct Heads {
  DimExpr batch, heads, sequence, size;
};

absl::StatusOr<Heads> SplitHeads(const InferContext& c, std::string_view what, Type type,
                                 int64_t num_heads) {
  if (type.rank() == 4) return Heads{type.dim(0), type.dim(1), type.dim(2), type.dim(3)};
  if (type.rank() != 3) {
    return c.Error(fmt::format("{} must be of rank 3 or 4, not {}", what, type.rank()));
  }
  if (num_heads < 1) {
    return c.Error(fmt::format(
        "{} is of rank 3, which needs a number of heads of at least 1, not {}", what, num_heads));
  }
  const DimExpr packed = type.dim(2);
  if (packed.is_constant() && packed.constant() % num_heads != 0) {
    return c.Error(fmt::format("the last extent {} of {} cannot be divided into {} heads",
                               packed.text(), what, num_heads));
  }
  return Heads{type.dim(0), DimExpr::Constant(c.context, num_heads), type.dim(1),
               FloorDiv(packed, num_heads)};
}

}  // namespace

absl::Status InferRotaryEmbedding(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2}));
  return SetResult(results, c.operands[0]);
}

absl::Status InferNnAttention(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2}));
  const Type q = c.operand(0), k = c.operand(1), v = c.operand(2), mask = c.operand(3);
  if (!q.is_tensor() || !k.is_tensor() || !v.is_tensor()) {
    return SetResult(results, Type::Unranked(c.context, q.dtype()));
  }
  const int64_t kv_heads = InferI64(c, "kv_num_heads");
  TENON_ASSIGN_OR_RETURN(const Heads hq, SplitHeads(c, "q", q, InferI64(c, "q_num_heads")));
  TENON_ASSIGN_OR_RETURN(const Heads hk, SplitHeads(c, "k", k, kv_heads));
  TENON_ASSIGN_OR_RETURN(const Heads hv, SplitHeads(c, "v", v, kv_heads));
  TENON_ASSIGN_OR_RETURN(DimExpr batch, MergeEqual(c, hq.batch, hk.batch, "the batch of q and k"));
  TENON_ASSIGN_OR_RETURN(batch, MergeEqual(c, batch, hv.batch, "the batch of q and v"));
  TENON_RETURN_IF_ERROR(MergeEqual(c, hq.size, hk.size, "the head size of q and k").status());
  TENON_RETURN_IF_ERROR(
      MergeEqual(c, hk.heads, hv.heads, "the number of heads of k and v").status());
  TENON_ASSIGN_OR_RETURN(const DimExpr keys,
                         MergeEqual(c, hk.sequence, hv.sequence, "the sequence of k and v"));
  if (hq.heads.is_constant() && hk.heads.is_constant() &&
      (hk.heads.constant() == 0 || hq.heads.constant() % hk.heads.constant() != 0)) {
    return c.Error(
        fmt::format("{} heads of q cannot share {} heads of k", hq.heads.text(), hk.heads.text()));
  }
  if (InferDimList(c, "causal_offset").size() > 1) {
    return c.Error("causal_offset has several elements, expected one extent or none");
  }
  const DimExpr scores[] = {batch, hq.heads, hq.sequence, keys};
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "mask", mask, scores));
  if (q.rank() == 4) {
    const DimExpr dims[] = {batch, hq.heads, hq.sequence, hv.size};
    return SetTensor(c, results, q.dtype(), dims);
  }
  const DimExpr dims[] = {batch, hq.sequence, hq.heads * hv.size};
  return SetTensor(c, results, q.dtype(), dims);
}

absl::Status InferTreeEnsemble(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), branches = c.operand(1), splits = c.operand(2);
  const Type targets = c.operand(4), weights = c.operand(5);
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 2, 5}));
  TENON_RETURN_IF_ERROR(CheckRank(c, "x", x, 2));
  TENON_RETURN_IF_ERROR(CheckRank(c, "branches", branches, 2));
  constexpr std::pair<int, const char*> kVectors[] = {
      {2, "splits"}, {3, "leaves"}, {4, "targets"}, {5, "weights"}, {6, "roots"}};
  for (const auto& [operand, name] : kVectors) {
    TENON_RETURN_IF_ERROR(CheckRank(c, name, c.operand(operand), 1));
  }
  if (branches.is_tensor()) {
    const DimExpr five = DimExpr::Constant(c.context, 5);
    TENON_RETURN_IF_ERROR(MergeEqual(c, branches.dim(1), five, "extent 1 of branches").status());
    TENON_RETURN_IF_ERROR(CheckVector(c, "splits", splits, branches.dim(0)));
  }
  if (weights.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckVector(c, "targets", targets, weights.dim(0)));
  }
  const int64_t count = InferI64(c, "num_targets");
  if (count < 1) return c.Error(fmt::format("num_targets is {}, expected 1 or more", count));
  const DimExpr dims[] = {x.is_tensor() ? x.dim(0) : DimExpr::Unknown(c.context),
                          DimExpr::Constant(c.context, count)};
  return SetTensor(c, results, x.dtype(), dims);
}

}  // namespace tenon
