// The elementwise ops on single elements.
#ifndef TENON_KERNELS_GPU_DEVICE_ELEMENTWISE_OPS_H_
#define TENON_KERNELS_GPU_DEVICE_ELEMENTWISE_OPS_H_

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {

// Numbers of an activation or an op.
struct Factors {
  float alpha, beta, gamma;
};

// Calls use(f), where f(a, b) is the activation of a.
template <typename F>
__device__ inline void WithActivation(ActivationKind kind, const Factors& p, F&& use) {
  switch (kind) {
#define TENON_ACTIVATION(name) \
  case ActivationKind::name:   \
    return use([&p](float a, float) { return Activate(ActivationKind::name, p.alpha, p.beta, a); });
    TENON_ACTIVATION(kNone)
    TENON_ACTIVATION(kRelu)
    TENON_ACTIVATION(kGelu)
    TENON_ACTIVATION(kGeluTanh)
    TENON_ACTIVATION(kGeluSigmoid)
    TENON_ACTIVATION(kSilu)
    TENON_ACTIVATION(kSigmoid)
    TENON_ACTIVATION(kTanh)
    TENON_ACTIVATION(kClip)
    TENON_ACTIVATION(kLeakyRelu)
    TENON_ACTIVATION(kHardSigmoid)
    TENON_ACTIVATION(kHardSwish)
    TENON_ACTIVATION(kMish)
#undef TENON_ACTIVATION
  }
}

// Calls use(f), where f(a, b) is the op on f32; ops of one operand leave b alone.
template <typename F>
__device__ inline void WithOp(ElementwiseOp op, const Factors& p, F&& use) {
  switch (op) {
    case ElementwiseOp::kAbs:
      return use([](float a, float) { return fabsf(a); });
    case ElementwiseOp::kNeg:
      return use([](float a, float) { return -a; });
    case ElementwiseOp::kSign:
      return use([](float a, float) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; });
    case ElementwiseOp::kExp:
      return use([](float a, float) { return expf(a); });
    case ElementwiseOp::kLog:
      return use([](float a, float) { return logf(a); });
    case ElementwiseOp::kSqrt:
      return use([](float a, float) { return sqrtf(a); });
    case ElementwiseOp::kReciprocal:
      return use([](float a, float) { return 1.0f / a; });
    case ElementwiseOp::kErf:
      return use([](float a, float) { return erff(a); });
    case ElementwiseOp::kSin:
      return use([](float a, float) { return sinf(a); });
    case ElementwiseOp::kCos:
      return use([](float a, float) { return cosf(a); });
    case ElementwiseOp::kCeil:
      return use([](float a, float) { return ceilf(a); });
    case ElementwiseOp::kFloor:
      return use([](float a, float) { return floorf(a); });
    case ElementwiseOp::kRound:
      return use([](float a, float) { return rintf(a); });
    case ElementwiseOp::kSoftplus:
      return use([](float a, float) { return a > 0 ? a + log1pf(expf(-a)) : log1pf(expf(a)); });
    case ElementwiseOp::kElu:  // alpha, beta = 1 / width, gamma
      return use([&p](float a, float) {
        return a > 0 ? p.gamma * a : p.gamma * p.alpha * expm1f(a * p.beta);
      });
    case ElementwiseOp::kAdd:
      return use([](float a, float b) { return a + b; });
    case ElementwiseOp::kSub:
      return use([](float a, float b) { return a - b; });
    case ElementwiseOp::kMul:
      return use([](float a, float b) { return a * b; });
    case ElementwiseOp::kDiv:
      return use([](float a, float b) { return a / b; });
    case ElementwiseOp::kPow:
      return use([](float a, float b) { return b == 2 ? a * a : powf(a, b); });
    case ElementwiseOp::kMax:
      return use([](float a, float b) { return a != a || a > b ? a : b; });
    case ElementwiseOp::kMin:
      return use([](float a, float b) { return a != a || a < b ? a : b; });
    default:
      return WithActivation(static_cast<ActivationKind>(op), p, use);
  }
}
// Returns op(a, b) of f32.
__device__ inline float Apply(ElementwiseOp op, const Factors& p, float a, float b) {
  float result = 0;
  WithOp(op, p, [&](auto f) { result = f(a, b); });
  return result;
}

// Returns op(a, b) of bools.
__device__ inline uint8_t ApplyInt(ElementwiseOp op, uint8_t a, uint8_t b) {
  switch (op) {
    case ElementwiseOp::kNot:
      return a == 0;
    case ElementwiseOp::kAnd:
      return a != 0 && b != 0;
    case ElementwiseOp::kOr:
      return a != 0 || b != 0;
    default:  // xor
      return (a != 0) != (b != 0);
  }
}

// Returns op(a, b) of integers. Arithmetic wraps around.
template <typename I>
__device__ inline I ApplyInt(ElementwiseOp op, I a, I b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case ElementwiseOp::kAbs:
      return a < 0 ? static_cast<I>(0 - ua) : a;
    case ElementwiseOp::kNeg:
      return static_cast<I>(0 - ua);
    case ElementwiseOp::kSign:
      return static_cast<I>((a > 0) - (a < 0));
    case ElementwiseOp::kAdd:
      return static_cast<I>(ua + ub);
    case ElementwiseOp::kSub:
      return static_cast<I>(ua - ub);
    case ElementwiseOp::kMul:
      return static_cast<I>(ua * ub);
    case ElementwiseOp::kMax:
      return a > b ? a : b;
    case ElementwiseOp::kMin:
      return a < b ? a : b;
    default:  // relu
      return a < 0 ? 0 : a;
  }
}

// Returns the result of a comparison.
template <typename C>
__device__ inline bool Test(ElementwiseOp op, C a, C b) {
  switch (op) {
    case ElementwiseOp::kEqual:
      return a == b;
    case ElementwiseOp::kLess:
      return a < b;
    case ElementwiseOp::kLessEqual:
      return a <= b;
    case ElementwiseOp::kGreater:
      return a > b;
    case ElementwiseOp::kGreaterEqual:
      return a >= b;
    default:  // is_nan
      return a != a;
  }
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_ELEMENTWISE_OPS_H_
