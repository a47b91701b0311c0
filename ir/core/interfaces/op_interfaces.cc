#include "ir/core/interfaces/op_interfaces.h"

namespace tenon {

OperandRange SuccessorOperands(const Operation& branch, unsigned i) {
  TENON_CHECK(i < branch.num_successors());
  if (const auto* own = branch.info().Find<BranchInterface>())
    return own->SuccessorOperands(branch, i);
  const auto [first, count] = branch.successor_operands(i);
  return {branch.operands().data() + first, count};
}

std::string_view CalleeOf(const Operation& op) {
  const auto* call = op.info().Find<CallInterface>();
  return call != nullptr ? call->Callee(op) : std::string_view();
}

}  // namespace tenon
