// The shape function of random numbers.
#include "fmt/format.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {

absl::Status InferRandom(const InferContext& c, ResultTypes& results) {
  const std::span<const DimExpr> shape = InferDimList(c, "shape");
  for (DimExpr extent : shape) {
    if (extent.is_constant() && extent.constant() < 0) {
      return c.Error(fmt::format("shape has the extent {} (expected at least 0)", extent.text()));
    }
  }
  const Attribute to = InferAttr(c, "to");
  if (!to || to.kind() != Attribute::Kind::kType || !IsFloat(to.type().dtype())) {
    return c.Error("to must be a floating-point element type");
  }
  const int64_t stream = InferI64(c, "stream");
  if (stream < 0 || stream >= int64_t{1} << 31) {
    return c.Error(fmt::format("stream is {} (expected 0 to 2147483647)", stream));
  }
  return SetTensor(c, results, to.type().dtype(), shape);
}

}  // namespace tenon
