#include "kernels/cpu/pointwise/pointwise_step.h"

#include <cmath>

#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

const PointwiseLoops& Loops() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return Avx512PointwiseLoops();
  if (ActiveIsa() >= Isa::kAvx2) return Avx2PointwiseLoops();
#endif
  return PortablePointwiseLoops();
}

PointwiseElement ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kElementF32;
    case DType::kI32:
      return kElementI32;
    case DType::kI64:
      return kElementI64;
    case DType::kU8:
      return kElementU8;
    case DType::kI8:
      return kElementI8;
    default:
      return kElementBool;
  }
}

}  // namespace

int64_t CostOf(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::kElu:
    case PointwiseOp::kErf:
    case PointwiseOp::kExp:
    case PointwiseOp::kGelu:
    case PointwiseOp::kLog:
    case PointwiseOp::kMish:
    case PointwiseOp::kSigmoid:
    case PointwiseOp::kSilu:
    case PointwiseOp::kSin:
    case PointwiseOp::kCos:
    case PointwiseOp::kTanh:
      return 4;
    case PointwiseOp::kSoftplus:
      return 8;
    case PointwiseOp::kPow:
      return 16;
    default:
      return 1;
  }
}

bool BinaryOfFloats(PointwiseOp op, BinaryOp& binary) {
  switch (op) {
    case PointwiseOp::kAdd:
      binary = BinaryOp::kAdd;
      return true;
    case PointwiseOp::kSub:
      binary = BinaryOp::kSub;
      return true;
    case PointwiseOp::kMul:
      binary = BinaryOp::kMul;
      return true;
    case PointwiseOp::kDiv:
      binary = BinaryOp::kDiv;
      return true;
    case PointwiseOp::kMax:
      binary = BinaryOp::kMax;
      return true;
    case PointwiseOp::kMin:
      binary = BinaryOp::kMin;
      return true;
    default:
      return false;
  }
}

bool UnaryOfFloats(const PointwiseStep& step, UnaryOp& unary) {
  constexpr UnaryOp kGelus[] = {UnaryOp::kGelu, UnaryOp::kGeluTanh, UnaryOp::kGeluSigmoid};
  switch (step.op) {
#define TENON_UNARY(id)     \
  case PointwiseOp::k##id:  \
    unary = UnaryOp::k##id; \
    return true;
    TENON_UNARY(Abs)
    TENON_UNARY(Ceil)
    TENON_UNARY(Clip)
    TENON_UNARY(Cos)
    TENON_UNARY(Elu)
    TENON_UNARY(Erf)
    TENON_UNARY(Exp)
    TENON_UNARY(Floor)
    TENON_UNARY(HardSigmoid)
    TENON_UNARY(HardSwish)
    TENON_UNARY(LeakyRelu)
    TENON_UNARY(Log)
    TENON_UNARY(Mish)
    TENON_UNARY(Neg)
    TENON_UNARY(Reciprocal)
    TENON_UNARY(Relu)
    TENON_UNARY(Round)
    TENON_UNARY(Sigmoid)
    TENON_UNARY(Sign)
    TENON_UNARY(Silu)
    TENON_UNARY(Sin)
    TENON_UNARY(Softplus)
    TENON_UNARY(Sqrt)
    TENON_UNARY(Tanh)
#undef TENON_UNARY
    case PointwiseOp::kGelu:
      unary = kGelus[static_cast<size_t>(step.params[0])];
      return true;
    default:
      return false;
  }
}

PointwiseLoop FindLoop(PointwiseOp op, DType operand, DType result) {
  const PointwiseLoops& loops = Loops();
  const PointwiseElement element = ElementOf(operand);
  const int integer = operand == DType::kI64 ? 1 : 0;
  switch (op) {
    case PointwiseOp::kEqual:
      return loops.compare[kCompareEqual][element];
    case PointwiseOp::kGreater:
      return loops.compare[kCompareGreater][element];
    case PointwiseOp::kGreaterEqual:
      return loops.compare[kCompareGreaterEqual][element];
    case PointwiseOp::kLess:
      return loops.compare[kCompareLess][element];
    case PointwiseOp::kLessEqual:
      return loops.compare[kCompareLessEqual][element];
    case PointwiseOp::kAnd:
      return loops.logic[kLogicAnd];
    case PointwiseOp::kOr:
      return loops.logic[kLogicOr];
    case PointwiseOp::kXor:
      return loops.logic[kLogicXor];
    case PointwiseOp::kNot:
      return loops.logic[kLogicNot];
    case PointwiseOp::kCast:
      return loops.cast[element][ElementOf(result)];
    case PointwiseOp::kFma:
      return loops.fma;
    case PointwiseOp::kWhere:
      return loops.select[ElementOf(result)];
    case PointwiseOp::kAbs:
      return loops.integer[kIntegerAbs][integer];
    case PointwiseOp::kNeg:
      return loops.integer[kIntegerNeg][integer];
    case PointwiseOp::kAdd:
      return loops.integer[kIntegerAdd][integer];
    case PointwiseOp::kSub:
      return loops.integer[kIntegerSub][integer];
    case PointwiseOp::kMul:
      return loops.integer[kIntegerMul][integer];
    case PointwiseOp::kMax:
      return loops.integer[kIntegerMax][integer];
    case PointwiseOp::kMin:
      return loops.integer[kIntegerMin][integer];
    default:
      return nullptr;  // ops of floats alone
  }
}

void PowLoop(const float* a, const float* b, float* y, int64_t n, BinaryForm form) {
  if (form != BinaryForm::kVS) {
    for (int64_t i = 0; i < n; ++i) y[i] = std::pow(a[i], b[i]);
    return;
  }
  const float exponent = b[0];
  if (exponent == 1) return Apply(UnaryOp::kAffine, a, y, n, 1, 0);
  if (exponent == 2) return Apply(UnaryOp::kSquare, a, y, n);
  if (exponent == 3) return Apply(UnaryOp::kCube, a, y, n);
  if (exponent == -1) return Apply(UnaryOp::kReciprocal, a, y, n);
  for (int64_t i = 0; i < n; ++i) y[i] = std::pow(a[i], exponent);
}

}  // namespace tenon::kernels::cpu
