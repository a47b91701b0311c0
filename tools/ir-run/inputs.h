// Where the inputs of a run come from: test data, files, or random values.
#ifndef TENON_TOOLS_IR_RUN_INPUTS_H_
#define TENON_TOOLS_IR_RUN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "frontends/api/tenon.h"
#include "tools/ir-run/options.h"

namespace tenon::ir_run {

// One set of inputs and, where known, expected outputs.
struct Case {
  std::string name;              // for reports
  std::vector<Tensor> inputs;    // one per program input
  std::vector<Tensor> expected;  // empty, or one per program output; null where no file says
};

// Reads the cases of a folder of ONNX test data: the folder itself, or each test_data_set_N in it.
absl::StatusOr<std::vector<Case>> ReadCases(const std::string& folder, const Program& program,
                                            const Limits& limits);

// Makes a case of the files of --input, and random values for other inputs. Adds the assumptions it
// made to `notes`.
absl::StatusOr<Case> MakeCase(const Options& options, const Model& model, const Program& program,
                              std::vector<std::string>& notes);

// Writes input_N.pb and output_N.pb to `folder`.
absl::Status SaveCase(const std::string& folder, const Program& program,
                      std::span<const Tensor> inputs, std::span<const Tensor> outputs);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_INPUTS_H_
