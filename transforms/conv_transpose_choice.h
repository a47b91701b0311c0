// Which transposed convolutions are left to a CPU kernel, and how all of them are read.
#ifndef TENON_TRANSFORMS_CONV_TRANSPOSE_CHOICE_H_
#define TENON_TRANSFORMS_CONV_TRANSPOSE_CHOICE_H_

#include "ir/core/operation.h"
#include "ir/dialect/fused_ops.h"

namespace tenon {

// REQUIRES, here and below: nn.conv_transpose or fused.conv_transpose. The former has no
// activation.
fused::ConvTransposeOp::Attrs ConvTransposeAttrsOf(Operation& op);

// Is the operation better left to the CPU's kernel, which computes it phase by phase, than made one
// convolution whose results interleave? The answer is that for the longest vectors.
bool HasConvTransposeKernel(Operation& op);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_CONV_TRANSPOSE_CHOICE_H_
