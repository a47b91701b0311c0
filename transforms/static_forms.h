// From operations whose shapes depend on run-time values to the forms with dimension expressions.
#ifndef TENON_TRANSFORMS_STATIC_FORMS_H_
#define TENON_TRANSFORMS_STATIC_FORMS_H_

#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "ir/core/builder.h"
#include "ir/dialect/shape_data.h"

namespace tenon {

// What is known of an operation with run-time shape operands.
struct StaticForm {
  // The operation that replaces it, inserted before it; null if it must stay.
  Operation* replacement = nullptr;
  // Extents of the result as far as they are known, if it stays; empty if nothing is.
  absl::InlinedVector<DimExpr, 6> dims;
};

// `may_mention` says whether an attribute of a replacement of `op` may hold an expression: its
// symbols must be known when the op runs.
absl::StatusOr<StaticForm> FindStaticForm(
    Operation& op, const ShapeData& data,
    const std::function<bool(const Operation& op, std::span<const DimExpr> dims)>& may_mention);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_STATIC_FORMS_H_
