// The instructions of one node.
#if defined(TENON_HAVE_XBYAK) && defined(__x86_64__)

#include <utility>

#include "kernels/cpu/jit/emitter.h"

namespace tenon::kernels::cpu {

using Xbyak::Address;
using Xbyak::Opmask;
using Xbyak::Xmm;

namespace {

bool IsShift(VectorOp op) { return op == VectorOp::kShiftLeft || op == VectorOp::kShiftRight; }

}  // namespace

Xmm PointwiseEmitter::Register(int node) {
  if (!plan_.IsMemory(node)) return Vector(registers_.VectorOf(node));
  if (const int kept = plan_.Kept(node); kept >= 0) return Vector(kept);
  const int taken = registers_.TakeTemporary();
  LoadMemory(Vector(taken), node);
  return Vector(taken);
}

Address PointwiseEmitter::Memory(int node) {
  if (plan_.Node(node).op == VectorOp::kConstant) {
    Xbyak::Label& label = constants_[plan_.Node(node).bits];
    return plan_.wide() ? ptr_b[rip + label] : ptr[rip + label];
  }
  return ptr[rsp + plan_.stack_of().at(node)];
}

void PointwiseEmitter::LoadMemory(const Xmm& to, int node) {
  if (const int kept = plan_.Kept(node); kept >= 0) {
    vmovaps(to, Vector(kept));
  } else if (plan_.Node(node).op == VectorOp::kConstant) {
    vbroadcastss(to, ptr[rip + constants_[plan_.Node(node).bits]]);
  } else {
    vmovups(to, Memory(node));
  }
}

template <typename F>
void PointwiseEmitter::WithLast(int node, F f) {
  if (const int kept = plan_.Kept(node); kept >= 0) {
    f(Vector(kept));
  } else if (plan_.IsMemory(node)) {
    f(Memory(node));
  } else {
    f(Vector(registers_.VectorOf(node)));
  }
}

template <typename Last>
void PointwiseEmitter::Instruction(const VectorNode& n, const Xmm& to, const Xmm& x,
                                   const Last& last) {
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
    case VectorOp::kFromInt:
      return vcvtdq2ps(to, last);
    case VectorOp::kToByte:
      return vcvttps2dq(to, last);
    case VectorOp::kRound:
      if (plan_.wide()) return vrndscaleps(to, last, static_cast<uint8_t>(n.bits));
      return vroundps(to, last, static_cast<uint8_t>(n.bits));
    case VectorOp::kShiftLeft:
      return vpslld(to, x, static_cast<uint8_t>(n.bits));
    case VectorOp::kShiftRight:
      return vpsrad(to, x, static_cast<uint8_t>(n.bits));
    default:
      failed_ = true;
  }
}

void PointwiseEmitter::EmitNode(int node) {
  const VectorNode& n = plan_.Node(node);
  if (n.op == VectorOp::kFma) return EmitFma(node);
  if (n.is_mask()) return EmitMask(node);
  if (n.op == VectorOp::kSelect) return EmitSelect(node);
  int a = n.operands[0], b = n.operands[1];
  const bool commutes = n.op == VectorOp::kAdd || n.op == VectorOp::kMul ||
                        n.op == VectorOp::kAnd || n.op == VectorOp::kXor ||
                        n.op == VectorOp::kAddInt;
  if (commutes && plan_.IsMemory(a) && !plan_.IsMemory(b)) std::swap(a, b);
  const bool unary = b < 0;
  const Xmm x = unary && !IsShift(n.op) ? Xmm(0) : Register(a);
  registers_.ReleaseDeadKeeping(node);
  const Xmm to = Vector(registers_.TakeVector());
  registers_.PutVector(node, to.getIdx());
  WithLast(unary ? a : b, [&](const auto& last) { Instruction(n, to, x, last); });
  registers_.FinishRelease();
}

