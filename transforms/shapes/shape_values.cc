#include "transforms/shapes/shape_values.h"

#include <algorithm>
#include <vector>

#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

Attribute ConstantOf(Type type, const ShapeElements& elements) {
  std::vector<std::byte> bytes(elements.size() * SizeOf(type.dtype()));
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t v = elements[i].constant();
    // Little-endian, two's complement: the low bytes of the number.
    for (size_t b = 0; b < SizeOf(type.dtype()); ++b) {
      bytes[i * SizeOf(type.dtype()) + b] =
          static_cast<std::byte>(static_cast<uint64_t>(v) >> (8 * b));
    }
  }
  return Attribute::Elements(type.context(), type, bytes);
}

absl::StatusOr<Value> MakeDims(OpBuilder& builder, Location location, Type type,
                               const ShapeElements& elements) {
  TENON_ASSIGN_OR_RETURN(const core::DimsOp dims,
                         core::DimsOp::Create(builder, location,
                                              {.dims = {elements.begin(), elements.end()},
                                               .scalar = type.rank() == 0}));
  Value value = dims.out();
  if (type.rank() > 1) {
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp reshape,
        ten::ReshapeOp::Create(builder, location, value,
                               {.shape = {type.dims().begin(), type.dims().end()}}));
    value = reshape.out();
  }
  if (type.dtype() != DType::kI64) {
    TENON_ASSIGN_OR_RETURN(const ten::CastOp cast,
                           ten::CastOp::Create(builder, location, value, {.to = type.dtype()}));
    value = cast.out();
  }
  return value;
}

}  // namespace

absl::StatusOr<Value> MakeShapeValue(OpBuilder& builder, Location location, Type type,
                                     const ShapeElements& elements) {
  if (!std::ranges::all_of(elements, [](DimExpr d) { return d.is_constant(); })) {
    return MakeDims(builder, location, type, elements);
  }
  TENON_ASSIGN_OR_RETURN(
      const core::ConstantOp constant,
      core::ConstantOp::Create(builder, location, {.value = ConstantOf(type, elements)}));
  return constant.out();
}

}  // namespace tenon
