// Comparison of tensors.
#ifndef TENON_FRONTENDS_API_COMPARE_H_
#define TENON_FRONTENDS_API_COMPARE_H_

#include <string>

#include "executor/tensor.h"

namespace tenon {

struct Difference {
  bool pass = false;
  double max_abs = 0;   // infinity where a NaN or an infinity stands against something else
  double max_rel = 0;   // max_abs / max|b|; infinity when b is 0 everywhere and a is not
  std::string problem;  // what is wrong: shape, dtype, a NaN, or the worst element
};

// `actual` passes if it has the shape and dtype of `expected`, NaNs and infinities at the same
// places, and |a-b| <= atol * max(1, max|b|) + rtol * |b| everywhere.
Difference Compare(const Tensor& actual, const Tensor& expected, double atol, double rtol);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_COMPARE_H_
