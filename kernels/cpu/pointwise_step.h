// What computes one step of a PointwiseBody where there is no machine code for the whole: a loop of
// vector_ops.h for floats, one of pointwise_loops.h for the rest.
#ifndef TENON_KERNELS_CPU_POINTWISE_STEP_H_
#define TENON_KERNELS_CPU_POINTWISE_STEP_H_

#include <cstdint>

#include "ir/core/pointwise.h"
#include "kernels/cpu/pointwise_loops.h"
#include "kernels/cpu/vector_ops.h"

namespace tenon::kernels::cpu {

// Time per element, in copies.
int64_t CostOf(PointwiseOp op);

// True if vector_ops.h has the op on floats; then which it is.
bool BinaryOfFloats(PointwiseOp op, BinaryOp& binary);
bool UnaryOfFloats(const PointwiseStep& step, UnaryOp& unary);

// The loop of an op whose first operand and result are of these types, for the active instruction
// set; null for ops that only floats have.
PointwiseLoop FindLoop(PointwiseOp op, DType operand, DType result);

// a to the power of b, n elements.
void PowLoop(const float* a, const float* b, float* y, int64_t n, BinaryForm form);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_STEP_H_
