// The loops for one step of a PointwiseBody without machine code: those of vector_ops.h for floats,
// and those of pointwise_loops.h for other types.
#ifndef TENON_KERNELS_CPU_POINTWISE_POINTWISE_STEP_H_
#define TENON_KERNELS_CPU_POINTWISE_POINTWISE_STEP_H_

#include <cstdint>

#include "ir/base/pointwise.h"
#include "kernels/cpu/pointwise/pointwise_loops.h"
#include "kernels/cpu/vector/vector_ops.h"

namespace tenon::kernels::cpu {

// Returns the time per element, in copies of an element.
int64_t CostOf(PointwiseOp op);

// Returns true and sets `binary` if vector_ops.h has the op on floats.
bool BinaryOfFloats(PointwiseOp op, BinaryOp& binary);
// Returns true and sets `unary` if vector_ops.h has the op on floats.
bool UnaryOfFloats(const PointwiseStep& step, UnaryOp& unary);

// Returns the loop of an op for the types of its first operand and result, for the active
// instruction set. Null for ops that only floats have.
PointwiseLoop FindLoop(PointwiseOp op, DType operand, DType result);

// y = a to the power of b, for n elements.
void PowLoop(const float* a, const float* b, float* y, int64_t n, BinaryForm form);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_POINTWISE_STEP_H_
