// The peak rates of the processor, measured in the same run as the engines.
#ifndef TENON_TOOLS_IR_BENCH_MACHINE_H_
#define TENON_TOOLS_IR_BENCH_MACHINE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::ir_bench {

// Rates of all threads of a bench together.
struct MachineRates {
  double gflops = 0;     // f32 fused multiply-adds on vectors of the widest kind, in registers
  double read_gbps = 0;  // reading memory that no cache holds, in GB/s
};

// All measurements of a machine.
struct MachineReport {
  MachineRates best;                 // the highest rates of all passes, for bounds
  std::vector<MachineRates> rounds;  // by round, the median of its passes
};

// Measures the machine, in alternation with the engines. Not thread-safe.
class Machine {
 public:
  // `threads` is the number of threads that compute and read.
  explicit Machine(int threads);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Measures both rates for `ms` milliseconds, at least once each. Adds a round to the report.
  void Turn(double ms);
  const MachineReport& report() const { return report_; }  // valid as long as this object

 private:
  const int threads_;
  std::byte* memory_;  // null: there is none, and reading counts as 0
  MachineReport report_;
};

// Returns the name of the processor, such as "AMD EPYC 9654", as the system gives it.
std::string ProcessorName();

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_MACHINE_H_
