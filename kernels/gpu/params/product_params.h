// Arguments of matrix products and of the operations that follow them.
#ifndef TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_

#include <cstdint>

#include "ir/base/dtype.h"
#include "kernels/activation.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

// The most rows of x for which a thin product is faster than the library's.
inline constexpr int64_t kThinProductRows = 8;

// A product of few rows: out = activation(x * w + bias) + residual, with sums in f32. Elements of
// x, bias, residual and out are of `dtype`, and those of w too, or of one of these types for f32:
//   bf16: x is rounded to bf16;
//   i8: w has a factor of `scale` for each `group` elements of a column.
// k and group are less than 2^31. No extent is 0, except that of k.
struct ThinProductParams {
  DType dtype, weights;
  bool transpose_w;
  ActivationKind activation;
  float alpha, beta;
  const void* x;
  const void* w;
  const float* scale;    // of i8
  const void* bias;      // or null
  const void* residual;  // or null
  void* out;
  int64_t rows, n, k, group;
  Strided<1> residual_at;
};

// out = columns [first, first + columns) of w times their factors, in f32. w is an i8 matrix of k
// rows and n columns. `transpose_w` means that w and out are stored transposed.
struct WidenParams {
  bool transpose_w;
  const int8_t* w;
  const float* scale;
  float* out;
  int64_t n, k, group, first, columns;
};

// q.linear: out = (x - x_zero) * (w - w_zero) for bytes x (rows x k) and w (k x n). Sums are 32-bit
// integers that wrap around. `out` has them as i32, or as f32 with `to_float`.
struct QLinearParams {
  bool x_signed, w_signed;  // these operands and their zero points are i8, not ui8
  bool w_zero_each;         // a zero point for each column of w, or one for all
  bool to_float;
  const void* x;
  const void* w;
  const void* x_zero;
  const void* w_zero;
  void* out;
  int64_t rows, n, k;
};

// out = activation(gate) * up for rows of n elements.
struct GatedParams {
  DType dtype;
  ActivationKind activation;
  float alpha, beta;
  const void* gate;
  const void* up;
  void* out;
  int64_t rows, n, pitch;  // pitch: of gate and up
};

// out = activation(out + bias) + residual, for products whose own epilogue does not do it.
// `from_zero` starts from zeros, for a product with k = 0. The bias is per column; with `bias_rows`
// it is a matrix of that many rows, which repeat.
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
  int64_t residual_step;  // between neighbors of a row; the launcher sets it
};

// out[i] (m x n) = a[i] (m x k) * b[i] (k x n) for `batch` matrices, then the epilogue:
// out = activation(out + bias + residual). Row-major; a transposed operand is stored k x m (n x k).
// No extent is 0.
struct MatMulParams {
  DType dtype;      // of a and b
  DType out_dtype;  // of out, bias and residual: as `dtype`, or f32 for bf16
  bool transpose_a, transpose_b;
  ActivationKind activation = ActivationKind::kNone;  // kNone, kRelu or kGeluTanh
  const void* a;
  const void* b;
  const void* bias = nullptr;      // [n]
  const void* residual = nullptr;  // like out
  void* out;
  int64_t m, n, k, batch, a_stride, b_stride, out_stride;
  int64_t out_pitch = 0;  // from one row of out, and of residual, to the next; 0: n

  // The distance of rows of out.
  constexpr int64_t pitch() const { return out_pitch == 0 ? n : out_pitch; }
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
