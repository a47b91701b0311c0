#include "kernels/cpu/pointwise_jit.h"

#if defined(TENON_HAVE_XBYAK) && defined(__x86_64__)

#include <algorithm>
#include <map>
#include <vector>

#include "kernels/cpu/vector_graph.h"
#define XBYAK_NO_EXCEPTION
#define XBYAK_NO_OP_NAMES
#include "xbyak/xbyak.h"

namespace tenon::kernels::cpu {
namespace {

using Xbyak::Address;
using Xbyak::Opmask;
using Xbyak::Reg64;
using Xbyak::Xmm;

constexpr size_t kMaxCodeBytes = 64 * 1024;
constexpr int kUnroll = 2;        // vectors between two checks of the end
constexpr size_t kNumHomes = 11;  // general registers for pointers

// Writable while the code is written, executable afterwards, never both.
class Emitter final : public Xbyak::CodeGenerator, public PointwiseJit {
 public:
  // `keep`: how many constants may stay in registers.
  Emitter(const PointwiseBody& body, const VectorGraph& graph, std::span<const bool> scalar,
          bool wide, int keep)
      : Xbyak::CodeGenerator(kMaxCodeBytes, Xbyak::DontSetProtectRWE),
        body_(body),
        graph_(graph),
        scalar_(scalar),
        wide_(wide),
        keep_(keep) {}

  bool Emit() {
    if (Xbyak::GetError() != 0 || !Plan()) return false;
    EmitFunction();
    if (failed_ || Xbyak::GetError() != 0) return false;
    ready();
    if (Xbyak::GetError() != 0 || !setProtectModeRE(false)) return false;
    run_ = getCode<Code>();
    return true;
  }

 private:
  int Lanes() const { return wide_ ? 16 : 8; }
  int VectorBytes() const { return 4 * Lanes(); }
  // The last register of AVX2 is the mask of the tail; of AVX-512, k7.
  int NumVectors() const { return (wide_ ? 32 : 15) - static_cast<int>(kept_.size()); }
  Xmm Vector(int i) const { return Xmm(wide_ ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, i); }
  Xmm TailVector() const { return Vector(15); }
  Opmask Tail() const { return Opmask(7); }

  const VectorNode& NodeOf(int node) const { return graph_.nodes[node]; }
  bool IsInput(int node) const {
    return NodeOf(node).op == VectorOp::kInput || NodeOf(node).op == VectorOp::kInputBool;
  }
  bool IsScalar(int node) const {
    return NodeOf(node).op == VectorOp::kInput && scalar_[NodeOf(node).bits];
  }
  // Full vectors in memory: constants behind the code, scalars on the stack.
  bool IsMemory(int node) const { return NodeOf(node).op == VectorOp::kConstant || IsScalar(node); }
  bool IsMask(int node) const { return NodeOf(node).is_mask(); }

  // ---- before the code: which values are needed until when, and where pointers are

  bool Plan() {
    const int count = static_cast<int>(graph_.nodes.size());
    last_use_.assign(count, -1);
    for (int node = 0; node < count; ++node) {
      for (int operand : NodeOf(node).operands) {
        if (operand >= 0) last_use_[operand] = node;
      }
    }
    for (int result : graph_.results) last_use_[result] = count;  // stored after all is computed
    int slot = 0;
    for (int node = 0; node < count; ++node) {
      if (last_use_[node] < 0) continue;
      // Bools need byte masks, which AVX2 does not have.
      if (NodeOf(node).op == VectorOp::kInputBool && (!wide_ || scalar_[NodeOf(node).bits])) {
        return false;
      }
      if (IsScalar(node)) stack_of_[node] = slot++ * VectorBytes();
    }
    stack_bytes_ = slot * VectorBytes();
    for (int result : graph_.results) {
      if (IsMask(result) && !wide_) return false;
    }
    KeepConstants();
    return true;
  }

