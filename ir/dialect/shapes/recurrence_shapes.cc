// The shape of recurrent layers.
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// Error unless `type` (null: absent, fine) may be a matrix [rows, columns].
absl::Status CheckMatrix(const InferContext& c, std::string_view what, Type type, DimExpr rows,
                         DimExpr columns) {
  if (!type || !type.is_tensor()) return absl::OkStatus();
  TENON_RETURN_IF_ERROR(CheckRank(c, what, type, 2));
  TENON_RETURN_IF_ERROR(MergeEqual(c, type.dim(0), rows, what).status());
  return MergeEqual(c, type.dim(1), columns, what).status();
}

}  // namespace

absl::Status InferRecurrence(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2, 3, 4, 5}));
  const Type x = c.operand(0), r = c.operand(1), h = c.operand(2), cell = c.operand(3);
  const bool lstm = InferStr(c, "cell") == "lstm";
  const size_t states = lstm ? 2 : 1;
  if (lstm != !!cell) return c.Error("c must be there for an lstm, and for no other cell");
  if (!x.is_tensor() || !r.is_tensor()) {
    results.insert(results.end(), 1 + states, Type::Unranked(c.context, x.dtype()));
    return absl::OkStatus();
  }
  TENON_RETURN_IF_ERROR(CheckRank(c, "x", x, 3));
  TENON_RETURN_IF_ERROR(CheckRank(c, "r", r, 2));
  const DimExpr steps = x.dim(0), batch = x.dim(1), hidden = r.dim(1);
  const auto times = [&](int64_t n) { return hidden * DimExpr::Constant(c.context, n); };
  const DimExpr gates = times(lstm ? 4 : InferStr(c, "cell") == "gru" ? 3 : 1);
  TENON_RETURN_IF_ERROR(MergeEqual(c, x.dim(2), gates, "the columns of x and the gates").status());
  TENON_RETURN_IF_ERROR(MergeEqual(c, r.dim(0), gates, "the rows of r and the gates").status());
  TENON_RETURN_IF_ERROR(CheckMatrix(c, "h", h, batch, hidden));
  TENON_RETURN_IF_ERROR(CheckMatrix(c, "c", cell, batch, hidden));
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", c.operand(4), hidden));
  TENON_RETURN_IF_ERROR(CheckVector(c, "peepholes", c.operand(5), times(3)));
  TENON_RETURN_IF_ERROR(CheckVector(c, "lengths", c.operand(6), batch));
  if (c.operand(4) && !InferBool(c, "reset_after")) {
    return c.Error("bias is only for a gru with reset_after");
  }
  if (c.operand(5) && !lstm) return c.Error("peepholes are only for an lstm");
  if (InferBool(c, "reset_after") && InferStr(c, "cell") != "gru") {
    return c.Error("reset_after is only for a gru");
  }
  const DimExpr all[] = {steps, batch, hidden}, one[] = {batch, hidden};
  TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), all));
  for (size_t i = 0; i < states; ++i) {
    TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), one));
  }
  return absl::OkStatus();
}

}  // namespace tenon
