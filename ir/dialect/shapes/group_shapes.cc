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
  for (int result : body.results) {
    const DType dtype = body.dtype(result);
    results.push_back(ranked ? Type::Tensor(c.context, dtype, dims)
                             : Type::Unranked(c.context, dtype));
  }
  return absl::OkStatus();
}

}  // namespace tenon
