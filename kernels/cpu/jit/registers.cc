#include "kernels/cpu/jit/registers.h"

#include <algorithm>

namespace tenon::kernels::cpu {

void JitRegisters::Reset() {
  where_.assign(plan_.NumNodes(), {});
  free_vectors_.clear();
  for (int i = plan_.NumVectors(); i-- > 0;) free_vectors_.push_back(i);
  free_masks_ = {6, 5, 4, 3, 2, 1};  // k0 masks nothing, k7 is the tail's
}

int JitRegisters::TakeVector() {
  if (free_vectors_.empty()) {
    failed_ = true;
    return 0;
  }
  const int taken = free_vectors_.back();
  free_vectors_.pop_back();
  return taken;
}

int JitRegisters::TakeMask() {
  if (free_masks_.empty()) {
    failed_ = true;
    return 1;
  }
  const int taken = free_masks_.back();
  free_masks_.pop_back();
  return taken;
}

int JitRegisters::TakeTemporary() {
  temporaries_.push_back(TakeVector());
  return temporaries_.back();
}

void JitRegisters::Replace(int node, int operand) {
  where_[node].vector = where_[operand].vector;
  where_[operand] = {};
}

void JitRegisters::ReleaseDead(int node) {
  ReleaseDeadKeeping(node);
  FinishRelease();
}

void JitRegisters::ReleaseDeadKeeping(int node) {
  for (int operand : plan_.Node(node).operands) {
    if (operand < 0 || !plan_.Dies(operand, node) ||
        std::find(dying_.begin(), dying_.end(), operand) != dying_.end()) {
      continue;
    }
    dying_.push_back(operand);
    if (where_[operand].vector >= 0) free_vectors_.push_back(where_[operand].vector);
    if (where_[operand].mask >= 0) free_masks_.push_back(where_[operand].mask);
  }
  ReleaseTemporaries();
}

void JitRegisters::FinishRelease() {
  for (int operand : dying_) where_[operand] = {};
  dying_.clear();
}

void JitRegisters::ReleaseTemporaries() {
  for (int temporary : temporaries_) free_vectors_.push_back(temporary);
  temporaries_.clear();
}

}  // namespace tenon::kernels::cpu
