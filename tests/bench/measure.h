// What the benchmarks of both IRs share.
#ifndef TENON_TESTS_BENCH_MEASURE_H_
#define TENON_TESTS_BENCH_MEASURE_H_

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace bench {

inline constexpr int64_t kOps = 1'000'000;
inline constexpr int64_t kTextOps = 100'000;
// Distinct locations; made beforehand, since interning them is not part of creating an op.
inline constexpr uint32_t kLocations = 1000;

// Seconds of processor time per op.
inline void SetPerOp(benchmark::State& state, int64_t ops) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(ops),
      static_cast<benchmark::Counter::Flags>(benchmark::Counter::kIsIterationInvariantRate |
                                             benchmark::Counter::kInvert));
}

inline double PerOp(size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kOps); }

inline size_t ResidentBytes() {
  long total = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<size_t>(resident) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bench

#endif  // TENON_TESTS_BENCH_MEASURE_H_
