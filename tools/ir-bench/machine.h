// What the processor can do at most, measured in the run that the results are set against.
#ifndef TENON_TOOLS_IR_BENCH_MACHINE_H_
#define TENON_TOOLS_IR_BENCH_MACHINE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::ir_bench {

// Of all threads of a bench together.
struct MachineRates {
  double gflops = 0;     // f32 fused multiply-adds on vectors of the widest kind, in registers
  double read_gbps = 0;  // reading memory that no cache holds, in GB/s
};

struct MachineReport {
  MachineRates best;                 // of all passes: what bounds are made of
  std::vector<MachineRates> rounds;  // by round, the median of its passes: what engines had beside
};

// Measures the machine in turns with the engines. Not thread-safe.
class Machine {
 public:
  explicit Machine(int threads);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Passes of both kinds for `ms` milliseconds, at least one of each; they become one of the
  // report's rounds.
  void Turn(double ms);
  const MachineReport& report() const { return report_; }

 private:
  const int threads_;
  std::byte* memory_;  // null: there is none, and reading counts as 0
  MachineReport report_;
};

// "AMD EPYC …", as the system names it.
std::string ProcessorName();

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_MACHINE_H_
