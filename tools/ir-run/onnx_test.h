// Cases of ONNX's backend test suite.
#ifndef TENON_TOOLS_IR_RUN_ONNX_TEST_H_
#define TENON_TOOLS_IR_RUN_ONNX_TEST_H_

#include "tools/ir-run/options.h"

namespace tenon::ir_run {

// Prints a line per case and "N passed, M failed, K skipped". Exit status: 0 if none failed, 1
// otherwise, 2 if there is no case.
int RunOnnxTests(const Options& options);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_ONNX_TEST_H_
