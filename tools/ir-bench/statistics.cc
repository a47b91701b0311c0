#include "tools/ir-bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tenon::ir_bench {
namespace {

double MedianOfSorted(const std::vector<double>& v) {
  const size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// The largest k with P(X < k) <= 2.5 %, X binomial of n tosses: the k-th smallest and the k-th
// largest value enclose the median.
size_t EnclosingRank(size_t n) {
  double below = 0;
  for (size_t k = 0; k <= n / 2; ++k) {
    const double count = static_cast<double>(n), at = static_cast<double>(k);
    below += std::exp(std::lgamma(count + 1) - std::lgamma(at + 1) - std::lgamma(count - at + 1) -
                      count * std::log(2.0));
    if (below > 0.025) return k;
  }
  return n / 2;
}

}  // namespace

Percentiles PercentilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto at = [&](double share) {  // nearest rank
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
  };
  return {values.front(), MedianOfSorted(values), at(0.90), at(0.99)};
}

Estimate MedianEstimate(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t rank = std::max<size_t>(EnclosingRank(values.size()), 1);
  return {MedianOfSorted(values), values[rank - 1], values[values.size() - rank]};
}

std::vector<double> Ratios(std::span<const double> numerators,
                           std::span<const double> denominators) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(numerators.size(), denominators.size()); ++i)
    ratios.push_back(numerators[i] / denominators[i]);
  return ratios;
}

}  // namespace tenon::ir_bench