// Overwrites one of its operands; the one that dies, or a copy.
void PointwiseEmitter::EmitFma(int node) {
  auto [a, b, c] = plan_.Node(node).operands;
  if (plan_.IsMemory(a) && !plan_.IsMemory(b)) std::swap(a, b);
  if (plan_.Dies(c, node) && c != a && c != b) {  // to = c
    const Xmm to = Vector(registers_.VectorOf(c)), x = Register(a);
    WithLast(b, [&](const auto& last) { vfmadd231ps(to, x, last); });
    return Replace(node, c);
  }
  if (!plan_.Dies(a, node) && plan_.Dies(b, node)) std::swap(a, b);
  if (plan_.Dies(a, node) && a != b && a != c) {  // to = a
    const Xmm to = Vector(registers_.VectorOf(a));
    if (plan_.IsMemory(b)) {
      const Xmm z = Register(c);
      WithLast(b, [&](const auto& last) { vfmadd132ps(to, z, last); });
    } else {
      const Xmm x = Vector(registers_.VectorOf(b));
      WithLast(c, [&](const auto& last) { vfmadd213ps(to, x, last); });
    }
    return Replace(node, a);
  }
  const Xmm to = Vector(registers_.TakeVector());
  if (plan_.IsMemory(c)) {
    LoadMemory(to, c);
  } else {
    vmovaps(to, Vector(registers_.VectorOf(c)));
  }
  const Xmm x = Register(a);
  WithLast(b, [&](const auto& last) { vfmadd231ps(to, x, last); });
  registers_.PutVector(node, to.getIdx());
  registers_.ReleaseDead(node);
}

// The node is where `operand` was.
void PointwiseEmitter::Replace(int node, int operand) {
  registers_.Replace(node, operand);
  registers_.ReleaseDead(node);
}

void PointwiseEmitter::EmitMask(int node) {
  const VectorNode& n = plan_.Node(node);
  const int a = n.operands[0], b = n.operands[1];
  if (!plan_.wide()) return EmitVectorMask(node);
  const Opmask to(registers_.TakeMask());
  registers_.PutMask(node, to.getIdx());
  const auto mask = [&](int operand) { return Opmask(registers_.MaskOf(operand)); };
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
  registers_.ReleaseDead(node);
}

// Without mask registers a mask is a vector of lanes with all bits or none.
void PointwiseEmitter::EmitVectorMask(int node) {
  const VectorNode& n = plan_.Node(node);
  const int a = n.operands[0], b = n.operands[1];
  const Xmm to = Vector(registers_.TakeVector());
  registers_.PutVector(node, to.getIdx());
  const Xmm x = Register(a);
  switch (n.op) {
    case VectorOp::kCompare:
      WithLast(b, [&](const auto& last) { vcmpps(to, x, last, static_cast<uint8_t>(n.bits)); });
      break;
    case VectorOp::kMaskAnd:
      vandps(to, x, Vector(registers_.VectorOf(b)));
      break;
    case VectorOp::kMaskOr:
      vorps(to, x, Vector(registers_.VectorOf(b)));
      break;
    case VectorOp::kMaskXor:
      vxorps(to, x, Vector(registers_.VectorOf(b)));
      break;
    default:
      vxorps(to, x, ptr[rip + constants_[0xffffffff]]);
  }
  registers_.ReleaseDead(node);
}

void PointwiseEmitter::EmitSelect(int node) {
  const auto [mask, yes, no] = plan_.Node(node).operands;
  const Xmm to = Vector(registers_.TakeVector());
  registers_.PutVector(node, to.getIdx());
  const Xmm other = Register(no);
  if (plan_.wide()) {
    const Opmask k(registers_.MaskOf(mask));
    WithLast(yes, [&](const auto& last) { vblendmps(to | k, other, last); });
  } else {
    const Xmm k = Vector(registers_.VectorOf(mask));
    WithLast(yes, [&](const auto& last) { vblendvps(to, other, last, k); });
  }
  registers_.ReleaseDead(node);
}

}  // namespace tenon::kernels::cpu

#endif
