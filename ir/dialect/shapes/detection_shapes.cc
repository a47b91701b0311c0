// Shape functions of object detection, and of convolutions with offsets.
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// More samples of one element take longer than anybody waits.
constexpr int64_t kMaxSamplingRatio = 4096;

// Returns an error if extent `axis` of an operand, of known rank, differs from `expected`.
absl::Status CheckExtent(const InferContext& c, std::string_view what, Type type, int64_t axis,
                         DimExpr expected) {
  if (!type.is_tensor()) return absl::OkStatus();
  return MergeEqual(c, type.dim(axis), expected, fmt::format("extent {} of {}", axis, what))
      .status();
}

}  // namespace

absl::Status InferNonMaxSuppression(const InferContext& c, ResultTypes& results) {
  const Type boxes = c.operand(0), scores = c.operand(1);
  TENON_RETURN_IF_ERROR(CheckRank(c, "boxes", boxes, 3));
  TENON_RETURN_IF_ERROR(CheckRank(c, "scores", scores, 3));
  TENON_RETURN_IF_ERROR(CheckExtent(c, "boxes", boxes, 2, DimExpr::Constant(c.context, 4)));
  if (boxes.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckExtent(c, "scores", scores, 0, boxes.dim(0)));
    TENON_RETURN_IF_ERROR(CheckExtent(c, "scores", scores, 2, boxes.dim(1)));
  }
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "max_output", c.operand(2)));
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "iou_threshold", c.operand(3)));
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "score_threshold", c.operand(4)));
  const DimExpr dims[] = {DimExpr::Unknown(c.context), DimExpr::Constant(c.context, 3)};
  return SetTensor(c, results, DType::kI64, dims);
}

absl::Status InferRoiAlign(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), rois = c.operand(1), images = c.operand(2);
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1}));
  TENON_RETURN_IF_ERROR(CheckRank(c, "x", x, 4));
  TENON_RETURN_IF_ERROR(CheckRank(c, "rois", rois, 2));
  TENON_RETURN_IF_ERROR(CheckExtent(c, "rois", rois, 1, DimExpr::Constant(c.context, 4)));
  const int64_t ratio = InferI64(c, "sampling_ratio");
  if (ratio < 0 || ratio > kMaxSamplingRatio) {
    return c.Error(fmt::format("sampling_ratio is {}, expected 0 to {}", ratio, kMaxSamplingRatio));
  }
  DimVector dims(4, DimExpr::Unknown(c.context));
  if (rois.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckVector(c, "batch_indices", images, rois.dim(0)));
    dims[0] = rois.dim(0);
  }
  if (x.is_tensor()) dims[1] = x.dim(1);
  int64_t i = 2;
  for (const char* name : {"output_height", "output_width"}) {
    const int64_t extent = InferI64(c, name);
    if (extent < 1) return c.Error(fmt::format("{} is {}, expected 1 or more", name, extent));
    dims[i++] = DimExpr::Constant(c.context, extent);
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferDeformConv(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), w = c.operand(1), offset = c.operand(2), mask = c.operand(4);
  if (!x.is_tensor()) return SetResult(results, x);
  const int64_t rank = x.rank(), spatial = rank - 2;
  if (spatial < 1 || spatial > 3) {
    return c.Error(fmt::format("x must be of rank 3, 4 or 5, not {}", rank));
  }
  for (const auto& [what, type] : {std::pair("w", w), std::pair("offset", offset)}) {
    TENON_RETURN_IF_ERROR(CheckRank(c, what, type, rank));
  }
  if (mask) TENON_RETURN_IF_ERROR(CheckRank(c, "mask", mask, rank));
  TENON_ASSIGN_OR_RETURN(const WindowAttrs window, InferWindowAttrs(c, spatial));
  const int64_t group = InferI64(c, "group"), offset_group = InferI64(c, "offset_group");
  if (group < 1 || offset_group < 1) {
    return c.Error(
        fmt::format("group is {} and offset_group {}, expected at least 1", group, offset_group));
  }
  DimVector dims(rank, DimExpr::Unknown(c.context));
  dims[0] = x.dim(0);
  if (!w.is_tensor()) return SetTensor(c, results, x.dtype(), dims);
  dims[1] = w.dim(0);
  if (ProvablyDifferent(x.dim(1), w.dim(1) * group)) {
    return c.Error(fmt::format("x has {} channels, but w has {} for each of {} groups",
                               x.dim(1).text(), w.dim(1).text(), group));
  }
  for (const auto& [extent, groups, what] :
       {std::tuple(w.dim(0), group, "filters"), std::tuple(x.dim(1), offset_group, "channels")}) {
    if (extent.is_constant() && extent.constant() % groups != 0) {
      return c.Error(
          fmt::format("{} {} cannot be divided into {} groups", extent.text(), what, groups));
    }
  }
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", c.operand(3), w.dim(0)));
  for (int64_t i = 0; i < spatial; ++i) {
    TENON_ASSIGN_OR_RETURN(dims[2 + i], WindowExtent(c, window, i, x.dim(2 + i), w.dim(2 + i)));
  }
  const DimExpr masks = Product(c.context, w.dims().subspan(2)) * offset_group;
  for (const auto& [what, type, rows] :
       {std::tuple("offset", offset, masks * spatial), std::tuple("mask", mask, masks)}) {
    if (!type) continue;
    TENON_RETURN_IF_ERROR(CheckExtent(c, what, type, 0, x.dim(0)));
    TENON_RETURN_IF_ERROR(CheckExtent(c, what, type, 1, rows));
    for (int64_t i = 2; i < rank; ++i) {
      TENON_RETURN_IF_ERROR(CheckExtent(c, what, type, i, dims[i]));
    }
  }
  return SetTensor(c, results, x.dtype(), dims);
}

}  // namespace tenon
