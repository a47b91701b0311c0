// Reference kernel of determinants.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// The determinant of an n x n matrix, which is destroyed: the product of the pivots of Gaussian
// elimination. 1 for n = 0.
double Determinant(double* a, int64_t n) {
  double product = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + pivot * n + n, a + column * n);
      product = -product;
    }
    const double head = a[column * n + column];
    product *= head;
    if (head == 0) continue;  // the rest of the column is 0, or NaN
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / head;
      for (int64_t k = column; k < n; ++k) a[row * n + k] -= factor * a[column * n + k];
    }
  }
  return product;
}

template <typename T>
KernelStatus Det(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const int64_t n = x.dim(-1), size = n * n;
  if (x.dim(-2) != n) return KernelStatus::Invalid("a matrix is not square (expected n x n)");
  std::vector<double> matrix(static_cast<size_t>(size));
  for (int64_t i = 0; i < out.numel(); ++i) {
    for (int64_t k = 0; k < size; ++k) matrix[k] = DoubleAt(x, i * size + k);
    out.as<T>()[i] = static_cast<T>(Determinant(matrix.data(), n));
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefDet() {
  return {.op = "ten.det", .name = "ref.det", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype,
                                 [&](auto tag) { return Det<typename decltype(tag)::type>(args); });
          }};
}

}  // namespace tenon::kernels
