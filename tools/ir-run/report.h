// A report as text and as JSON.
#ifndef TENON_TOOLS_IR_RUN_REPORT_H_
#define TENON_TOOLS_IR_RUN_REPORT_H_

#include <string>

#include "tools/ir-run/runner.h"

namespace tenon::ir_run {

std::string TextReport(const Report& report, const Options& options);  // for people
std::string JsonReport(const Report& report, const Options& options);  // for --json

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_REPORT_H_
