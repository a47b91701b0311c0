// When a constant of a program is the number that a rule writes.
#ifndef TENON_DRR_MATCH_SAME_NUMBER_H_
#define TENON_DRR_MATCH_SAME_NUMBER_H_

#include "ir/base/dtype.h"

namespace tenon::drr {

// The largest relative difference of two numbers that are the same, in any type.
inline constexpr double kLargestTolerance = 1e-2;

// Whether `got`, of element type `dtype`, is the number `want` of a rule. Exporters round roots and
// the like in different ways, so numbers may differ: 1e-12 in f64, 1e-5 in f32, 2e-3 in f16, 1e-2
// in bf16, relative to `want`. A number that every type holds exactly (1, 0.5, 3) must be equal, as
// must integers. NaN is the same as NaN.
bool SameNumber(double want, double got, DType dtype);

}  // namespace tenon::drr

#endif  // TENON_DRR_MATCH_SAME_NUMBER_H_
