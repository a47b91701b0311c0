// A branch of an If that holds a wrong node: the model runs as long as it does not take that
// branch. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTROL_FAILING_BRANCH_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTROL_FAILING_BRANCH_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/graph_importer.h"

namespace tenon::onnx {

// What was wrong in a branch, and at which node.
struct BranchFailure {
  Location location;
  std::string message;
};

// Calls `import`, which fills `block`. If that reports an error, takes the error back, empties the
// block and returns what was wrong. Returns an error itself if the model has too many nodes.
absl::StatusOr<std::optional<BranchFailure>> TryBranch(GraphImporter& importer, Block& block,
                                                       absl::FunctionRef<absl::Status()> import);

// Creates an operation that ends the run with the failure in place of a value of the other branch,
// which has the type of a tensor.
absl::StatusOr<Value> FailInstead(GraphImporter& importer, OpBuilder& builder,
                                  const BranchFailure& failure, Type type);

// Remarks that the If at `node` runs with a branch that fails. `branch` is its attribute.
void RemarkFailure(Context& context, Location node, std::string_view branch,
                   const BranchFailure& failure);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTROL_FAILING_BRANCH_H_
