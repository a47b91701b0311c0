// Arguments of kernels along rows and axes: softmax, norms, embeddings, rotary embeddings,
// reductions.
#ifndef TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_

#include <cstdint>

#include "ir/base/dtype.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// Running sums along an axis of n elements that are `inner` apart.
struct CumSumParams {
  DType dtype;
  bool exclusive, reverse;
  const void* in;
  void* out;
  int64_t outer, n, inner;
};

// The index of the largest (`max`) or smallest of n elements that are `inner` apart. A NaN wins.
struct ArgReduceParams {
  DType dtype;
  bool max, last;  // last: the last of equal ones, else the first
  const void* in;
  int64_t* out;
  int64_t outer, n, inner;
};

// Softmax over an axis of n elements that are `inner` apart.
struct SoftmaxParams {
  DType dtype;
  bool log;  // the logarithm of the softmax
  const void* in;
  void* out;
  int64_t outer, n, inner;
};

// The norm of a row.
enum class NormKind : uint8_t {
  kNone,   // none: the row as it is
  kLayer,  // layer normalization
  kRms     // RMS normalization
};

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

// sum = tables[0][ids[0]] + tables[1][ids[1]] + … + added; out = its norm. Null operands are
// absent. Rows have n elements.
struct EmbeddingParams {
  static constexpr int kMostTables = 8;

  DType dtype;
  NormKind kind;
  float epsilon;
  int num_tables;
  const void* ids[kMostTables];
  const void* tables[kMostTables];
  bool wide_ids[kMostTables];
  int64_t table_rows[kMostTables];
  const void* added;
  const void* scale;
  const void* bias;
  void* out;
  void* sum;
  int64_t rows, n, added_step;
  Strided<kMostTables + 1> outer;  // of the ids of each table, and of `added`
  DeviceError* error;
};

// The reduction.
enum class ReduceKind : uint8_t {
  kSum,   // the sum
  kMean,  // the sum / count
  kMax,   // the largest
  kMin,   // the smallest
  kProd,  // the product
  kL2     // the square root of the sum of squares
};

// out[i] = the reduction of `count` elements, for n results. `kept` locates the first element of
// result i, and `reduced` the elements from there.
struct ReduceParams {
  DType dtype;
  ReduceKind kind;
  const void* in;
  void* out;
  int64_t n, count;
  Strided<1> kept, reduced;
};

// fused.rotary for rows of `size` elements, of which the first `rotated` are rotated. `outer`
// locates rows of cos (operand 0) and sin (1); the steps lead along a row.
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

// nn.rotary_embedding: x is [batch, heads, length, dim] by its strides, and out is like x. `half`
// is the number of pairs.
struct RotaryEmbeddingParams {
  DType dtype;
  bool interleaved;
  const void* x;
  const void* cos;
  const void* sin;
  const int64_t* positions;  // or null
  void* out;
  int64_t batch, heads, length, dim, half, batch_stride, head_stride, row_stride;
  int64_t angle_strides[3];     // of the tables without positions, over [batch, length, half]
  int64_t position_strides[2];  // over [batch, length]
  int64_t table_rows;           // positions must be below this
  DeviceError* error;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_
