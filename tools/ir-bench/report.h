// A report as text and as JSON.
#ifndef TENON_TOOLS_IR_BENCH_REPORT_H_
#define TENON_TOOLS_IR_BENCH_REPORT_H_

#include <string>

#include "tools/ir-bench/bench.h"

namespace tenon::ir_bench {

std::string TextReport(const Report& report, const Options& options);  // for people
std::string JsonReport(const Report& report, const Options& options);  // for --json

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_REPORT_H_
