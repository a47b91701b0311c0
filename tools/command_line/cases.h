// Cases of a model's test data: inputs with the outputs that are right.
#ifndef TENON_TOOLS_COMMAND_LINE_CASES_H_
#define TENON_TOOLS_COMMAND_LINE_CASES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "frontends/cpp/files/sequences.h"
#include "frontends/onnx/file/tensor_data.h"
#include "ir/base/limits.h"

namespace tenon::tools {

// One set of inputs and, where known, expected outputs.
struct Case {
  std::string name;
  std::vector<Tensor> inputs;    // one per program input
  std::vector<Tensor> expected;  // empty, or one per program output
};

// The cases of a folder of ONNX's test data: the folder itself, or each test_data_set_N in it.
// InvalidArgument if a case lacks a file for an input or an output of the program.
absl::StatusOr<std::vector<Case>> ReadCases(const std::string& folder, const Program& program,
                                            const Limits& limits);

// Writes input_N.pb and output_N.pb.
absl::Status SaveCase(const std::string& folder, const Program& program,
                      std::span<const Tensor> inputs, std::span<const Tensor> outputs);

// The tensors of a sequence that a file holds, and its name there, which may be empty.
struct SequenceFile {
  std::string name;
  std::vector<Tensor> tensors;
};
// Reads a file with a SequenceProto, or an OptionalProto, for inputs or outputs of a program.
absl::StatusOr<SequenceFile> ReadSequence(const std::string& path, const SequencePorts& ports,
                                          const Limits& limits);

// Shares the bytes of the file where their alignment allows it.
Tensor ToTensor(const onnx::TensorData& data);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_CASES_H_
