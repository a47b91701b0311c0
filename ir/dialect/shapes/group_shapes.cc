// Shape function of fused.group.
#include <vector>

#include "ir/base/check.h"
#include "ir/base/pointwise.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {

absl::Status InferGroup(const InferContext& c, ResultTypes& results) {
  std::vector<DType> dtypes;
  DimVector dims;
  bool ranked = true;
  for (Type operand : c.operands) {
    dtypes.push_back(operand.dtype());
    ranked = ranked && operand.is_tensor();
    if (ranked) TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, operand.dims()));
  }
  if (dtypes.empty()) return c.Error("expected at least one input");
  PointwiseBody body;
  std::string error;
  if (!ParsePointwise(InferStr(c, "body"), dtypes, body, error)) return c.Error("body: " + error);
  if (ranked && dims.empty() && body.has_row_ops()) {
    return c.Error("body: steps over rows need an input with an axis (expected rank 1 or more)");
  }
  const std::vector<bool> one_per_row = OnePerRow(body);
  DimVector column = dims;
  if (!column.empty()) column.back() = DimExpr::Constant(c.context, 1);
  for (int result : body.results) {
    const DType dtype = body.dtype(result);
    const DimVector& shape = one_per_row[static_cast<size_t>(result)] ? column : dims;
    results.push_back(ranked ? Type::Tensor(c.context, dtype, shape)
                             : Type::Unranked(c.context, dtype));
  }
  return absl::OkStatus();
}

}  // namespace tenon
