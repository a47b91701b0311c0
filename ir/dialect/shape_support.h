// Helpers for shape functions: attributes by name, axis checks, broadcasting, windows. Errors are
// InvalidArgument with the name of the op (InferContext::Error).
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

// Returns text for messages, such as "[B, 3, S]".
std::string DimsText(std::span<const DimExpr> dims);

// Inherent attributes by name. An absent attribute, or one of another kind, reads as null, 0, false
// or empty.
Attribute InferAttr(const InferContext& c, std::string_view name);
int64_t InferI64(const InferContext& c, std::string_view name);
bool InferBool(const InferContext& c, std::string_view name);
std::string_view InferStr(const InferContext& c, std::string_view name);
std::span<const int64_t> InferI64s(const InferContext& c, std::string_view name);
std::span<const DimExpr> InferDimList(const InferContext& c, std::string_view name);

// Returns the attribute `name`; an error unless it lies in [0, rank).
absl::StatusOr<int64_t> InferAxis(const InferContext& c, std::string_view name, int64_t rank);
// Returns an error unless `axes` are sorted, distinct and in [0, rank). `name` is for the message.
absl::Status CheckAxes(const InferContext& c, std::string_view name, std::span<const int64_t> axes,
                       int64_t rank);

// True if the extents differ for all values of the symbols.
bool ProvablyDifferent(DimExpr a, DimExpr b);
// Returns the more precise of two extents that must be equal. An error, which names `what`, if they
// provably differ.
absl::StatusOr<DimExpr> MergeEqual(const InferContext& c, DimExpr a, DimExpr b,
                                   std::string_view what);

// Broadcasts `b` into `a` as in numpy. An error, which names both shapes, if that is impossible.
absl::Status BroadcastInto(const InferContext& c, DimVector& a, std::span<const DimExpr> b);
// Returns an error if `from` provably does not broadcast to the shape `to`.
absl::Status CheckBroadcastsTo(const InferContext& c, std::string_view what, Type from,
                               std::span<const DimExpr> to);
// Returns an error unless `type` can be a vector of length `extent`. Null and unranked types pass.
absl::Status CheckVector(const InferContext& c, std::string_view what, Type type, DimExpr extent);
// Returns an error unless `type` is unranked or has rank `rank`.
absl::Status CheckRank(const InferContext& c, std::string_view what, Type type, int64_t rank);
// Returns an error unless the operands of these groups have one element type. Absent ones pass.
absl::Status CheckOneDType(const InferContext& c, std::initializer_list<int> groups);

// Returns `dims` in the order of the attribute `perm`; an error unless that is a permutation.
absl::StatusOr<DimVector> PermutedDims(const InferContext& c, std::span<const DimExpr> dims);

// Returns the number of elements in [start, end) with a step, clamped to `extent` as in ONNX.
// Negative bounds count from the end. Unknown if the sign of a symbolic bound is not known.
DimExpr SliceExtent(DimExpr extent, DimExpr start, DimExpr end, int64_t step);

// Attributes of convolution and pooling along the spatial axes.
struct WindowAttrs {
  std::span<const int64_t> strides, pads, dilations;
  std::string_view auto_pad;
  bool ceil_mode = false;
};
// Reads strides, pads, dilations, auto_pad and ceil_mode. An error unless their sizes fit `spatial`
// axes and their values are in range.
absl::StatusOr<WindowAttrs> InferWindowAttrs(const InferContext& c, int64_t spatial);
// Returns the output extent of spatial axis `axis`, for an input of `extent` elements and a window
// of `kernel` elements. An error if the window provably does not fit.
absl::StatusOr<DimExpr> WindowExtent(const InferContext& c, const WindowAttrs& w, int64_t axis,
                                     DimExpr extent, DimExpr kernel);

// Shorthands for the end of a shape function: add one result and return OK.
absl::Status SetResult(ResultTypes& results, Type type);
absl::Status SetTensor(const InferContext& c, ResultTypes& results, DType dtype,
                       std::span<const DimExpr> dims);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_SUPPORT_H_