  // Constants that stand where no operand in memory can are worth a register, the highest ones.
  void KeepConstants() {
    std::vector<uint32_t> wanted;
    const auto want = [&](int node) {
      if (node < 0 || NodeOf(node).op != VectorOp::kConstant) return;
      const uint32_t bits = NodeOf(node).bits;
      if (std::find(wanted.begin(), wanted.end(), bits) == wanted.end()) wanted.push_back(bits);
    };
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      const auto& [a, b, c] = graph_.nodes[node].operands;
      switch (graph_.nodes[node].op) {
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
    int next = NumVectors();
    for (uint32_t bits : wanted) {
      if (static_cast<int>(kept_.size()) == keep_) break;
      kept_[bits] = --next;
    }
  }

  // The register of a constant that has one, or -1.
  int Kept(int node) const {
    if (NodeOf(node).op != VectorOp::kConstant) return -1;
    const auto found = kept_.find(NodeOf(node).bits);
    return found == kept_.end() ? -1 : found->second;
  }

  // ---- registers

  struct Location {
    int vector = -1, mask = -1;
  };

  int TakeVector() {
    if (free_vectors_.empty()) {
      failed_ = true;
      return 0;
    }
    const int taken = free_vectors_.back();
    free_vectors_.pop_back();
    return taken;
  }

  int TakeMask() {
    if (free_masks_.empty()) {
      failed_ = true;
      return 1;
    }
    const int taken = free_masks_.back();
    free_masks_.pop_back();
    return taken;
  }

  void Release(int node) {
    Location& at = where_[node];
    if (at.vector >= 0) free_vectors_.push_back(at.vector);
    if (at.mask >= 0) free_masks_.push_back(at.mask);
    at = {};
  }

  void ReleaseDead(int node) {
    const auto& operands = NodeOf(node).operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int operand = operands[i];
      if (operand < 0 || last_use_[operand] != node) continue;
      if (std::find(operands.begin(), operands.begin() + i, operand) != operands.begin() + i) {
        continue;
      }
      Release(operand);
    }
    for (int temporary : temporaries_) free_vectors_.push_back(temporary);
    temporaries_.clear();
  }

  Address Memory(int node) {
    if (NodeOf(node).op == VectorOp::kConstant) {
      Xbyak::Label& label = constants_[NodeOf(node).bits];
      return wide_ ? ptr_b[rip + label] : ptr[rip + label];
    }
    return ptr[rsp + stack_of_.at(node)];
  }

  // The operand in a register; constants come into one for this instruction.
  Xmm Register(int node) {
    if (!IsMemory(node)) return Vector(where_[node].vector);
    if (const int kept = Kept(node); kept >= 0) return Vector(kept);
    const int taken = TakeVector();
    temporaries_.push_back(taken);
    LoadMemory(Vector(taken), node);
    return Vector(taken);
  }

  void LoadMemory(const Xmm& to, int node) {
    if (const int kept = Kept(node); kept >= 0) {
      vmovaps(to, Vector(kept));
    } else if (NodeOf(node).op == VectorOp::kConstant) {
      vbroadcastss(to, ptr[rip + constants_[NodeOf(node).bits]]);
    } else {
      vmovups(to, Memory(node));
    }
  }

  // The operand where the last operand of an instruction may be.
  template <typename F>
  void WithLast(int node, F f) {
    if (const int kept = Kept(node); kept >= 0) {
      f(Vector(kept));
    } else if (IsMemory(node)) {
      f(Memory(node));
    } else {
      f(Vector(where_[node].vector));
    }
  }

  // ---- pointers

