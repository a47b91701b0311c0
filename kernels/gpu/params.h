// Arguments of the GPU kernels: plain structs that the host fills and device code reads. C++20
// without the standard library's containers, for both compilers.
#ifndef TENON_KERNELS_GPU_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
#include "kernels/activation.h"

namespace tenon::kernels::gpu {

inline constexpr int kMaxAxes = 8;

// Where N operands lie over one index space, in elements. Row-major order of the index.
template <int N>
struct Strided {
  int rank = 0;
  int64_t shape[kMaxAxes] = {};
  int64_t strides[N][kMaxAxes] = {};
};

// What a kernel found wrong with values that the host cannot see; the first finding stays. In
// device memory.
struct DeviceError {
  enum Kind : int32_t { kNone, kGatherIndex, kEmbeddingIndex, kGatherElementsIndex, kPosition };
  int32_t kind = kNone;
  int64_t value = 0, extent = 0;
};

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

// fused.group. Values are numbered as in ir/core/pointwise.h: inputs, constants, steps.
inline constexpr int kMaxGroupInputs = 8;
inline constexpr int kMaxGroupValues = 40;
inline constexpr int kMaxGroupResults = 4;
struct GroupStep {
  enum Kind : uint8_t { kOp, kSelect, kCast } kind;
  ElementwiseOp op;  // kOp
  DType from, to;    // element types of the operands (of the last, for kSelect) and of the result
  int8_t a, b, c;
  float alpha, beta;
};
struct GroupParams {
  int num_inputs, num_constants, num_steps, num_results;
  DType input_types[kMaxGroupInputs];
  const void* inputs[kMaxGroupInputs];
  // f32 by its bits, all others as numbers.
  int64_t constants[kMaxGroupValues];
  GroupStep steps[kMaxGroupValues];
  int8_t result_values[kMaxGroupResults];
  DType result_types[kMaxGroupResults];
  void* results[kMaxGroupResults];
  int64_t n;
  Strided<kMaxGroupInputs> at;
};
static_assert(sizeof(GroupParams) <= 4096, "what drivers take as a kernel's arguments");

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

// out[i] = in[offset + position of i]: transposes, slices, broadcasts, repetitions.
struct StridedCopyParams {
  int size;  // bytes of an element: 1, 2, 4, 8, 16
  const void* in;
  void* out;
  int64_t n, offset;
  Strided<1> at;
};

// Rows of `width` bytes from one pitch to another: parts of concat and split.
struct PieceCopyParams {
  const void* in;
  void* out;
  int64_t rows, width, in_pitch, out_pitch;
};

// out[o, i, :] = in[o, indices[i], :], slices of `width` bytes.
struct GatherParams {
  const void* in;
  const void* indices;
  void* out;
  int64_t outer, extent, count, width;
  bool wide_indices;  // i64, not i32
  DeviceError* error;
};

// out[i] = in at the place of i but for the axis, where the index at i says where. Elements of
// `size` bytes.
struct GatherElementsParams {
  int size;
  bool wide_indices;
  const void* in;
  const void* indices;
  void* out;
  int64_t n, extent, step;  // of the axis in `in`
  Strided<1> at;            // with a step of 0 along the axis
  DeviceError* error;
};

// out[i] = in at the place of i, moved by what was padded; outside of it `value`, or what the mode
// says. Elements of `size` bytes.
enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
struct PadParams {
  int size;
  PadMode mode;
  const void* in;
  const void* value;  // one element, or null: zero
  void* out;
  int64_t n;
  int rank;
  int64_t out_shape[kMaxAxes], in_shape[kMaxAxes], strides[kMaxAxes], begins[kMaxAxes];
};

// Running sums along an axis of n elements that are `inner` apart.
struct CumSumParams {
  DType dtype;
  bool exclusive, reverse;
  const void* in;
  void* out;
  int64_t outer, n, inner;
};

// The index of the largest or smallest of n elements that are `inner` apart; a NaN wins.
struct ArgReduceParams {
  DType dtype;
  bool max, last;  // last: of equal ones
  const void* in;
  int64_t* out;
  int64_t outer, n, inner;
};

// Softmax over an axis of n elements that are `inner` apart.
struct SoftmaxParams {
  DType dtype;
  bool log;
  const void* in;
  void* out;
  int64_t outer, n, inner;
};

enum class NormKind : uint8_t { kNone, kLayer, kRms };

// sum = x + skip, rounded to the dtype; out = norm(sum) * scale + bias over rows of n elements.
// Operands: 0 x, 1 skip, 2 scale, 3 bias.
struct NormParams {
  DType dtype;
  NormKind kind;
  float epsilon;
  const void* in[4];  // null: absent
  void* out;
  void* sum;  // null: not wanted
  int64_t rows, n;
  Strided<4> outer, inner;  // over the rows, and along one
};

// sum = table[ids] (+ table1[ids1]) (+ table2[ids2]) (+ added); out = its norm.
struct EmbeddingParams {
  DType dtype;
  NormKind kind;
  float epsilon;
  const void* ids[3];
  const void* tables[3];
  bool wide_ids[3];
  int64_t table_rows[3];
  const void* added;
  const void* scale;
  const void* bias;
  void* out;
  void* sum;
  int64_t rows, n, added_step;
  Strided<4> outer;  // ids of the three pairs, and `added`
  DeviceError* error;
};

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kProd, kL2 };

// out[i] = reduction of `count` elements that begin at kept.at(i).
struct ReduceParams {
  DType dtype;
  ReduceKind kind;
  const void* in;
  void* out;
  int64_t n, count;
  Strided<1> kept, reduced;
};

