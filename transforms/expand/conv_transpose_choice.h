// Choosing the implementation of transposed convolutions.
#ifndef TENON_TRANSFORMS_EXPAND_CONV_TRANSPOSE_CHOICE_H_
#define TENON_TRANSFORMS_EXPAND_CONV_TRANSPOSE_CHOICE_H_

#include "ir/core/operation.h"
#include "ir/dialect/fused_ops.h"

namespace tenon {

// Reads the attributes of a nn.conv_transpose or fused.conv_transpose; the former has no
// activation. Requires one of these ops, as does HasConvTransposeKernel.
fused::ConvTransposeOp::Attrs ConvTransposeAttrsOf(Operation& op);

// True if the CPU kernel, which computes phase by phase, is faster than one convolution with
// interleaved results. The answer is that for the longest vectors.
bool HasConvTransposeKernel(Operation& op);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_EXPAND_CONV_TRANSPOSE_CHOICE_H_
