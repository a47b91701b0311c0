// The vector and mask registers of the values of a graph, while its code is written node by node.
#ifndef TENON_KERNELS_CPU_JIT_REGISTERS_H_
#define TENON_KERNELS_CPU_JIT_REGISTERS_H_

#include <vector>

#include "kernels/cpu/jit/plan.h"

namespace tenon::kernels::cpu {

// Assigns registers.
class JitRegisters {
 public:
  // The plan must outlive it.
  explicit JitRegisters(const JitPlan& plan) : plan_(plan) {}

  // Frees all registers. No node has one then.
  void Reset();

  // Takes a free register. If there is none, returns any, and failed() is true from then on.
  int TakeVector();
  int TakeMask();  // likewise
  // Takes a vector register until the next release.
  int TakeTemporary();
  void FreeVector(int vector) { free_vectors_.push_back(vector); }  // frees one of TakeVector
  bool failed() const { return failed_; }                           // there were too few registers

  // A register.
  bool Has(int node) const { return where_[node].vector >= 0 || where_[node].mask >= 0; }
  int VectorOf(int node) const { return where_[node].vector; }  // -1: none
  int MaskOf(int node) const { return where_[node].mask; }      // -1: none
  void PutVector(int node, int vector) { where_[node].vector = vector; }
  void PutMask(int node, int mask) { where_[node].mask = mask; }
  // Gives the register of an operand that is not read again to the node.
  void Replace(int node, int operand);

  // Frees temporaries, and the operands that nothing after `node` reads.
  void ReleaseDead(int node);
  // The same, for a result that may take the register of an operand. VectorOf and MaskOf still work
  // for the operands until FinishRelease.
  void ReleaseDeadKeeping(int node);
  void FinishRelease();       // ends ReleaseDeadKeeping
  void ReleaseTemporaries();  // frees registers of TakeTemporary

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
