// Runs a program on inputs that nobody has given.
#ifndef TENON_TESTS_FUZZ_SAMPLE_RUN_H_
#define TENON_TESTS_FUZZ_SAMPLE_RUN_H_

#include <optional>
#include <vector>

#include "frontends/cpp/tenon.h"

namespace tenon::fuzz {

struct SampleRun {
  std::vector<Tensor> inputs, outputs;
};

// For one thread and 1000 iterations of a loop.
CompileOptions BoundedCompile();

// A run of `program`, which is made of `model`, on the first sample that it takes; nothing if it
// takes none, or if a tensor of the model has more than four million elements.
std::optional<SampleRun> RunOnSample(const Model& model, const Program& program);

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_SAMPLE_RUN_H_
