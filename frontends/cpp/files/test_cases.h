// Cases of a model's test data: inputs with the outputs that are right.
#ifndef TENON_FRONTENDS_CPP_FILES_TEST_CASES_H_
#define TENON_FRONTENDS_CPP_FILES_TEST_CASES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "frontends/cpp/files/sequences.h"
#include "frontends/onnx/file/tensor_data.h"
#include "ir/base/limits.h"

namespace tenon {

// One set of inputs and, where known, expected outputs.
struct TestCase {
  std::string name;              // of its folder
  std::vector<Tensor> inputs;    // one per program input
  std::vector<Tensor> expected;  // empty, or one per program output
};

// The cases of a folder of ONNX's test data: the folder itself, or each test_data_set_N in it.
// InvalidArgument if a case lacks a file for an input or an output of the program.
absl::StatusOr<std::vector<TestCase>> ReadTestCases(const std::string& folder,
                                                    const Program& program, const Limits& limits);

// Writes input_N.pb and output_N.pb.
absl::Status SaveTestCase(const std::string& folder, const Program& program,
                          std::span<const Tensor> inputs, std::span<const Tensor> outputs);

// The tensors of a sequence that a file holds, and its name there, which may be empty.
struct SequenceFile {
  std::string name;             // in the file; may be empty
  std::vector<Tensor> tensors;  // as PackSequence returns them
};
// Reads a file with a SequenceProto, or an OptionalProto, for inputs or outputs of a program.
absl::StatusOr<SequenceFile> ReadSequenceFile(const std::string& path, const SequencePorts& ports,
                                              const Limits& limits);

// Returns a tensor that shares the bytes of the file where their alignment allows it.
Tensor AsTensor(const onnx::TensorData& data);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_TEST_CASES_H_
