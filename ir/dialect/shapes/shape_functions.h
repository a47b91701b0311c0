// Shape functions (InferFn in ir/core/context/op_info.h): result types from operand types and
// attributes. They compute with dimension expressions, and so handle static and symbolic shapes. An
// unranked operand gives an unranked result where the rank depends on it. Extents that depend on
// run-time values are Unknown; NameUnknownDims (shape_data.h) names them.
//
// InferElementwise and InferSameAsFirst also suit ops of other dialects. The other functions belong
// to the ops whose names they have, and read their attributes.
#ifndef TENON_IR_DIALECT_SHAPES_SHAPE_FUNCTIONS_H_
#define TENON_IR_DIALECT_SHAPES_SHAPE_FUNCTIONS_H_

#include "absl/status/status.h"
#include "ir/core/context/op_info.h"

namespace tenon {

// The result has the broadcast shape of all operands. Its element type is that of the first
// operand, or the only one that the result constraint allows.
absl::Status InferElementwise(const InferContext& c, ResultTypes& results);
// The result has the type of the first operand. An attribute `axis` must lie within its rank.
absl::Status InferSameAsFirst(const InferContext& c, ResultTypes& results);

// ---- core
// core.constant: the type of `value`, the elements of a tensor.
absl::Status InferConstant(const InferContext& c, ResultTypes& results);
// core.dims: a vector of i64 with one element per dimension. With `scalar`, one i64 of rank 0.
absl::Status InferDims(const InferContext& c, ResultTypes& results);
// ctl.fail: extents `shape` of the element type `to`.
absl::Status InferFail(const InferContext& c, ResultTypes& results);

// ---- ten
// ten.cast: the shape of the operand with the element type `to`.
absl::Status InferCast(const InferContext& c, ResultTypes& results);
// ten.trilu, ten.dynamic_trilu: the type of `x`, whose rank must be at least 2.
absl::Status InferTrilu(const InferContext& c, ResultTypes& results);
// ten.where: the broadcast shape of all operands. `a` and `b` must have one element type.
absl::Status InferWhere(const InferContext& c, ResultTypes& results);
// ten.matmul: the product as in numpy, with broadcast batch axes. The inner extents must agree.
absl::Status InferMatMul(const InferContext& c, ResultTypes& results);
// ten.einsum: the axes that the output term of `equation` names. An ellipsis broadcasts.
absl::Status InferEinsum(const InferContext& c, ResultTypes& results);
// ten.argmax, ten.argmin: i64 positions, with the shape of InferReduce for the one axis `axis`.
absl::Status InferArgReduce(const InferContext& c, ResultTypes& results);
// ten.reduce_sum and others: `x` without the sorted `axes`. With `keepdims`, these have extent 1.
absl::Status InferReduce(const InferContext& c, ResultTypes& results);
// ten.shape: a vector of i64 with end - start elements.
absl::Status InferShapeOf(const InferContext& c, ResultTypes& results);
// ten.reshape: the shape `shape`, which must have as many elements as `x`.
absl::Status InferReshape(const InferContext& c, ResultTypes& results);
// ten.dynamic_reshape: Unknown extents. The length of `shape` gives the rank.
absl::Status InferDynamicReshape(const InferContext& c, ResultTypes& results);
// ten.expand: the broadcast shape of `x` and `shape`.
absl::Status InferExpand(const InferContext& c, ResultTypes& results);
absl::Status InferRandom(const InferContext& c, ResultTypes& results);  // of the dialect random
// Of the dialect str: the broadcast shape of the spans, and elements of i1.
absl::Status InferStrEqual(const InferContext& c, ResultTypes& results);
absl::Status InferStrFind(const InferContext& c, ResultTypes& results);  // i64 of the shape of `x`
// str.concat: spans of the broadcast shape, and a text of Unknown size.
absl::Status InferStrConcat(const InferContext& c, ResultTypes& results);
// Spans of the shape of `x`, and a text of Unknown size.
absl::Status InferStrMake(const InferContext& c, ResultTypes& results);
// str.split: spans with one more axis, of Unknown extent, and counts of the shape of `x`.
absl::Status InferStrSplit(const InferContext& c, ResultTypes& results);
absl::Status InferStrMatches(const InferContext& c, ResultTypes& results);   // i1, the shape of `x`
absl::Status InferStrToNumber(const InferContext& c, ResultTypes& results);  // `to`, the same shape
// str.count_ngrams: f32 of the shape of `x`, but with a column for each number up to the largest of
// `columns`.
absl::Status InferCountNgrams(const InferContext& c, ResultTypes& results);
// image.decode: ui8 of the shape [Unknown, Unknown, channels].
absl::Status InferDecodeImage(const InferContext& c, ResultTypes& results);
// ten.dynamic_expand: the rank of the broadcast shape. Keeps extents of `x` that cannot grow.
absl::Status InferDynamicExpand(const InferContext& c, ResultTypes& results);
// ten.transpose: the extents of `x` in the order `perm`, a permutation of its axes.
absl::Status InferTranspose(const InferContext& c, ResultTypes& results);
// ten.concat: the sum of the extents of `axis`. All other extents must agree.
absl::Status InferConcat(const InferContext& c, ResultTypes& results);
// ten.slice: the SliceExtent of each of `axes`; other extents stay.
absl::Status InferSlice(const InferContext& c, ResultTypes& results);
// ten.dynamic_slice: the rank of `x`. Extents that the op may cut are Unknown.
absl::Status InferDynamicSlice(const InferContext& c, ResultTypes& results);
// ten.split: one result for each of `sizes`, which must add up to the extent of `axis`.
absl::Status InferSplit(const InferContext& c, ResultTypes& results);
// ten.gather: the shape of `x` with the axes of `indices` in place of `axis`.
absl::Status InferGather(const InferContext& c, ResultTypes& results);
// ten.gather_elements: the shape of `indices` with the element type of `x`.
absl::Status InferGatherElements(const InferContext& c, ResultTypes& results);
// ten.gather_nd: `indices` without its last axis, then the axes of `x` behind those indexed.
absl::Status InferGatherNd(const InferContext& c, ResultTypes& results);
// ten.scatter_nd: the type of `x`. `updates` must have the shape that ten.gather_nd would give.
absl::Status InferScatterNd(const InferContext& c, ResultTypes& results);
// ten.pad: the extents of `x` plus `pads` on both sides. Negative pads crop.
absl::Status InferPad(const InferContext& c, ResultTypes& results);
// ten.tile: the extents of `x` times `repeats`.
absl::Status InferTile(const InferContext& c, ResultTypes& results);
// ten.dynamic_tile: the rank of `x` with Unknown extents.
absl::Status InferDynamicTile(const InferContext& c, ResultTypes& results);
// ten.range: a vector of Unknown length. The operands must be scalars.
absl::Status InferRange(const InferContext& c, ResultTypes& results);
// ten.resize: the shape `sizes`, which `scales` and `roi` must fit.
absl::Status InferResize(const InferContext& c, ResultTypes& results);
// ten.check_range: the type of `x`. `low` and `high` must broadcast to it.
absl::Status InferCheckRange(const InferContext& c, ResultTypes& results);
// ten.bitcast: the shape of the operand with the element type `to`, which must have the same size.
absl::Status InferBitcast(const InferContext& c, ResultTypes& results);
// ten.dynamic_reduce: Unknown extents. Without `keepdims`, the length of `axes` decides the rank.
absl::Status InferDynamicReduce(const InferContext& c, ResultTypes& results);
// ten.topk: values and i64 positions. Both have the shape of `x` with extent `k` along `axis`.
absl::Status InferTopK(const InferContext& c, ResultTypes& results);
// ten.dynamic_topk: the same with an Unknown extent along `axis`.
absl::Status InferDynamicTopK(const InferContext& c, ResultTypes& results);
// ten.dynamic_squeeze: Unknown extents. The rank is that of `x` minus the length of `axes`.
absl::Status InferDynamicSqueeze(const InferContext& c, ResultTypes& results);
// ten.dynamic_unsqueeze: Unknown extents. The rank is that of `x` plus the length of `axes`.
absl::Status InferDynamicUnsqueeze(const InferContext& c, ResultTypes& results);
// ten.scatter_elements: the type of `x`. `indices` and `updates` must have its rank and one shape.
absl::Status InferScatterElements(const InferContext& c, ResultTypes& results);
// ten.nonzero: i64 of the shape [rank of `x`, Unknown].
absl::Status InferNonZero(const InferContext& c, ResultTypes& results);
// ten.unique: an Unknown number of elements, or of slices along `axis`, and three i64 vectors.
absl::Status InferUnique(const InferContext& c, ResultTypes& results);
// ten.dynamic_pad: the rank of `x` with Unknown extents.
absl::Status InferDynamicPad(const InferContext& c, ResultTypes& results);
// ten.dynamic_resize: the shape of `x`, Unknown along `axes`, or along all axes if that is empty.
absl::Status InferDynamicResize(const InferContext& c, ResultTypes& results);
// ten.det: `x` without its last two axes, which must have one extent.
absl::Status InferDet(const InferContext& c, ResultTypes& results);
// ten.dft: `x` with `length` elements along `axis`, or the first half, and two parts; one part of
// a onesided inverse.
absl::Status InferDft(const InferContext& c, ResultTypes& results);
// ten.dynamic_dft: the rank of `x` with Unknown extents and the same last one.
absl::Status InferDynamicDft(const InferContext& c, ResultTypes& results);

// ---- nn
// nn.layer_norm, nn.rms_norm: the type of `x`. `scale` and `bias` must broadcast to it.
absl::Status InferNorm(const InferContext& c, ResultTypes& results);
// nn.batch_norm: the type of `x`. Each other operand has one element per channel (axis 1).
absl::Status InferBatchNorm(const InferContext& c, ResultTypes& results);
// nn.conv, fused.conv: the batch of `x`, the filters of `w`, and a WindowExtent per spatial axis.
absl::Status InferConv(const InferContext& c, ResultTypes& results);
// nn.conv_transpose, fused.conv_transpose: the batch of `x` and the filters of `w`. Spatial extents
// are (x - 1) * stride + window + output_padding - pads.
absl::Status InferConvTranspose(const InferContext& c, ResultTypes& results);
// nn.max_pool, nn.average_pool, nn.lp_pool: `x` with a WindowExtent per spatial axis.
absl::Status InferPool(const InferContext& c, ResultTypes& results);
// nn.max_pool_with_indices: as InferPool, then i64 indices of that shape.
absl::Status InferPoolWithIndices(const InferContext& c, ResultTypes& results);
// nn.grid_sample: the batch and channels of `x` with the spatial extents of `grid`.
absl::Status InferGridSample(const InferContext& c, ResultTypes& results);
// nn.deform_conv: as nn.conv. `offset` and `mask` must have the spatial extents of the result.
absl::Status InferDeformConv(const InferContext& c, ResultTypes& results);
// nn.roi_align: one image for each of `rois`, with the channels of `x` and the extents given.
absl::Status InferRoiAlign(const InferContext& c, ResultTypes& results);
// nn.non_max_suppression: i64 of the shape [Unknown, 3].
absl::Status InferNonMaxSuppression(const InferContext& c, ResultTypes& results);
// nn.tree_ensemble: `num_targets` numbers for each row of `x`. The tables must fit one another.
absl::Status InferTreeEnsemble(const InferContext& c, ResultTypes& results);
// nn.rotary_embedding: the type of `x`. `cos` and `sin` must have its element type.
absl::Status InferRotaryEmbedding(const InferContext& c, ResultTypes& results);
// nn.attention: the shape of `q` with the head size of `v`. Operands of rank 3 pack their heads.
absl::Status InferNnAttention(const InferContext& c, ResultTypes& results);
// nn.recurrence: all states [steps, batch, hidden], then the last state; for an lstm also its cell.
absl::Status InferRecurrence(const InferContext& c, ResultTypes& results);

// ---- q
// q.encode: the shape of x, with the narrow element type `to`.
absl::Status InferEncode(const InferContext& c, ResultTypes& results);
// q.decode: the shape of x, with the wider element type `to`.
absl::Status InferDecode(const InferContext& c, ResultTypes& results);
// q.linear: the shape that fused.linear has, with the element type `to`, i32 or f32.
absl::Status InferQuantizedLinear(const InferContext& c, ResultTypes& results);
// q.conv: the shape that nn.conv has, with the element type `to`, i32, f32, i8 or ui8.
absl::Status InferQuantizedConv(const InferContext& c, ResultTypes& results);

// ---- fused
// fused.expert_linear: [rows of `x`, columns of `w`]. `w` has rank 3: one matrix per expert.
absl::Status InferExpertLinear(const InferContext& c, ResultTypes& results);
// fused.compressed_linear: as InferFusedLinear. `w` needs a `scale` if and only if it is of i8.
absl::Status InferCompressedLinear(const InferContext& c, ResultTypes& results);
// fused.linear: the shape of `x` with the columns of `w` as last extent.
absl::Status InferFusedLinear(const InferContext& c, ResultTypes& results);
// fused.attention: the result in `out_layout`. With a past, the present key and value follow.
absl::Status InferFusedAttention(const InferContext& c, ResultTypes& results);
// fused.rotary: the type of `x`. `cos` and `sin` must broadcast to the part that is rotated.
absl::Status InferFusedRotary(const InferContext& c, ResultTypes& results);
// fused.gated: the common shape of `x` and `up`. Without `up`, the last extent of `x` is halved.
absl::Status InferGated(const InferContext& c, ResultTypes& results);
// fused.embedding: two results of the broadcast shape of all ids, then the length of a table row.
absl::Status InferEmbedding(const InferContext& c, ResultTypes& results);
// fused.group: one result per value that `body` yields, of the broadcast shape of all operands.
absl::Status InferGroup(const InferContext& c, ResultTypes& results);
// fused.embedding_pool: `ids` without the axis, and the row size.
absl::Status InferEmbeddingPool(const InferContext& c, ResultTypes& results);
// fused.squared_mat_sub: as fused.linear, with two matrices of one shape.
absl::Status InferSquaredMatSub(const InferContext& c, ResultTypes& results);
// fused.skip_layer_norm, fused.skip_rms_norm: two results, broadcast of `x` and `skip`.
absl::Status InferSkipNorm(const InferContext& c, ResultTypes& results);
// fused.linear_norm: as fused.linear, then the sum before the norm, of the same type.
absl::Status InferLinearNorm(const InferContext& c, ResultTypes& results);
// fused.norm_linear: as fused.linear of the norm of `x`.
absl::Status InferNormLinear(const InferContext& c, ResultTypes& results);
// fused.linear_chain: the shape of `x` with the columns of the last matrix as last extent. The
// residual broadcasts to it.
absl::Status InferLinearChain(const InferContext& c, ResultTypes& results);
// fused.attention_block: two results of the rows with the columns of `wo`. With a past, the present
// key and value follow.
absl::Status InferAttentionBlock(const InferContext& c, ResultTypes& results);
// fused.feed_forward: two results of the rows with the columns of `wd`.
absl::Status InferFeedForward(const InferContext& c, ResultTypes& results);
// fused.transformer_layer: as fused.feed_forward of the first half; then the present key and value.
absl::Status InferTransformerLayer(const InferContext& c, ResultTypes& results);
// fused.transformer_stack: fused.transformer_layer of each layer; then the present keys and values.
absl::Status InferTransformerStack(const InferContext& c, ResultTypes& results);
// fused.moved_norm: the shape of the rows where the norm puts them; then the sum, if it is wanted.
absl::Status InferMovedNorm(const InferContext& c, ResultTypes& results);
// fused.add_transpose: the broadcast shape of the operands with its axes in the order of `perm`.
absl::Status InferAddTranspose(const InferContext& c, ResultTypes& results);
// fused.transpose_concat: the transposed and reshaped inputs, joined along `axis`.
absl::Status InferTransposeConcat(const InferContext& c, ResultTypes& results);
// fused.group_norm: the type of `x`; then the sum with `skip`, if it is wanted.
absl::Status InferFusedGroupNorm(const InferContext& c, ResultTypes& results);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_SHAPE_FUNCTIONS_H_