  // The first pointers have registers for the whole loop, the others are read when needed.
  Reg64 Pointer(int pointer) {
    const Reg64 homes[] = {rdx, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
    const auto home = std::find(homed_.begin(), homed_.end(), pointer);
    if (home != homed_.end()) return homes[home - homed_.begin()];
    mov(rax, ptr[rdi + 8 * pointer]);
    return rax;
  }

  // ---- the function: f(rdi: pointers, rsi: steps, rdx: rows, rcx: n)

  // On the stack: scalars of the row, then these.
  Address Steps() { return ptr[rsp + stack_bytes_]; }
  Address RowsLeft() { return ptr[rsp + stack_bytes_ + 8]; }
  Address RowLength() { return ptr[rsp + stack_bytes_ + 16]; }

  void EmitFunction() {
    const std::vector<Reg64> saved = {rbx, rbp, r12, r13, r14, r15};
    for (const Reg64& reg : saved) push(reg);
    sub(rsp, stack_bytes_ + 24);
    mov(Steps(), rsi);
    mov(RowsLeft(), rdx);
    mov(RowLength(), rcx);
    const int num_inputs = body_.first_constant();
    const int num_pointers = num_inputs + static_cast<int>(body_.results.size());
    for (int i = 0; i < num_pointers; ++i) {
      const bool in_memory = i < num_inputs && scalar_[i];
      if (!in_memory && homed_.size() < kNumHomes) homed_.push_back(i);
    }
    for (const auto& [bits, reg] : kept_) vbroadcastss(Vector(reg), ptr[rip + constants_[bits]]);
    Xbyak::Label row, unrolled, single, tail, end_of_row;
    L(row);
    for (const auto& [node, offset] : stack_of_) {
      mov(rax, ptr[rdi + 8 * static_cast<int>(NodeOf(node).bits)]);
      vbroadcastss(Vector(0), ptr[rax]);
      vmovups(ptr[rsp + offset], Vector(0));
    }
    for (int i : homed_) mov(Pointer(i), ptr[rdi + 8 * i]);
    mov(rsi, RowLength());
    xor_(ecx, ecx);  // the position
    L(unrolled);
    lea(rax, ptr[rcx + kUnroll * Lanes()]);
    cmp(rax, rsi);
    jg(single, T_NEAR);
    for (int u = 0; u < kUnroll; ++u) EmitBody(u * Lanes(), false);
    add(rcx, kUnroll * Lanes());
    jmp(unrolled, T_NEAR);
    L(single);
    lea(rax, ptr[rcx + Lanes()]);
    cmp(rax, rsi);
    jg(tail, T_NEAR);
    EmitBody(0, false);
    add(rcx, Lanes());
    jmp(single, T_NEAR);
    L(tail);
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
    sub(qword[rsp + stack_bytes_ + 8], 1);
    jg(row, T_NEAR);
    vzeroupper();
    add(rsp, stack_bytes_ + 24);
    for (auto reg = saved.rbegin(); reg != saved.rend(); ++reg) pop(*reg);
    ret();
    EmitConstants();
  }

  // Lanes below rsi.
  void EmitTailMask() {
    if (wide_) {
      mov(eax, -1);
      bzhi(eax, eax, esi);
      kmovw(Tail(), eax);
      return;
    }
    neg(rsi);
    lea(rax, ptr[rip + tail_table_]);
    vmovups(TailVector(), ptr[rax + rsi * 4 + 32]);
  }

  void EmitConstants() {
    align(64);
    for (auto& [bits, label] : constants_) {
      L(label);
      for (int i = 0; i < (wide_ ? 1 : Lanes()); ++i) dd(bits);
    }
    if (wide_) {
      L(ones_);
      for (int i = 0; i < 4; ++i) dd(0x01010101);
    } else {
      L(tail_table_);
      for (int i = 0; i < 8; ++i) dd(0xffffffff);
      for (int i = 0; i < 8; ++i) dd(0);
    }
  }

  // One vector of elements, `ahead` of the position; `tail`: the lanes of the mask alone.
  void EmitBody(int ahead, bool tail) {
    const int count = static_cast<int>(graph_.nodes.size());
    where_.assign(count, {});
    free_vectors_.clear();
    for (int i = NumVectors(); i-- > 0;) free_vectors_.push_back(i);
    free_masks_ = {6, 5, 4, 3, 2, 1};
    for (int node = 0; node < count && !failed_; ++node) {
      // Inputs are loaded when first used, if not by a result that takes their place: results are
      // stored last.
      if (last_use_[node] < 0 || IsMemory(node)) continue;
      if (IsInput(node)) continue;
      for (int operand : NodeOf(node).operands) {
        if (operand >= 0 && IsInput(operand)) Load(operand, ahead, tail);
      }
      EmitNode(node);
    }
    for (size_t r = 0; r < graph_.results.size() && !failed_; ++r) {
      if (IsInput(graph_.results[r])) Load(graph_.results[r], ahead, tail);
    }
    for (size_t r = 0; r < graph_.results.size() && !failed_; ++r) {
      Store(graph_.results[r], body_.first_constant() + static_cast<int>(r), ahead, tail);
    }
  }

  void Load(int node, int ahead, bool tail) {
    if (IsMemory(node) || where_[node].vector >= 0 || where_[node].mask >= 0) return;
    const Reg64 base = Pointer(static_cast<int>(NodeOf(node).bits));
    if (NodeOf(node).op == VectorOp::kInputBool) {
      const Address at = ptr[base + rcx + ahead];
      const Xmm bytes = Vector(TakeVector());
      const Opmask mask(TakeMask());
      vpmovzxbd(tail ? bytes | Tail() | T_z : bytes, at);
      vptestmd(mask, bytes, bytes);
      free_vectors_.push_back(bytes.getIdx());
      where_[node].mask = mask.getIdx();
      return;
    }
    const Address at = ptr[base + rcx * 4 + ahead * 4];
    const int taken = TakeVector();
    where_[node].vector = taken;
    if (!tail) {
      vmovups(Vector(taken), at);
    } else if (wide_) {
      vmovups(Vector(taken) | Tail() | T_z, at);
    } else {
      vmaskmovps(Vector(taken), TailVector(), at);
    }
  }

  void Store(int node, int pointer, int ahead, bool tail) {
    const Reg64 base = Pointer(pointer);
    if (IsMask(node)) {
      const Address at = ptr[base + rcx + ahead];
      const Xmm bytes(TakeVector());
      vmovdqu8(bytes | Opmask(where_[node].mask) | T_z, ptr[rip + ones_]);
      vmovdqu8(tail ? at | Tail() : at, bytes);
      free_vectors_.push_back(bytes.getIdx());
      return;
    }
    const Address at = ptr[base + rcx * 4 + ahead * 4];
    const Xmm from = Register(node);
    if (!tail) {
      vmovups(at, from);
    } else if (wide_) {
      vmovups(at | Tail(), from);
    } else {
      vmaskmovps(at, TailVector(), from);
    }
    for (int temporary : temporaries_) free_vectors_.push_back(temporary);
    temporaries_.clear();
  }

  // ---- one instruction

  void EmitNode(int node) {
    const VectorNode& n = NodeOf(node);
    if (n.op == VectorOp::kFma) return EmitFma(node);
    if (IsMask(node)) return EmitMask(node);
    if (n.op == VectorOp::kSelect) return EmitSelect(node);
    int a = n.operands[0], b = n.operands[1];
    const bool commutes = n.op == VectorOp::kAdd || n.op == VectorOp::kMul ||
                          n.op == VectorOp::kAnd || n.op == VectorOp::kXor ||
                          n.op == VectorOp::kAddInt;
    if (commutes && IsMemory(a) && !IsMemory(b)) std::swap(a, b);
    const bool unary = b < 0;
    const Xmm x = unary && !IsShift(n.op) ? Xmm(0) : Register(a);
    // The result may take the place of an operand that nobody reads later: instructions read
    // first.
    ReleaseDeadKeeping(node);
    const Xmm to = Vector(TakeVector());
    where_[node].vector = to.getIdx();
    WithLast(unary ? a : b, [&](const auto& last) { Instruction(n, to, x, last); });
    FinishRelease();
  }

  static bool IsShift(VectorOp op) {
    return op == VectorOp::kShiftLeft || op == VectorOp::kShiftRight;
  }

  // Frees the registers of operands that die here, but leaves their locations readable until
  // FinishRelease.
  void ReleaseDeadKeeping(int node) {
    const auto& operands = NodeOf(node).operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int operand = operands[i];
      if (operand < 0 || last_use_[operand] != node ||
          std::find(dying_.begin(), dying_.end(), operand) != dying_.end()) {
        continue;
      }
      dying_.push_back(operand);
      if (where_[operand].vector >= 0) free_vectors_.push_back(where_[operand].vector);
      if (where_[operand].mask >= 0) free_masks_.push_back(where_[operand].mask);
    }
    for (int temporary : temporaries_) free_vectors_.push_back(temporary);
    temporaries_.clear();
  }

