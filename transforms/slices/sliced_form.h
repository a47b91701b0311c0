// Operations that compute each slice of their results along an axis by itself.
#ifndef TENON_TRANSFORMS_SLICES_SLICED_FORM_H_
#define TENON_TRANSFORMS_SLICES_SLICED_FORM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/core/attribute.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/operation.h"

namespace tenon {

// Slices of results: `count` of the extent of `axis`.
struct ResultSlices {
  int64_t axis = 0;
  DimExpr count;
  bool is_tail = false;  // the last ones, in order
};

// The same operation for some slices of its results.
struct SlicedForm {
  static constexpr int64_t kWhole = -1;

  // For each operand the axis along which it must be cut like the results, or kWhole.
  absl::InlinedVector<int64_t, 6> operands;
  // For each result the axis along which it is cut, or kWhole.
  absl::InlinedVector<int64_t, 2> results;
  std::vector<Attribute> slots;
};

// Returns nullopt if a slice of a result needs more than slices of operands, or if that cannot be
// proved. Supports pure operations without regions. Requires that results are tensors that have the
// axis.
std::optional<SlicedForm> FormOfSlices(Operation& op, const ResultSlices& slices);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SLICES_SLICED_FORM_H_
