// Which vector and mask registers hold which values while the code of a vector graph is written,
// node after node.
#ifndef TENON_KERNELS_CPU_JIT_REGISTERS_H_
#define TENON_KERNELS_CPU_JIT_REGISTERS_H_

#include <vector>

#include "kernels/cpu/jit/plan.h"

namespace tenon::kernels::cpu {

class JitRegisters {
 public:
  explicit JitRegisters(const JitPlan& plan) : plan_(plan) {}

  // All registers are free, and no node has one.
  void Reset();

  // A free register. When there is none, it is any, and failed() from then on.
  int TakeVector();
  int TakeMask();
  // Until the release that follows the instruction which is being written.
  int TakeTemporary();
  void FreeVector(int vector) { free_vectors_.push_back(vector); }
  bool failed() const { return failed_; }

  bool Has(int node) const { return where_[node].vector >= 0 || where_[node].mask >= 0; }
  int VectorOf(int node) const { return where_[node].vector; }
  int MaskOf(int node) const { return where_[node].mask; }
  void PutVector(int node, int vector) { where_[node].vector = vector; }
  void PutMask(int node, int mask) { where_[node].mask = mask; }
  // The node takes the register of a vector that dies.
  void Replace(int node, int operand);

  // Frees temporaries, and the operands that nothing after `node` reads.
  void ReleaseDead(int node);
  // The same for a result that may take the place of an operand: instructions read first. The
  // operands can still be asked for until FinishRelease.
  void ReleaseDeadKeeping(int node);
  void FinishRelease();
  void ReleaseTemporaries();

 private:
  struct Location {
    int vector = -1, mask = -1;
  };

  const JitPlan& plan_;
  bool failed_ = false;
  std::vector<Location> where_;  // of nodes
  std::vector<int> free_vectors_, free_masks_, temporaries_, dying_;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_JIT_REGISTERS_H_