  void FinishRelease() {
    for (int operand : dying_) where_[operand] = {};
    dying_.clear();
  }

  template <typename Last>
  void Instruction(const VectorNode& n, const Xmm& to, const Xmm& x, const Last& last) {
    switch (n.op) {
      case VectorOp::kAdd:
        return vaddps(to, x, last);
      case VectorOp::kSub:
        return vsubps(to, x, last);
      case VectorOp::kMul:
        return vmulps(to, x, last);
      case VectorOp::kDiv:
        return vdivps(to, x, last);
      case VectorOp::kRawMax:
        return vmaxps(to, x, last);
      case VectorOp::kRawMin:
        return vminps(to, x, last);
      case VectorOp::kAnd:
        return vandps(to, x, last);
      case VectorOp::kXor:
        return vxorps(to, x, last);
      case VectorOp::kAddInt:
        return vpaddd(to, x, last);
      case VectorOp::kSubInt:
        return vpsubd(to, x, last);
      case VectorOp::kScale:
        return vscalefps(to, x, last);
      case VectorOp::kSqrt:
        return vsqrtps(to, last);
      case VectorOp::kToInt:
        return vcvtps2dq(to, last);
      case VectorOp::kFromInt:
        return vcvtdq2ps(to, last);
      case VectorOp::kRound:
        if (wide_) return vrndscaleps(to, last, static_cast<uint8_t>(n.bits));
        return vroundps(to, last, static_cast<uint8_t>(n.bits));
      case VectorOp::kShiftLeft:
        return vpslld(to, x, static_cast<uint8_t>(n.bits));
      case VectorOp::kShiftRight:
        return vpsrad(to, x, static_cast<uint8_t>(n.bits));
      default:
        failed_ = true;
    }
  }

