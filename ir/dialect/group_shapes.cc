// Shape function of fused.group.
#include <vector>

#include "ir/core/check.h"
#include "ir/core/context.h"
#include "ir/core/pointwise.h"
#include "ir/dialect/shape_functions.h"
#include "ir/dialect/shape_support.h"

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
