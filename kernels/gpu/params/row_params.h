// Arguments of kernels along rows and axes: softmax, norms, embeddings, rotary embeddings,
// reductions.
#ifndef TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
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

// sum = table[ids] + table[ids] + … (+ added); out = its norm.
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
  Strided<kMostTables + 1> outer;  // ids of each table, and `added`
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

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_ROW_PARAMS_H_
