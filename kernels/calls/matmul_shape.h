// Decomposition of a ten.matmul call into plain matrix products.
#ifndef TENON_KERNELS_CALLS_MATMUL_SHAPE_H_
#define TENON_KERNELS_CALLS_MATMUL_SHAPE_H_

#include "kernels/shape.h"
#include "kernels/tensor_view.h"

namespace tenon::kernels {

// out[batch] (m x n) = a[batch] (m x k) * b[batch] (k x n). Element (i, j) of a matrix lies at i *
// row + j * col. Batch strides are per axis of `batch`, and 0 where an operand repeats.
struct MatMulShape {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0;
  Dims batch, a_batch, b_batch;

  // Requires ranks of at least 1. Transposing applies to operands of rank 2 and more.
  static MatMulShape Of(const TensorView& a, const TensorView& b, bool transpose_a,
                        bool transpose_b) {
    MatMulShape s;
    Dims a_shape = ToDims(a.shape), b_shape = ToDims(b.shape);
    const bool a_is_vector = a_shape.size() == 1, b_is_vector = b_shape.size() == 1;
    if (a_is_vector) a_shape.insert(a_shape.begin(), 1);
    if (b_is_vector) b_shape.push_back(1);
    const size_t ra = a_shape.size(), rb = b_shape.size();

    s.a_row = a_shape[ra - 1], s.a_col = 1;
    s.m = a_shape[ra - 2], s.k = a_shape[ra - 1];
    if (transpose_a && !a_is_vector) std::swap(s.m, s.k), std::swap(s.a_row, s.a_col);
    s.b_row = b_shape[rb - 1], s.b_col = 1;
    s.n = b_shape[rb - 1];
    if (transpose_b && !b_is_vector) s.n = b_shape[rb - 2], std::swap(s.b_row, s.b_col);

    const DimSpan a_batch(a_shape.data(), ra - 2), b_batch(b_shape.data(), rb - 2);
    s.batch = BroadcastShape(a_batch, b_batch);
    s.a_batch = BroadcastStrides(a_batch, View(s.batch));
    s.b_batch = BroadcastStrides(b_batch, View(s.batch));
    for (int64_t& stride : s.a_batch) stride *= a_shape[ra - 2] * a_shape[ra - 1];
    for (int64_t& stride : s.b_batch) stride *= b_shape[rb - 2] * b_shape[rb - 1];
    return s;
  }

  int64_t batch_count() const { return Product(View(batch)); }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_MATMUL_SHAPE_H_
