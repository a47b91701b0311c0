// Converting operations whose shapes depend on run-time values to forms with dimension expressions.
#ifndef TENON_TRANSFORMS_SHAPES_RUN_TIME_TO_STATIC_H_
#define TENON_TRANSFORMS_SHAPES_RUN_TIME_TO_STATIC_H_

#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "ir/core/builder.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {

// What is known about an operation with run-time shape operands.
struct StaticForm {
  // The operation that can replace it, inserted before it; null if it must stay.
  Operation* replacement = nullptr;
  // If it stays: the extents of the result as far as they are known; empty if none is.
  absl::InlinedVector<DimExpr, 6> dims;
};

// Finds the static form of `op`. `may_mention` says whether an attribute of a replacement may hold
// these expressions: their symbols must be known when the op runs.
absl::StatusOr<StaticForm> FindStaticForm(
    Operation& op, const ShapeData& data,
    const std::function<bool(const Operation& op, std::span<const DimExpr> dims)>& may_mention);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_RUN_TIME_TO_STATIC_H_
