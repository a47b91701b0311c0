// What shape functions are written with: attributes by name, axis checks, broadcasting, windows.
#ifndef TENON_IR_DIALECT_SHAPE_SUPPORT_H_
#define TENON_IR_DIALECT_SHAPE_SUPPORT_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/op_info.h"

namespace tenon {

using DimVector = absl::InlinedVector<DimExpr, 6>;

// "[B, 3, S]", for messages.
std::string DimsText(std::span<const DimExpr> dims);

// Inherent attributes by name. Absent ones, and ones of another kind, read as 0, false or empty.
Attribute InferAttr(const InferContext& c, std::string_view name);
int64_t InferI64(const InferContext& c, std::string_view name);
bool InferBool(const InferContext& c, std::string_view name);
std::string_view InferStr(const InferContext& c, std::string_view name);
std::span<const int64_t> InferI64s(const InferContext& c, std::string_view name);
std::span<const DimExpr> InferDimList(const InferContext& c, std::string_view name);

// The value of attribute `name`, which must lie in [0, rank).
absl::StatusOr<int64_t> InferAxis(const InferContext& c, std::string_view name, int64_t rank);
// Sorted, distinct axes in [0, rank).
absl::Status CheckAxes(const InferContext& c, std::string_view name, std::span<const int64_t> axes,
                       int64_t rank);

// Can a and b never be equal?
bool ProvablyDifferent(DimExpr a, DimExpr b);
// One extent that two operands must share: the more precise of both. The error says `what` differs.
absl::StatusOr<DimExpr> MergeEqual(const InferContext& c, DimExpr a, DimExpr b,
                                   std::string_view what);

// Numpy broadcasting of `b` into `a`. The error names both shapes.
absl::Status BroadcastInto(const InferContext& c, DimVector& a, std::span<const DimExpr> b);
// Error unless `from` broadcasts to exactly `to`, as far as can be told.
absl::Status CheckBroadcastsTo(const InferContext& c, std::string_view what, Type from,
                               std::span<const DimExpr> to);
// Error unless `type` (null: absent, fine) may be a vector of extent `extent`.
absl::Status CheckVector(const InferContext& c, std::string_view what, Type type, DimExpr extent);
// Error unless `type` is unranked or of rank `rank`.
absl::Status CheckRank(const InferContext& c, std::string_view what, Type type, int64_t rank);
// Error unless the operands of these groups (absent ones are fine) have one element type.
absl::Status CheckOneDType(const InferContext& c, std::initializer_list<int> groups);

// Number of elements of a window [start, end) with a step along an extent: numpy's clamping.
// Constant negative bounds count from the end; Unknown if a symbolic bound may be negative.
DimExpr SliceExtent(DimExpr extent, DimExpr start, DimExpr end, int64_t step);

// Spatial extents of convolution and pooling.
struct WindowAttrs {
  std::span<const int64_t> strides, pads, dilations;
  std::string_view auto_pad;
  bool ceil_mode = false;
};
// Reads strides, pads, dilations, auto_pad, ceil_mode and checks their lengths for `spatial` axes.
absl::StatusOr<WindowAttrs> InferWindowAttrs(const InferContext& c, int64_t spatial);
absl::StatusOr<DimExpr> WindowExtent(const InferContext& c, const WindowAttrs& w, int64_t axis,
                                     DimExpr extent, DimExpr kernel);

// Shorthands for the end of a shape function.
absl::Status SetResult(ResultTypes& results, Type type);
absl::Status SetTensor(const InferContext& c, ResultTypes& results, DType dtype,
                       std::span<const DimExpr> dims);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_SUPPORT_H_
