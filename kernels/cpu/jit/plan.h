// Facts about the code of a vector graph before it is written: the last use of each value, and the
// values that need no register.
#ifndef TENON_KERNELS_CPU_JIT_PLAN_H_
#define TENON_KERNELS_CPU_JIT_PLAN_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/cpu/jit/vector_graph.h"

namespace tenon::kernels::cpu {

// The plan for the code of one graph.
class JitPlan {
 public:
  // `scalar` marks inputs with one element for a row. `wide` means AVX-512, else AVX2. `keep` is
  // the most constants that stay in registers. The graph and `scalar` must outlive the plan.
  JitPlan(const VectorGraph& graph, std::span<const bool> scalar, bool wide, int keep);

  // True if the instruction set has all that the graph needs. Bools and bytes need masks of bytes,
  // which AVX2 lacks.
  bool Possible() const;

  const VectorGraph& graph() const { return graph_; }  // the graph of the constructor
  const VectorNode& Node(int node) const { return graph_.nodes[node]; }   // by its number
  int NumNodes() const { return static_cast<int>(graph_.nodes.size()); }  // nodes of the graph
  bool wide() const { return wide_; }                                     // AVX-512
  int Lanes() const { return wide_ ? 16 : 8; }                            // floats of a vector
  int VectorBytes() const { return 4 * Lanes(); }                         // bytes of a vector
  // Registers for values: all but those of constants and AVX2's last, the mask of the tail.
  int NumVectors() const { return AllVectors() - static_cast<int>(kept_.size()); }

  bool IsUsed(int node) const { return last_use_[node] >= 0; }  // by a node or a result
  // True if the register of the node is free after `user` has read it.
  bool Dies(int node, int user) const { return !IsMemory(node) && last_use_[node] == user; }

  bool IsInput(int node) const { return Node(node).op <= VectorOp::kInputI8; }  // of any type
  // True for an input with one element for a row.
  bool IsScalar(int node) const {
    return Node(node).op == VectorOp::kInput && scalar_[Node(node).bits];
  }
  // True for full vectors in memory: constants after the code, and scalars on the stack.
  bool IsMemory(int node) const { return Node(node).op == VectorOp::kConstant || IsScalar(node); }

  // Returns the register of a constant, or -1 if it has none.
  int Kept(int node) const;
  const std::map<uint32_t, int>& kept() const { return kept_; }  // by the constant's bits
  // The slots of scalars on the stack, by node.
  const std::map<int, int>& stack_of() const { return stack_of_; }
  // For all scalars.
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
