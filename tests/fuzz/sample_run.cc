#include "tests/fuzz/sample_run.h"

#include "frontends/cpp/samples/sample_inputs.h"
#include "ir/core/block.h"

namespace tenon::fuzz {
namespace {

constexpr double kMostElements = 1 << 22;

bool IsLarge(Type type) {
  if (!type.is_tensor()) return false;
  double elements = 1;
  for (DimExpr dim : type.dims()) {
    if (dim.is_constant()) elements *= static_cast<double>(dim.constant());
  }
  return elements > kMostElements;
}

bool HasLargeTensor(Operation* module) {
  bool large = false;
  module->WalkPreOrder([&large](Operation* op) {
    for (unsigned i = 0; i < op->num_results(); ++i) large |= IsLarge(op->result(i).type());
    for (unsigned i = 0; i < op->num_operands(); ++i) large |= IsLarge(op->operand(i).type());
    return !large;
  });
  return large;
}

}  // namespace

CompileOptions BoundedCompile() {
  CompileOptions options;
  options.threads = 1;
  options.limits.loop_trips = 1000;
  return options;
}

std::optional<SampleRun> RunOnSample(const Model& model, const Program& program) {
  if (HasLargeTensor(model.module())) return std::nullopt;
  for (int kind = 0; kind < kSampleKinds; ++kind) {
    absl::StatusOr<Sample> sample = SampleInputs(model.main(), kind);
    if (!sample.ok()) continue;
    absl::StatusOr<std::vector<Tensor>> outputs = program.Run(sample->inputs);
    if (outputs.ok()) return SampleRun{std::move(sample->inputs), *std::move(outputs)};
  }
  return std::nullopt;
}

}  // namespace tenon::fuzz
