// Writes the machine code of a vector graph: f(pointers, steps, rows, n) of PointwiseJit::Run.
#ifndef TENON_KERNELS_CPU_JIT_EMITTER_H_
#define TENON_KERNELS_CPU_JIT_EMITTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/cpu/jit/plan.h"
#include "kernels/cpu/jit/pointwise_jit.h"
#include "kernels/cpu/jit/registers.h"
#define XBYAK_NO_EXCEPTION
#define XBYAK_NO_OP_NAMES
#include "xbyak/xbyak.h"

namespace tenon::kernels::cpu {

// Emits the code of one body. The memory is writable first and executable after Emit, never both.
class PointwiseEmitter final : public Xbyak::CodeGenerator, public PointwiseJit {
 public:
  // `graph` is of `body`; for the rest see JitPlan.
  PointwiseEmitter(const PointwiseBody& body, const VectorGraph& graph,
                   std::span<const bool> scalar, bool wide, int keep)
      : Xbyak::CodeGenerator(kMaxCodeBytes, Xbyak::DontSetProtectRWE),
        body_(body),
        scalar_(scalar),
        plan_(graph, scalar, wide, keep),
        registers_(plan_) {}

  // Writes the code. Returns false if that fails; then Run must not be called. The arguments of the
  // constructor are not needed after this call.
  bool Emit();

 private:
  static constexpr size_t kMaxCodeBytes = 64 * 1024;

  bool Failed() const { return failed_ || registers_.failed(); }

  Xbyak::Xmm Vector(int i) const {
    return Xbyak::Xmm(plan_.wide() ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, i);
  }
  // The mask of the tail: the last register of AVX2, k7 of AVX-512.
  Xbyak::Xmm TailVector() const { return Vector(15); }
  Xbyak::Opmask Tail() const { return Xbyak::Opmask(7); }

  // emit_function.cc: rdi is pointers; on the stack are the scalars of the row, then the others.
  Xbyak::Address Steps() { return ptr[rsp + plan_.StackBytes()]; }
  Xbyak::Address RowsLeft() { return qword[rsp + plan_.StackBytes() + 8]; }
  Xbyak::Address RowLength() { return ptr[rsp + plan_.StackBytes() + 16]; }
  void EmitFunction();
  // The next `bytes`, a jump with or without the comparison before it, will neither cross a
  // multiple of 32 bytes nor end at one: Skylake and what came of it would decode them anew each
  // time.
  void KeepOffBoundary(size_t bytes);
  void EmitTailMask();
  void EmitConstants();
  // One vector of elements, `ahead` of the position in rcx; `tail`: the lanes of the mask alone.
  void EmitBody(int ahead, bool tail);
  void Load(int node, int ahead, bool tail);
  void Store(int node, int pointer, int ahead, bool tail);
  // The first pointers have registers for the whole loop, the others are read when needed.
  Xbyak::Reg64 Pointer(int pointer);

  // emit_node.cc
  void EmitNode(int node);
  void EmitFma(int node);
  void EmitMask(int node);
  void EmitVectorMask(int node);
  void EmitSelect(int node);
  template <typename Last>
  void Instruction(const VectorNode& n, const Xbyak::Xmm& to, const Xbyak::Xmm& x,
                   const Last& last);
  void Replace(int node, int operand);
  // The operand in a register; constants come into one for this instruction.
  Xbyak::Xmm Register(int node);
  Xbyak::Address Memory(int node);
  void LoadMemory(const Xbyak::Xmm& to, int node);
  // f(the operand), where the last operand of an instruction may be: in a register or in memory.
  template <typename F>
  void WithLast(int node, F f);

  const PointwiseBody& body_;
  std::span<const bool> scalar_;
  JitPlan plan_;
  JitRegisters registers_;
  bool failed_ = false;
  std::vector<int> homed_;                      // pointers with registers
  std::map<uint32_t, Xbyak::Label> constants_;  // by their bits
  Xbyak::Label ones_, tail_table_;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_JIT_EMITTER_H_
