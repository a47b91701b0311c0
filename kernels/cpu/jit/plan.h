// What is known of the code of a vector graph before any of it is written: until when values are
// needed, and which of them never need a register.
#ifndef TENON_KERNELS_CPU_JIT_PLAN_H_
#define TENON_KERNELS_CPU_JIT_PLAN_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/cpu/jit/vector_graph.h"

namespace tenon::kernels::cpu {

class JitPlan {
 public:
  // `scalar`: which inputs are one element for a row. `wide`: AVX-512, else AVX2. `keep`: how many
  // constants may stay in registers. The graph and `scalar` outlive the plan.
  JitPlan(const VectorGraph& graph, std::span<const bool> scalar, bool wide, int keep);

  // Does the instruction set have what the graph needs? Bools and bytes need masks of bytes, which
  // AVX2 does not have.
  bool Possible() const;

  const VectorGraph& graph() const { return graph_; }
  const VectorNode& Node(int node) const { return graph_.nodes[node]; }
  int NumNodes() const { return static_cast<int>(graph_.nodes.size()); }
  bool wide() const { return wide_; }
  int Lanes() const { return wide_ ? 16 : 8; }
  int VectorBytes() const { return 4 * Lanes(); }
  // Registers for values: all but those of constants and AVX2's last, the mask of the tail.
  int NumVectors() const { return AllVectors() - static_cast<int>(kept_.size()); }

  bool IsUsed(int node) const { return last_use_[node] >= 0; }
  // Is the node's register free once `user` has read it?
  bool Dies(int node, int user) const { return !IsMemory(node) && last_use_[node] == user; }

  bool IsInput(int node) const { return Node(node).op <= VectorOp::kInputI8; }
  bool IsScalar(int node) const {
    return Node(node).op == VectorOp::kInput && scalar_[Node(node).bits];
  }
  // Full vectors in memory: constants behind the code, scalars on the stack.
  bool IsMemory(int node) const { return Node(node).op == VectorOp::kConstant || IsScalar(node); }

  // The register of a constant that has one, or -1.
  int Kept(int node) const;
  const std::map<uint32_t, int>& kept() const { return kept_; }  // by the constant's bits
  // Where scalars are on the stack, and how much of it they take.
  const std::map<int, int>& stack_of() const { return stack_of_; }
  int StackBytes() const { return static_cast<int>(stack_of_.size()) * VectorBytes(); }

 private:
  int AllVectors() const { return wide_ ? 32 : 15; }
  void FindLastUses();
  void KeepConstants(int keep);

  const VectorGraph& graph_;
  std::span<const bool> scalar_;
  bool wide_;
  std::vector<int> last_use_;     // the node that reads it last; NumNodes() for results, -1: none
  std::map<uint32_t, int> kept_;  // registers
  std::map<int, int> stack_of_;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_JIT_PLAN_H_