// fused.rotary; cos and sin over rows (0, 1), and their steps along a row.
struct RotaryParams {
  DType dtype;
  bool interleaved;
  const void* x;
  const void* cos;
  const void* sin;
  void* out;
  int64_t rows, size, rotated, cos_step, sin_step;
  Strided<2> outer;
};

// nn.rotary_embedding: x as [batch, heads, length, dim] by its strides; out like x.
struct RotaryEmbeddingParams {
  DType dtype;
  bool interleaved;
  const void* x;
  const void* cos;
  const void* sin;
  const int64_t* positions;  // or null
  void* out;
  int64_t batch, heads, length, dim, half, batch_stride, head_stride, row_stride;
  // Without positions, of the tables over [batch, length, half].
  int64_t angle_strides[3];
  int64_t position_strides[2];  // over [batch, length]
  int64_t table_rows;
  DeviceError* error;
};

// fused.compressed_linear: out = activation(x * w + bias) + residual, of f32. w is of i8 with a
// factor for `group` elements of a column, or of bf16 where `scale` is null; x is rounded to bf16
// then.
struct CompressedParams {
  bool transpose_w;
  ActivationKind activation;
  float alpha, beta;
  const void* x;
  const void* w;
  const float* scale;
  const float* bias;      // or null
  const float* residual;  // or null
  float* out;
  int64_t rows, n, k, group;
  Strided<1> residual_at;
};

// out = activation(gate) * up, rows of n elements.
struct GatedParams {
  DType dtype;
  ActivationKind activation;
  float alpha, beta;
  const void* gate;
  const void* up;
  void* out;
  int64_t rows, n, pitch;  // pitch: of gate and up
};

// out = activation(out + bias) + residual: what a product's own epilogue does not cover.
// `from_zero`: in place of a product of nothing. The bias is per column, or, with `bias_rows`, of
// so many rows that repeat.
struct EpilogueParams {
  DType dtype;
  bool from_zero;
  ActivationKind activation;
  float alpha, beta;
  const void* bias;      // or null
  const void* residual;  // or null
  void* out;
  int64_t rows, n, bias_rows;
  Strided<1> residual_at;
};

// The windows of convolution and pooling (kernels/window.h) over images.
inline constexpr int kMaxSpatial = 3;
struct WindowParams {
  int rank;
  int64_t in[kMaxSpatial], out[kMaxSpatial], kernel[kMaxSpatial], strides[kMaxSpatial],
      dilations[kMaxSpatial], pads_begin[kMaxSpatial], pads_end[kMaxSpatial];
  int64_t size, out_positions;  // products of kernel and out
};
// Elements from one image, channel and position to the next.
struct ImageSteps {
  int64_t image, channel, position;
};

// out = activation(conv(x, w) + bias + residual), out and residual dense in the layout of x.
struct ConvParams {
  DType dtype;
  bool channels_last;
  ActivationKind activation;
  float alpha, beta;
  const void* x;
  const void* w;         // [filters, channels of a group, window]
  const void* bias;      // [filters], or null
  const void* residual;  // or null
  void* out;
  int64_t batch, filters, filters_per_group, channels_per_group;
  ImageSteps x_steps;
  WindowParams window;
};

// out[image, position, channel, window element] = what the window at that position sees.
struct UnfoldParams {
  DType dtype;
  const void* x;
  void* out;
  int64_t batch, channels;
  ImageSteps x_steps;
  WindowParams window;
};

struct PoolParams {
  DType dtype;
  bool channels_last, max, count_padding;
  const void* x;
  void* out;
  int64_t batch, channels;
  ImageSteps x_steps;
  WindowParams window;
};

struct AttentionOperand {
  const void* data;
  int64_t batch, head, row, element, offset;  // strides in elements
};

// See fused.attention. Strides of mask, bias and key mask are over [batch, head, query, key].
struct AttentionParams {
  DType dtype;
  AttentionOperand q, k, v, out;
  const void* mask;
  const void* bias;
  const uint8_t* key_mask;
  bool mask_is_bool, mask_replaces, causal, repeats_first_key, nan_guard;
  int64_t mask_strides[4], bias_strides[4], key_mask_strides[4];
  int64_t batch, heads, heads_per_kv, q_len, k_len;
  int dim, v_dim;
  int64_t window, causal_offset;
  float scale, softcap, mask_value;
  // Into how many parts the keys of a row are divided, each with a block of its own; then `parts`
  // takes what they find, PartFloats(v_dim) for each row and part, and JoinAttention the rest.
  int64_t splits;
  float* parts;
};
constexpr int PartFloats(int v_dim) { return v_dim + 3; }

// The parts of an AttentionParams, joined: its rows in the order [batch, head, query].
struct JoinAttentionParams {
  DType dtype;
  AttentionOperand out;
  const float* parts;
  int64_t batch, heads, q_len, splits;
  int v_dim;
  bool nan_guard;
};

// out[i] (m x n) = a[i] (m x k) * b[i] (k x n) for `batch` matrices, then the epilogue:
// out = activation(out + bias + residual). Row-major; a transposed operand is stored k x m (n x k).
// No extent is 0.
struct MatMulParams {
  DType dtype;
  bool transpose_a, transpose_b;
  ActivationKind activation = ActivationKind::kNone;  // kNone, kRelu or kGeluTanh
  const void* a;
  const void* b;
  const void* bias = nullptr;      // [n]
  const void* residual = nullptr;  // like out
  void* out;
  int64_t m, n, k, batch, a_stride, b_stride, out_stride;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_H_
