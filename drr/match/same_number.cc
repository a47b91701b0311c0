#include "drr/match/same_number.h"

#include <cmath>

namespace tenon::drr {
namespace {

double ToleranceOf(double want, DType dtype) {
  if (std::abs(want) <= 256 && std::nearbyint(want * 16) == want * 16) return 0;
  if (dtype == DType::kBF16) return kLargestTolerance;
  if (dtype == DType::kF16) return 2e-3;
  if (dtype == DType::kF64) return 1e-12;
  return IsFloat(dtype) ? 1e-5 : 0;
}

}  // namespace

bool SameNumber(double want, double got, DType dtype) {
  if (want == got || (std::isnan(want) && std::isnan(got))) return true;
  if (!std::isfinite(want) || !std::isfinite(got)) return false;
  return std::abs(want - got) <= ToleranceOf(want, dtype) * std::abs(want);
}

}  // namespace tenon::drr
