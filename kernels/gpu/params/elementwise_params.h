// Arguments of elementwise kernels, casts and selections.
#ifndef TENON_KERNELS_GPU_PARAMS_ELEMENTWISE_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ELEMENTWISE_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
#include "kernels/activation.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

enum class ElementwiseOp : uint8_t {
  // One operand. The activations keep their order: kActivation + ActivationKind.
  kActivation = 0,
  kAbs = kNumActivations,
  kNeg,
  kSign,
  kExp,
  kLog,
  kSqrt,
  kReciprocal,
  kErf,
  kSin,
  kCos,
  kCeil,
  kFloor,
  kRound,
  kSoftplus,
  kElu,
  kNot,
  kIsNan,
  // Two.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMax,
  kMin,
  kAnd,
  kOr,
  kXor,
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};
constexpr bool GivesBool(ElementwiseOp op) {
  return op == ElementwiseOp::kIsNan || op >= ElementwiseOp::kEqual;
}
constexpr ElementwiseOp OpOf(ActivationKind kind) { return static_cast<ElementwiseOp>(kind); }

// out = op(a, b); b is null for ops of one operand.
struct ElementwiseParams {
  ElementwiseOp op;
  DType dtype;  // of the operands
  float alpha = 0, beta = 0, gamma = 0;
  const void* a;
  const void* b;
  void* out;
  int64_t n;
  Strided<2> at;
};

// fused.group. Each thread has slots for values: the first ones take the inputs, others the values
// of steps that later ones read. Operands of steps are slots, or ~k for constant k.
inline constexpr int kMaxGroupInputs = 8;
inline constexpr int kMaxGroupValues = 40;
inline constexpr int kMaxGroupResults = 4;
struct GroupStep {
  enum Kind : uint8_t { kOp, kSelect, kCast } kind;
  ElementwiseOp op;  // kOp
  DType from, to;    // element types of the operands (of the last, for kSelect) and of the result
  int8_t operands;   // how many of a, b and c there are
  int8_t a, b, c;
  int8_t slot;    // takes the value; -1: no step reads it
  int8_t result;  // of the group, which the value is; -1: none
  float alpha, beta, gamma;
};
struct GroupParams {
  int num_inputs, num_constants, num_steps, num_results, num_slots;
  bool wide;  // a value of the body has 64 bits
  DType input_types[kMaxGroupInputs];
  const void* inputs[kMaxGroupInputs];
  // f32 by its bits, all others as numbers.
  int64_t constants[kMaxGroupValues];
  GroupStep steps[kMaxGroupValues];
  void* results[kMaxGroupResults];
  int64_t n;
  Strided<kMaxGroupInputs> at;
};

struct CastParams {
  DType from, to;
  const void* in;
  void* out;
  int64_t n;
};

// out = cond ? a : b, for elements of `size` bytes.
struct SelectParams {
  int size;
  const uint8_t* cond;
  const void* a;
  const void* b;
  void* out;
  int64_t n;
  Strided<3> at;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_ELEMENTWISE_PARAMS_H_
