// What is said about repeated measurements.
#ifndef TENON_TOOLS_IR_BENCH_STATISTICS_H_
#define TENON_TOOLS_IR_BENCH_STATISTICS_H_

#include <span>
#include <vector>

namespace tenon::ir_bench {

struct Percentiles {
  double min = 0, median = 0, p90 = 0, p99 = 0;
};
// REQUIRES: not empty.
Percentiles PercentilesOf(std::vector<double> values);

struct Estimate {
  double median = 0, low = 0, high = 0;
};
// The median, and two of the values that enclose the true median with a probability of 95 %: from
// ranks, whatever the distribution. All values where there are fewer than six. REQUIRES: not empty.
Estimate MedianEstimate(std::vector<double> values);

// numerators[i] / denominators[i].
std::vector<double> Ratios(std::span<const double> numerators,
                           std::span<const double> denominators);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_STATISTICS_H_