  bool Dies(int operand, int node) const {
    return !IsMemory(operand) && last_use_[operand] == node;
  }

  // Overwrites one of its operands; the one that dies, or a copy.
  void EmitFma(int node) {
    auto [a, b, c] = NodeOf(node).operands;
    if (IsMemory(a) && !IsMemory(b)) std::swap(a, b);
    if (Dies(c, node) && c != a && c != b) {  // to = c
      const Xmm to = Vector(where_[c].vector), x = Register(a);
      WithLast(b, [&](const auto& last) { vfmadd231ps(to, x, last); });
      return Replace(node, c);
    }
    if (!Dies(a, node) && Dies(b, node)) std::swap(a, b);
    if (Dies(a, node) && a != b && a != c) {  // to = a
      const Xmm to = Vector(where_[a].vector);
      if (IsMemory(b)) {
        const Xmm z = Register(c);
        WithLast(b, [&](const auto& last) { vfmadd132ps(to, z, last); });
      } else {
        const Xmm x = Vector(where_[b].vector);
        WithLast(c, [&](const auto& last) { vfmadd213ps(to, x, last); });
      }
      return Replace(node, a);
    }
    const Xmm to = Vector(TakeVector());
    if (IsMemory(c)) {
      LoadMemory(to, c);
    } else {
      vmovaps(to, Vector(where_[c].vector));
    }
    const Xmm x = Register(a);
    WithLast(b, [&](const auto& last) { vfmadd231ps(to, x, last); });
    where_[node].vector = to.getIdx();
    ReleaseDead(node);
  }

  // The node is where `operand` was.
  void Replace(int node, int operand) {
    where_[node].vector = where_[operand].vector;
    where_[operand] = {};
    ReleaseDead(node);
  }

