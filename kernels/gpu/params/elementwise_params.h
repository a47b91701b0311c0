// Arguments of elementwise kernels, casts and selections.
#ifndef TENON_KERNELS_GPU_PARAMS_ELEMENTWISE_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ELEMENTWISE_PARAMS_H_

#include <cstdint>

#include "ir/base/dtype.h"
#include "kernels/activation.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// The op of an elementwise kernel, named as in the dialect `ten`.
enum class ElementwiseOp : uint8_t {
  // Ops of one operand. The activations keep their order: kActivation + ActivationKind.
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
  // Ops of two operands.
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
// True if the result is a bool.
constexpr bool GivesBool(ElementwiseOp op) {
  return op == ElementwiseOp::kIsNan || op >= ElementwiseOp::kEqual;
}
// Returns the op of an activation.
constexpr ElementwiseOp OpOf(ActivationKind kind) { return static_cast<ElementwiseOp>(kind); }

// out = op(a, b); b is null for ops of one operand.
struct ElementwiseParams {
  ElementwiseOp op;
  DType dtype;                           // of the operands
  float alpha = 0, beta = 0, gamma = 0;  // numbers of the op
  const void* a;
  const void* b;
  void* out;
  int64_t n;
  Strided<2> at;
};

inline constexpr int kMaxGroupInputs = 8;   // inputs of a fused.group
inline constexpr int kMaxGroupValues = 40;  // steps, and constants, of a fused.group
inline constexpr int kMaxGroupResults = 4;  // results of a fused.group
// One step of a fused.group. Each thread has slots for values: the first slots hold the inputs, the
// others hold values of steps that later steps read. Operands of steps are slots, or ~k for
// constant k.
struct GroupStep {
  // The kind of a step.
  enum Kind : uint8_t {
    kOp,      // op(a, b)
    kSelect,  // a ? b : c
    kFma,     // a * b + c of floats, rounded once
    kCast     // a as `to`
  } kind;
  ElementwiseOp op;  // kOp
  DType from, to;    // element types of the operands (of the last, for kSelect) and of the result
  int8_t operands;   // the number of operands: a, then b, then c
  int8_t a, b, c;
  int8_t slot;    // the slot for the value; -1: no step reads it
  int8_t result;  // the result of the group that is the value; -1: none
  float alpha, beta, gamma;
};
// A fused.group over n elements.
struct GroupParams {
  int num_inputs, num_constants, num_steps, num_results, num_slots;
  bool wide;  // a value of the body has 64 bits
  DType input_types[kMaxGroupInputs];
  const void* inputs[kMaxGroupInputs];
  // Floats of 32 bits as their bits, all others as numbers.
  int64_t constants[kMaxGroupValues];
  GroupStep steps[kMaxGroupValues];
  void* results[kMaxGroupResults];
  int64_t n;
  Strided<kMaxGroupInputs> at;
};

// out = in as type `to`, for n elements.
struct CastParams {
  DType from, to;
  const void* in;
  void* out;
  int64_t n;
};

// out = a * b + c, rounded once, for floats.
struct FmaParams {
  DType dtype;
  const void* a;
  const void* b;
  const void* c;
  void* out;
  int64_t n;
  Strided<3> at;
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
