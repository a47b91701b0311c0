#include "frontends/onnx/ops/control/failing_branch.h"

#include <fmt/format.h>

#include "frontends/onnx/held_diagnostics.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {

absl::StatusOr<std::optional<BranchFailure>> TryBranch(GraphImporter& importer, Block& block,
                                                       absl::FunctionRef<absl::Status()> import) {
  HeldDiagnostics diagnostics(importer.context());
  const absl::Status status = import();
  if (status.ok()) return std::optional<BranchFailure>();
  const Diagnostic* const error = diagnostics.FirstError();
  if (error == nullptr) return status;
  BranchFailure failure{error->location, error->message};
  // The other branch would not end either.
  TENON_RETURN_IF_ERROR(importer.CountRepeats(0, failure.location));
  diagnostics.Drop();
  while (!block.empty()) importer.Erase(block.back());
  return std::optional<BranchFailure>(std::move(failure));
}

absl::StatusOr<Value> FailInstead(GraphImporter& importer, OpBuilder& builder,
                                  const BranchFailure& failure, Type type) {
  TENON_ASSIGN_OR_RETURN(ctl::FailOp op,
                         ctl::FailOp::Create(builder, failure.location,
                                             {.what = failure.message,
                                              .shape = {type.dims().begin(), type.dims().end()},
                                              .to = type.dtype()}));
  importer.Register(op.op());
  return op->result();
}

void RemarkFailure(Context& context, Location node, std::string_view branch,
                   const BranchFailure& failure) {
  const std::string where = DescribeLocation(context, failure.location);
  EmitRemark(context, node,
             fmt::format("a run that takes {} fails: {}{}{}", branch, where,
                         where.empty() ? "" : ": ", failure.message));
}

}  // namespace tenon::onnx
