// Arguments of matrix products, and of what is done to their results.
#ifndef TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
#include "kernels/activation.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// fused.compressed_linear of few rows: out = activation(x * w + bias) + residual, of f32. w is of
// i8 with a factor for `group` elements of a column, or of bf16 where `scale` is null; x is rounded
// to bf16 then. k and group are less than 2^31.
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

// out = `columns` columns of w, an i8 matrix of k rows and n columns, from column `first` on, times
// their factors: of f32, and transposed where w is.
struct WidenParams {
  bool transpose_w;
  const int8_t* w;
  const float* scale;
  float* out;
  int64_t n, k, group, first, columns;
};

// q.linear: out = (x - x_zero) * (w - w_zero), of bytes x (rows x k) and w (k x n). Sums are
// integers of 32 bits that wrap around, in `out` as they are or as f32.
struct QLinearParams {
  bool x_signed, w_signed;  // and their zero points
  bool w_zero_each;         // a zero point for each column of w, or one for all
  bool to_float;
  const void* x;
  const void* w;
  const void* x_zero;
  const void* w_zero;
  void* out;
  int64_t rows, n, k;
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
  int64_t residual_step;  // from one of a row to its neighbour; the launcher fills it in
};

// out[i] (m x n) = a[i] (m x k) * b[i] (k x n) for `batch` matrices, then the epilogue:
// out = activation(out + bias + residual). Row-major; a transposed operand is stored k x m (n x k).
// No extent is 0.
struct MatMulParams {
  DType dtype;      // of a and b
  DType out_dtype;  // of out, bias and residual: that of a and b, or f32 where theirs is bf16
  bool transpose_a, transpose_b;
  ActivationKind activation = ActivationKind::kNone;  // kNone, kRelu or kGeluTanh
  const void* a;
  const void* b;
  const void* bias = nullptr;      // [n]
  const void* residual = nullptr;  // like out
  void* out;
  int64_t m, n, k, batch, a_stride, b_stride, out_stride;
  int64_t out_pitch = 0;  // from one row of out, and of residual, to the next; 0: n

  constexpr int64_t pitch() const { return out_pitch == 0 ? n : out_pitch; }
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
