// The function around the nodes: rows, vectors, the tail, loads and stores.
#if defined(TENON_HAVE_XBYAK) && defined(__x86_64__)

#include <algorithm>
#include <vector>

#include "kernels/cpu/jit/emitter.h"

namespace tenon::kernels::cpu {

using Xbyak::Address;
using Xbyak::Opmask;
using Xbyak::Reg64;
using Xbyak::Xmm;

namespace {

constexpr int kUnroll = 2;        // vectors between two checks of the end
constexpr size_t kNumHomes = 11;  // general registers for pointers
// Bytes of jumps, and of a comparison of registers with the jump behind it.
constexpr size_t kJump = 5, kBranch = 6, kCompareAndBranch = 3 + kBranch;

}  // namespace

bool PointwiseEmitter::Emit() {
  if (Xbyak::GetError() != 0 || !plan_.Possible()) return false;
  EmitFunction();
  if (Failed() || Xbyak::GetError() != 0) return false;
  ready();
  if (Xbyak::GetError() != 0 || !setProtectModeRE(false)) return false;
  run_ = getCode<Code>();
  return true;
}

void PointwiseEmitter::EmitFunction() {
  const std::vector<Reg64> saved = {rbx, rbp, r12, r13, r14, r15};
  for (const Reg64& reg : saved) push(reg);
  sub(rsp, plan_.StackBytes() + 24);
  mov(Steps(), rsi);
  mov(RowsLeft(), rdx);
  mov(RowLength(), rcx);
  const int num_inputs = body_.first_constant();
  const int num_pointers = num_inputs + static_cast<int>(body_.results.size());
  for (int i = 0; i < num_pointers; ++i) {
    const bool in_memory = i < num_inputs && scalar_[i];
    if (!in_memory && homed_.size() < kNumHomes) homed_.push_back(i);
  }
  for (const auto& [bits, reg] : plan_.kept())
    vbroadcastss(Vector(reg), ptr[rip + constants_[bits]]);
  Xbyak::Label row, unrolled, single, tail, end_of_row;
  L(row);
  for (const auto& [node, offset] : plan_.stack_of()) {
    mov(rax, ptr[rdi + 8 * static_cast<int>(plan_.Node(node).bits)]);
    vbroadcastss(Vector(0), ptr[rax]);
    vmovups(ptr[rsp + offset], Vector(0));
  }
  for (int i : homed_) mov(Pointer(i), ptr[rdi + 8 * i]);
  mov(rsi, RowLength());
  xor_(ecx, ecx);  // the position
  L(unrolled);
  lea(rax, ptr[rcx + kUnroll * plan_.Lanes()]);
  KeepOffBoundary(kCompareAndBranch);
  cmp(rax, rsi);
  jg(single, T_NEAR);
  for (int u = 0; u < kUnroll; ++u) EmitBody(u * plan_.Lanes(), false);
  add(rcx, kUnroll * plan_.Lanes());
  KeepOffBoundary(kJump);
  jmp(unrolled, T_NEAR);
  L(single);
  lea(rax, ptr[rcx + plan_.Lanes()]);
  KeepOffBoundary(kCompareAndBranch);
  cmp(rax, rsi);
  jg(tail, T_NEAR);
  EmitBody(0, false);
  add(rcx, plan_.Lanes());
  KeepOffBoundary(kJump);
  jmp(single, T_NEAR);
  L(tail);
  KeepOffBoundary(kCompareAndBranch);
  sub(rsi, rcx);
  jle(end_of_row, T_NEAR);
  EmitTailMask();
  EmitBody(0, true);
  L(end_of_row);
  mov(rcx, Steps());
  for (int i = 0; i < num_pointers; ++i) {
    mov(rax, ptr[rcx + 8 * i]);
    add(ptr[rdi + 8 * i], rax);
  }
  sub(RowsLeft(), 1);
  KeepOffBoundary(kBranch);
  jg(row, T_NEAR);
  vzeroupper();
  add(rsp, plan_.StackBytes() + 24);
  for (auto reg = saved.rbegin(); reg != saved.rend(); ++reg) pop(*reg);
  ret();
  EmitConstants();
}

void PointwiseEmitter::KeepOffBoundary(size_t bytes) {
  constexpr size_t kBoundary = 32;
  const size_t at = getSize() % kBoundary;
  if (at + bytes >= kBoundary) nop(kBoundary - at);
}

// Lanes below rsi.
void PointwiseEmitter::EmitTailMask() {
  if (plan_.wide()) {
    mov(eax, -1);
    bzhi(eax, eax, esi);
    kmovw(Tail(), eax);
    return;
  }
  neg(rsi);
  lea(rax, ptr[rip + tail_table_]);
  vmovups(TailVector(), ptr[rax + rsi * 4 + 32]);
}

void PointwiseEmitter::EmitConstants() {
  align(64);
  for (auto& [bits, label] : constants_) {
    L(label);
    for (int i = 0; i < (plan_.wide() ? 1 : plan_.Lanes()); ++i) dd(bits);
  }
  if (plan_.wide()) {
    L(ones_);
    for (int i = 0; i < 4; ++i) dd(0x01010101);
  } else {
    L(tail_table_);
    for (int i = 0; i < 8; ++i) dd(0xffffffff);
    for (int i = 0; i < 8; ++i) dd(0);
  }
}

void PointwiseEmitter::EmitBody(int ahead, bool tail) {
  registers_.Reset();
  for (int node = 0; node < plan_.NumNodes() && !Failed(); ++node) {
    // Inputs are loaded when first used, if not by a result that takes their place: results are
    // stored last.
    if (!plan_.IsUsed(node) || plan_.IsMemory(node) || plan_.IsInput(node)) continue;
    for (int operand : plan_.Node(node).operands) {
      if (operand >= 0 && plan_.IsInput(operand)) Load(operand, ahead, tail);
    }
    EmitNode(node);
  }
  const std::vector<int>& results = plan_.graph().results;
  for (int result : results) {
    if (plan_.IsInput(result) && !Failed()) Load(result, ahead, tail);
  }
  for (size_t r = 0; r < results.size() && !Failed(); ++r) {
    Store(results[r], body_.first_constant() + static_cast<int>(r), ahead, tail);
  }
}

void PointwiseEmitter::Load(int node, int ahead, bool tail) {
  if (plan_.IsMemory(node) || registers_.Has(node)) return;
  const Reg64 base = Pointer(static_cast<int>(plan_.Node(node).bits));
  if (plan_.Node(node).op == VectorOp::kInputBool) {
    const Address at = ptr[base + rcx + ahead];
    const Xmm bytes = Vector(registers_.TakeVector());
    const Opmask mask(registers_.TakeMask());
    vpmovzxbd(tail ? bytes | Tail() | T_z : bytes, at);
    vptestmd(mask, bytes, bytes);
    registers_.FreeVector(bytes.getIdx());
    registers_.PutMask(node, mask.getIdx());
    return;
  }
  const int taken = registers_.TakeVector();
  registers_.PutVector(node, taken);
  if (const VectorOp op = plan_.Node(node).op; op != VectorOp::kInput) {
    const Address bytes = ptr[base + rcx + ahead];
    const Xmm to = tail ? Vector(taken) | Tail() | T_z : Vector(taken);
    op == VectorOp::kInputU8 ? vpmovzxbd(to, bytes) : vpmovsxbd(to, bytes);
    vcvtdq2ps(Vector(taken), Vector(taken));
    return;
  }
  const Address at = ptr[base + rcx * 4 + ahead * 4];
  if (!tail) {
    vmovups(Vector(taken), at);
  } else if (plan_.wide()) {
    vmovups(Vector(taken) | Tail() | T_z, at);
  } else {
    vmaskmovps(Vector(taken), TailVector(), at);
  }
}

void PointwiseEmitter::Store(int node, int pointer, int ahead, bool tail) {
  const Reg64 base = Pointer(pointer);
  if (plan_.Node(node).is_mask()) {
    const Address at = ptr[base + rcx + ahead];
    const Xmm bytes(registers_.TakeVector());
    vmovdqu8(bytes | Opmask(registers_.MaskOf(node)) | T_z, ptr[rip + ones_]);
    vmovdqu8(tail ? at | Tail() : at, bytes);
    registers_.FreeVector(bytes.getIdx());
    return;
  }
  const Xmm from = Register(node);
  if (plan_.Node(node).op == VectorOp::kToByte) {
    const Address bytes = ptr[base + rcx + ahead];
    vpmovdb(tail ? bytes | Tail() : bytes, Xbyak::Zmm(from.getIdx()));
    return registers_.ReleaseTemporaries();
  }
  const Address at = ptr[base + rcx * 4 + ahead * 4];
  if (!tail) {
    vmovups(at, from);
  } else if (plan_.wide()) {
    vmovups(at | Tail(), from);
  } else {
    vmaskmovps(at, TailVector(), from);
  }
  registers_.ReleaseTemporaries();
}

Reg64 PointwiseEmitter::Pointer(int pointer) {
  const Reg64 homes[] = {rdx, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
  const auto home = std::find(homed_.begin(), homed_.end(), pointer);
  if (home != homed_.end()) return homes[home - homed_.begin()];
  mov(rax, ptr[rdi + 8 * pointer]);
  return rax;
}

}  // namespace tenon::kernels::cpu

#endif
