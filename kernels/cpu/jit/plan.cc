#include "kernels/cpu/jit/plan.h"

#include <algorithm>

namespace tenon::kernels::cpu {

JitPlan::JitPlan(const VectorGraph& graph, std::span<const bool> scalar, bool wide, int keep)
    : graph_(graph), scalar_(scalar), wide_(wide) {
  FindLastUses();
  for (int node = 0; node < NumNodes(); ++node) {
    if (IsUsed(node) && IsScalar(node)) stack_of_.emplace(node, StackBytes());
  }
  KeepConstants(keep);
}

bool JitPlan::Possible() const {
  for (int node = 0; node < NumNodes(); ++node) {
    if (!IsUsed(node) || !IsInput(node) || Node(node).op == VectorOp::kInput) continue;
    if (!wide_ || scalar_[Node(node).bits]) return false;
  }
  return wide_ || std::none_of(graph_.results.begin(), graph_.results.end(), [this](int result) {
           return Node(result).is_mask() || Node(result).op == VectorOp::kToByte;
         });
}

void JitPlan::FindLastUses() {
  last_use_.assign(NumNodes(), -1);
  for (int node = 0; node < NumNodes(); ++node) {
    for (int operand : Node(node).operands) {
      if (operand >= 0) last_use_[operand] = node;
    }
  }
  // Results are stored after all is computed.
  for (int result : graph_.results) last_use_[result] = NumNodes();
}

// Constants that stand where no operand in memory can are worth a register, the highest ones.
void JitPlan::KeepConstants(int keep) {
  std::vector<uint32_t> wanted;
  const auto want = [&](int node) {
    if (node < 0 || Node(node).op != VectorOp::kConstant) return;
    const uint32_t bits = Node(node).bits;
    if (std::find(wanted.begin(), wanted.end(), bits) == wanted.end()) wanted.push_back(bits);
  };
  for (const VectorNode& node : graph_.nodes) {
    const auto& [a, b, c] = node.operands;
    switch (node.op) {
      case VectorOp::kSub:
      case VectorOp::kDiv:
      case VectorOp::kRawMax:
      case VectorOp::kRawMin:
        want(a);
        break;
      case VectorOp::kSelect:
        want(c);
        break;
      case VectorOp::kFma:
        // One of several constants goes through memory.
        if (IsMemory(a) || IsMemory(b)) want(c);
        break;
      default:
        break;
    }
  }
  int next = AllVectors();
  for (uint32_t bits : wanted) {
    if (static_cast<int>(kept_.size()) == keep) break;
    kept_[bits] = --next;
  }
}

int JitPlan::Kept(int node) const {
  if (Node(node).op != VectorOp::kConstant) return -1;
  const auto found = kept_.find(Node(node).bits);
  return found == kept_.end() ? -1 : found->second;
}

}  // namespace tenon::kernels::cpu
