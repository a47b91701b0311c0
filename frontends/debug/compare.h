// Comparing tensors.
#ifndef TENON_FRONTENDS_DEBUG_COMPARE_H_
#define TENON_FRONTENDS_DEBUG_COMPARE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "executor/tensor.h"

namespace tenon {

// The result of Compare.
struct Difference {
  bool pass = false;     // true if the tensors are equal within the tolerances
  double max_abs = 0;    // the largest |a - b|; infinity if infinities or NaNs differ
  double max_rel = 0;    // max_abs / max|b|; infinity if b is 0 everywhere and a is not
  int64_t element = -1;  // that `problem` shows, in row-major order; -1: none
  std::string problem;   // what differs: shape, dtype, a NaN, or the worst element; may be empty
};

// Says whether `actual` is near enough to `expected`.
using CompareTensors = std::function<Difference(const Tensor& actual, const Tensor& expected)>;

// Compares two tensors in host memory. `actual` passes under three conditions. It has the shape and
// dtype of `expected`. NaNs and infinities are at the same places. All other elements are near:
// |a - b| <= atol * max(1, max|b|) + rtol * |b|.
Difference Compare(const Tensor& actual, const Tensor& expected, double atol, double rtol);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_COMPARE_H_
