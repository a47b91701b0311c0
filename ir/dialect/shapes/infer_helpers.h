// Helpers for shape functions: attributes by name, axis checks, broadcasting, windows. Errors are
// InvalidArgument with the name of the op (InferContext::Error).
#ifndef TENON_IR_DIALECT_SHAPES_INFER_HELPERS_H_
#define TENON_IR_DIALECT_SHAPES_INFER_HELPERS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/context/op_info.h"

namespace tenon {

// The dimensions of one shape.
using DimVector = absl::InlinedVector<DimExpr, 6>;

// Returns text for messages, such as "[B, 3, S]".
std::string DimsText(std::span<const DimExpr> dims);

// Returns an inherent attribute by name; null if it is absent. The next functions return its value;
// 0, false or empty if it is absent or of another kind.
Attribute InferAttr(const InferContext& c, std::string_view name);
int64_t InferI64(const InferContext& c, std::string_view name);           // of kInteger
bool InferBool(const InferContext& c, std::string_view name);             // of kBool
std::string_view InferStr(const InferContext& c, std::string_view name);  // of kString
// Reads a kDenseArray of signed integers.
std::span<const int64_t> InferI64s(const InferContext& c, std::string_view name);
// Reads a kDims.
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
// The same for an operand of one element, which may also be a scalar.
absl::Status CheckOneElement(const InferContext& c, std::string_view what, Type type);
// Returns an error unless `type` is unranked or has rank `rank`.
absl::Status CheckRank(const InferContext& c, std::string_view what, Type type, int64_t rank);
// Returns an error if the attribute `reduction` combines elements of a narrow type: "none" only
// replaces them.
absl::Status CheckReduction(const InferContext& c, DType dtype);
// Returns an error unless the operands of these groups have one element type. Absent ones pass.
absl::Status CheckOneDType(const InferContext& c, std::initializer_list<int> groups);

// Returns the extents of a convolution of operand 0, a ranked tensor, with operand 1. `bias` has a
// number for each filter; it may be null.
absl::StatusOr<DimVector> InferConvDims(const InferContext& c, Type bias);

// Returns `dims` in the order of the attribute `perm`; an error unless that is a permutation.
absl::StatusOr<DimVector> PermutedDims(const InferContext& c, std::span<const DimExpr> dims);

// Returns the number of elements in [start, end) with a step, clamped to `extent` as in ONNX.
// Negative bounds count from the end. Unknown if the sign of a symbolic bound is not known.
DimExpr SliceExtent(DimExpr extent, DimExpr start, DimExpr end, int64_t step);

// Attributes of convolution and pooling along the spatial axes.
struct WindowAttrs {
  std::span<const int64_t> strides,  // one per spatial axis, at least 1
      pads,                          // in front of each axis, then behind each; >= 0
      dilations;                     // one per spatial axis, at least 1
  std::string_view auto_pad;         // NOTSET, VALID, SAME_UPPER or SAME_LOWER
  bool ceil_mode = false;            // rounds output extents up
};
// Reads strides, pads, dilations, auto_pad and ceil_mode. An error unless their sizes fit `spatial`
// axes and their values are in range.
absl::StatusOr<WindowAttrs> InferWindowAttrs(const InferContext& c, int64_t spatial);
// Returns the output extent of spatial axis `axis`, for an input of `extent` elements and a window
// of `kernel` elements. An error if the window provably does not fit.
absl::StatusOr<DimExpr> WindowExtent(const InferContext& c, const WindowAttrs& w, int64_t axis,
                                     DimExpr extent, DimExpr kernel);

// Ends a shape function: adds `type` to `results` and returns OK.
absl::Status SetResult(ResultTypes& results, Type type);
// The same for a ranked tensor type.
absl::Status SetTensor(const InferContext& c, ResultTypes& results, DType dtype,
                       std::span<const DimExpr> dims);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_INFER_HELPERS_H_
