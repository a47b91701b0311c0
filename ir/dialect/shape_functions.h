// Shape functions (InferFn in ir/core/op_info.h): result types from operand types and attributes.
// They compute with dimension expressions, and so handle static and symbolic shapes. An unranked
// operand gives an unranked result where the rank depends on it. Extents that depend on run-time
// values are Unknown; NameUnknownDims (shape_data.h) names them.
//
// InferElementwise and InferSameAsFirst also suit ops of other dialects. The other functions belong
// to the ops whose names they have, and read their attributes.
#ifndef TENON_IR_DIALECT_SHAPE_FUNCTIONS_H_
#define TENON_IR_DIALECT_SHAPE_FUNCTIONS_H_

#include "absl/status/status.h"
#include "ir/core/op_info.h"

namespace tenon {

// The result has the broadcast shape of all operands. Its element type is that of the first
// operand, or the only one that the result constraint allows.
absl::Status InferElementwise(const InferContext& c, ResultTypes& results);
// The result has the type of the first operand. An attribute `axis` must lie within its rank.
absl::Status InferSameAsFirst(const InferContext& c, ResultTypes& results);

// core
absl::Status InferConstant(const InferContext& c, ResultTypes& results);
absl::Status InferDims(const InferContext& c, ResultTypes& results);

// ten
absl::Status InferCast(const InferContext& c, ResultTypes& results);
absl::Status InferTrilu(const InferContext& c, ResultTypes& results);
absl::Status InferWhere(const InferContext& c, ResultTypes& results);
absl::Status InferMatMul(const InferContext& c, ResultTypes& results);
absl::Status InferEinsum(const InferContext& c, ResultTypes& results);
absl::Status InferArgReduce(const InferContext& c, ResultTypes& results);
absl::Status InferReduce(const InferContext& c, ResultTypes& results);
absl::Status InferShapeOf(const InferContext& c, ResultTypes& results);
absl::Status InferReshape(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicReshape(const InferContext& c, ResultTypes& results);
absl::Status InferExpand(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicExpand(const InferContext& c, ResultTypes& results);
absl::Status InferTranspose(const InferContext& c, ResultTypes& results);
absl::Status InferConcat(const InferContext& c, ResultTypes& results);
absl::Status InferSlice(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicSlice(const InferContext& c, ResultTypes& results);
absl::Status InferSplit(const InferContext& c, ResultTypes& results);
absl::Status InferGather(const InferContext& c, ResultTypes& results);
absl::Status InferGatherElements(const InferContext& c, ResultTypes& results);
absl::Status InferGatherNd(const InferContext& c, ResultTypes& results);
absl::Status InferScatterNd(const InferContext& c, ResultTypes& results);
absl::Status InferPad(const InferContext& c, ResultTypes& results);
absl::Status InferTile(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicTile(const InferContext& c, ResultTypes& results);
absl::Status InferRange(const InferContext& c, ResultTypes& results);
absl::Status InferResize(const InferContext& c, ResultTypes& results);
absl::Status InferCheckRange(const InferContext& c, ResultTypes& results);
absl::Status InferBitcast(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicReduce(const InferContext& c, ResultTypes& results);
absl::Status InferTopK(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicTopK(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicSqueeze(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicUnsqueeze(const InferContext& c, ResultTypes& results);
absl::Status InferScatterElements(const InferContext& c, ResultTypes& results);
absl::Status InferNonZero(const InferContext& c, ResultTypes& results);
absl::Status InferUnique(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicPad(const InferContext& c, ResultTypes& results);
absl::Status InferDynamicResize(const InferContext& c, ResultTypes& results);

// nn
absl::Status InferNorm(const InferContext& c, ResultTypes& results);
absl::Status InferBatchNorm(const InferContext& c, ResultTypes& results);
absl::Status InferConv(const InferContext& c, ResultTypes& results);
absl::Status InferConvTranspose(const InferContext& c, ResultTypes& results);
absl::Status InferPool(const InferContext& c, ResultTypes& results);
absl::Status InferPoolWithIndices(const InferContext& c, ResultTypes& results);
absl::Status InferGridSample(const InferContext& c, ResultTypes& results);
absl::Status InferRotaryEmbedding(const InferContext& c, ResultTypes& results);
absl::Status InferNnAttention(const InferContext& c, ResultTypes& results);
absl::Status InferRecurrence(const InferContext& c, ResultTypes& results);

// q
absl::Status InferQuantizedLinear(const InferContext& c, ResultTypes& results);

// fused
absl::Status InferExpertLinear(const InferContext& c, ResultTypes& results);
absl::Status InferCompressedLinear(const InferContext& c, ResultTypes& results);
absl::Status InferFusedLinear(const InferContext& c, ResultTypes& results);
absl::Status InferFusedAttention(const InferContext& c, ResultTypes& results);
absl::Status InferFusedRotary(const InferContext& c, ResultTypes& results);
absl::Status InferGated(const InferContext& c, ResultTypes& results);
absl::Status InferEmbedding(const InferContext& c, ResultTypes& results);
absl::Status InferGroup(const InferContext& c, ResultTypes& results);
absl::Status InferSkipNorm(const InferContext& c, ResultTypes& results);
absl::Status InferLinearNorm(const InferContext& c, ResultTypes& results);
absl::Status InferNormLinear(const InferContext& c, ResultTypes& results);
absl::Status InferLinearChain(const InferContext& c, ResultTypes& results);
absl::Status InferMovedNorm(const InferContext& c, ResultTypes& results);
absl::Status InferAddTranspose(const InferContext& c, ResultTypes& results);
absl::Status InferTransposeConcat(const InferContext& c, ResultTypes& results);
absl::Status InferFusedGroupNorm(const InferContext& c, ResultTypes& results);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_FUNCTIONS_H_
