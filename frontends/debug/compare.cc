#include "frontends/debug/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fmt/format.h"
#include "ir/core/attribute.h"

namespace tenon {
namespace {

// The most values that a quantized tensor has.
constexpr size_t kMaxLevels = 65536;

// Returns the step of which all elements of both tensors are whole multiples, as those of quantized
// tensors are: 1 for integers. Returns 0 if there is none, or if there are too few elements to
// tell.
double StepOf(std::vector<double> values, bool integers) {
  if (integers) return 1;
  const size_t count = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2 || values.size() > kMaxLevels || count < 4 * values.size()) return 0;
  double gap = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < values.size(); ++i) gap = std::min(gap, values[i] - values[i - 1]);
  // The largest element has the smallest relative error.
  const double largest = std::max(std::fabs(values.front()), std::fabs(values.back()));
  const double levels = std::round(largest / gap);
  if (levels < 1 || levels > static_cast<double>(kMaxLevels)) return 0;
  const double step = largest / levels;
  const bool whole = std::all_of(values.begin(), values.end(), [&](double value) {
    constexpr double kNear = 0.01;
    return std::fabs(value / step - std::round(value / step)) < kNear;
  });
  return whole ? step : 0;
}

}  // namespace

Difference Compare(const Tensor& actual, const Tensor& expected, double atol, double rtol) {
  Difference result;
  if (actual.dtype() != expected.dtype() ||
      !std::equal(actual.shape().begin(), actual.shape().end(), expected.shape().begin(),
                  expected.shape().end())) {
    result.max_abs = result.max_rel = std::numeric_limits<double>::infinity();
    result.problem = fmt::format("is {}, expected {}", actual.type_text(), expected.type_text());
    return result;
  }
  const size_t size = SizeOf(actual.dtype());
  const int64_t n = actual.numel();
  auto at = [&](const Tensor& t, int64_t i) {
    return LoadAsDouble(t.dtype(),
                        static_cast<const std::byte*>(t.data()) + static_cast<size_t>(i) * size);
  };
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double b = at(expected, i);
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
  }
  const double base = atol * std::max(1.0, largest);
  int64_t failures = 0, worst = -1, first_odd = -1;
  double worst_excess = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double a = at(actual, i), b = at(expected, i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      const bool same = std::isnan(a) ? std::isnan(b) : a == b;
      if (!same && first_odd < 0) first_odd = i;
      failures += same ? 0 : 1;
      continue;
    }
    const double error = std::fabs(a - b);
    result.max_abs = std::max(result.max_abs, error);
    const double excess = error - (base + rtol * std::fabs(b));
    if (excess <= 0) continue;
    ++failures;
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess;
  }
  result.max_rel = result.max_abs == 0 ? 0
                   : largest == 0      ? std::numeric_limits<double>::infinity()
                                       : result.max_abs / largest;
  if (first_odd >= 0) result.max_abs = result.max_rel = std::numeric_limits<double>::infinity();
  result.pass = failures == 0;
  const int64_t shown = first_odd >= 0 ? first_odd : worst;
  if (shown >= 0) {
    result.element = shown;
    std::string steps;
    if (first_odd < 0) {
      std::vector<double> values;
      for (const Tensor* t : {&actual, &expected}) {
        for (int64_t i = 0; i < n; ++i) {
          if (std::isfinite(at(*t, i))) values.push_back(at(*t, i));
        }
      }
      const bool bytes = IsInt(actual.dtype()) && SizeOf(actual.dtype()) <= 2;
      const double step = StepOf(std::move(values), bytes);
      if (step > 0) {
        steps = fmt::format(" by up to {} {} of {:.4g}", std::round(result.max_abs / step),
                            result.max_abs < 1.5 * step ? "step" : "steps", step);
      }
    }
    result.problem = fmt::format("{} of {} elements differ{}; element {} is {}, expected {}",
                                 failures, n, steps, shown, at(actual, shown), at(expected, shown));
  }
  return result;
}

}  // namespace tenon