  void EmitMask(int node) {
    const VectorNode& n = NodeOf(node);
    const int a = n.operands[0], b = n.operands[1];
    if (!wide_) return EmitVectorMask(node);
    const Opmask to(TakeMask());
    where_[node].mask = to.getIdx();
    const auto mask = [&](int operand) { return Opmask(where_[operand].mask); };
    switch (n.op) {
      case VectorOp::kCompare: {
        const Xmm x = Register(a);
        WithLast(b, [&](const auto& last) { vcmpps(to, x, last, static_cast<uint8_t>(n.bits)); });
        break;
      }
      case VectorOp::kMaskAnd:
        kandw(to, mask(a), mask(b));
        break;
      case VectorOp::kMaskOr:
        korw(to, mask(a), mask(b));
        break;
      case VectorOp::kMaskXor:
        kxorw(to, mask(a), mask(b));
        break;
      default:
        knotw(to, mask(a));
    }
    ReleaseDead(node);
  }

  // Without mask registers a mask is a vector of lanes with all bits or none.
  void EmitVectorMask(int node) {
    const VectorNode& n = NodeOf(node);
    const int a = n.operands[0], b = n.operands[1];
    const Xmm to = Vector(TakeVector());
    where_[node].vector = to.getIdx();
    const Xmm x = Register(a);
    switch (n.op) {
      case VectorOp::kCompare:
        WithLast(b, [&](const auto& last) { vcmpps(to, x, last, static_cast<uint8_t>(n.bits)); });
        break;
      case VectorOp::kMaskAnd:
        vandps(to, x, Vector(where_[b].vector));
        break;
      case VectorOp::kMaskOr:
        vorps(to, x, Vector(where_[b].vector));
        break;
      case VectorOp::kMaskXor:
        vxorps(to, x, Vector(where_[b].vector));
        break;
      default:
        vxorps(to, x, ptr[rip + constants_[0xffffffff]]);
    }
    ReleaseDead(node);
  }

  void EmitSelect(int node) {
    const auto [mask, yes, no] = NodeOf(node).operands;
    const Xmm to = Vector(TakeVector());
    where_[node].vector = to.getIdx();
    const Xmm other = Register(no);
    if (wide_) {
      const Opmask k(where_[mask].mask);
      WithLast(yes, [&](const auto& last) { vblendmps(to | k, other, last); });
    } else {
      const Xmm k = Vector(where_[mask].vector);
      WithLast(yes, [&](const auto& last) { vblendvps(to, other, last, k); });
    }
    ReleaseDead(node);
  }

  const PointwiseBody& body_;
  const VectorGraph& graph_;
  std::span<const bool> scalar_;
  bool wide_;
  int keep_;
  bool failed_ = false;
  std::map<uint32_t, int> kept_;  // registers of constants, by their bits
  std::vector<int> last_use_;     // the node that reads it last
  std::map<int, int> stack_of_;   // scalars
  int stack_bytes_ = 0;
  std::vector<int> homed_;       // pointers with registers
  std::vector<Location> where_;  // of nodes, now
  std::vector<int> free_vectors_, free_masks_, temporaries_, dying_;
  std::map<uint32_t, Xbyak::Label> constants_;  // by their bits
  Xbyak::Label ones_, tail_table_;
};

}  // namespace

std::unique_ptr<const PointwiseJit> PointwiseJit::Make(const PointwiseBody& body,
                                                       std::span<const bool> scalar, Isa isa) {
  if (isa < Isa::kAvx2) return nullptr;
  const bool wide = isa >= Isa::kAvx512;
  const std::optional<VectorGraph> graph = MakeVectorGraph(body, wide);
  if (!graph) return nullptr;
  // With many values at once there are no registers left for constants.
  for (int keep : {wide ? 12 : 4, 0}) {
    Xbyak::ClearError();
    auto emitter = std::make_unique<Emitter>(body, *graph, scalar, wide, keep);
    if (emitter->Emit()) return emitter;
  }
  return nullptr;
}

}  // namespace tenon::kernels::cpu

#else  // no assembler, or not for this processor

namespace tenon::kernels::cpu {

std::unique_ptr<const PointwiseJit> PointwiseJit::Make(const PointwiseBody&, std::span<const bool>,
                                                       Isa) {
  return nullptr;
}

}  // namespace tenon::kernels::cpu

#endif
