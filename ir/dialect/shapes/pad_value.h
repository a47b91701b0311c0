// The check of the operand `value` that ten.pad and ten.dynamic_pad share.
#ifndef TENON_IR_DIALECT_SHAPES_PAD_VALUE_H_
#define TENON_IR_DIALECT_SHAPES_PAD_VALUE_H_

#include "absl/status/status.h"
#include "fmt/format.h"
#include "ir/dialect/shapes/infer_helpers.h"

namespace tenon {

// What new elements are has the element type of `x` and one element. `value` may be null.
inline absl::Status CheckPadValue(const InferContext& c, Type x, Type value) {
  if (!value) return absl::OkStatus();
  if (value.dtype() != x.dtype()) {
    return c.Error(fmt::format("value must have x's element type {}, not {}", Name(x.dtype()),
                               Name(value.dtype())));
  }
  if (!value.is_tensor()) return absl::OkStatus();
  for (const DimExpr dim : value.dims()) {
    if (dim.is_constant() && dim.constant() != 1)
      return c.Error(fmt::format("value must have one element, not type {}", value.text()));
  }
  return absl::OkStatus();
}

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_PAD_VALUE_H_
