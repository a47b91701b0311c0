// What the processor can do at most, measured in the run that the results are set against.
#ifndef TENON_TOOLS_IR_BENCH_MACHINE_H_
#define TENON_TOOLS_IR_BENCH_MACHINE_H_

#include <string>

namespace tenon::ir_bench {

struct MachineRates {
  double gflops = 0;     // f32 fused multiply-adds on vectors of the widest kind, in registers
  double read_gbps = 0;  // reading memory that no cache holds, in GB/s
};

// Of `threads` threads together, the best of some passes: about 0.2 s.
MachineRates MeasureMachine(int threads);

// "AMD EPYC …", as the system names it.
std::string ProcessorName();

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_MACHINE_H_
