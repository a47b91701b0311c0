// Statistics of repeated measurements.
#ifndef TENON_TOOLS_IR_BENCH_STATISTICS_H_
#define TENON_TOOLS_IR_BENCH_STATISTICS_H_

#include <span>
#include <vector>

namespace tenon::ir_bench {

// The minimum, the median and percentiles of some values.
struct Percentiles {
  double min = 0, median = 0, p90 = 0, p99 = 0;
};
// Returns the percentiles of `values`, which must not be empty.
Percentiles PercentilesOf(std::vector<double> values);

// A median with a confidence interval.
struct Estimate {
  double median = 0, low = 0, high = 0;
};
// Returns the median and its 95 % confidence interval, from ranks, for any distribution. The
// interval spans all values if there are fewer than six. `values` must not be empty.
Estimate MedianEstimate(std::vector<double> values);

// Returns numerators[i] / denominators[i] for the common length of both.
std::vector<double> Ratios(std::span<const double> numerators,
                           std::span<const double> denominators);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_STATISTICS_H_
