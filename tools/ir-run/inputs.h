// Where the inputs of a run come from: files, or random values.
#ifndef TENON_TOOLS_IR_RUN_INPUTS_H_
#define TENON_TOOLS_IR_RUN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "frontends/cpp/files/test_cases.h"
#include "frontends/cpp/tenon.h"
#include "tools/ir-run/options.h"

namespace tenon::ir_run {

using Case = TestCase;

// Makes a case of the files of --input, and random values for other inputs. Adds the assumptions it
// made to `notes`.
absl::StatusOr<Case> MakeCase(const Options& options, const Model& model, const Program& program,
                              std::vector<std::string>& notes);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_INPUTS_H_
