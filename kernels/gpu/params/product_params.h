// Arguments of matrix products, and of what is done to their results.
#ifndef TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
#include "kernels/activation.h"
#include "kernels/gpu/params/strided.h"

namespace tenon::kernels::gpu {

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

#endif  // TENON_KERNELS_GPU_PARAMS_PRODUCT_PARAMS_H_
