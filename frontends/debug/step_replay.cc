#include "frontends/debug/step_replay.h"

#include <cmath>
#include <utility>
#include <vector>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/debug/compare_outputs.h"
#include "frontends/debug/compile_part.h"
#include "frontends/debug/main_function.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "pass/pass_manager.h"

namespace tenon {
bool AreFinite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor || !IsFloat(tensor.dtype())) continue;
    const auto* at = static_cast<const std::byte*>(tensor.data());
    for (int64_t i = 0; i < tensor.numel(); ++i, at += SizeOf(tensor.dtype())) {
      if (!std::isfinite(LoadAsDouble(tensor.dtype(), at))) return false;
    }
  }
  return true;
}

StepReplay::StepReplay(const Model& model, const OptimizeOptions& optimize,
                       const CompileOptions& compile, RewriteStep::Kind kind, std::string name,
                       std::string pass)
    : model_(model),
      optimize_(optimize),
      compile_(compile),
      kind_(kind),
      name_(std::move(name)),
      pass_(std::move(pass)),
      cache_(std::make_shared<RuleCache>()) {
  compile_.weights = nullptr;
  compile_.on_fallback = nullptr;
}

OwnedOp StepReplay::Apply(const Operation& module) {
  OwnedOp copy(Clone(module));
  const Extension* const extension = model_.extension().get();
  const auto kernels =
      extension == nullptr ? MakeKernelRegistry() : MakeKernelRegistry(extension->kernels);
  ReferenceEvaluator evaluator(kernels);
  KernelTarget target(kernels);
  PassContext context;
  context.evaluator = &evaluator;
  context.target = &target;
  context.rule_files = optimize_.rule_files;
  context.fast_math = optimize_.fast_math;
  context.rule_cache = cache_;
  bool made = false;
  context.allow_rewrite = [&](const RewriteStep& step) {
    const bool same = step.kind == kind_ && step.name == name_;
    made |= same;
    return same;
  };
  PassRegistry registry;
  PassManager manager(registry);
  const ScopedDiagnosticHandler quiet(copy->context(), nullptr);
  if (!RegisterAllPasses(registry, extension).ok() || !manager.AddPipeline(pass_).ok() ||
      !manager.Run(copy.get(), context).ok() || !made) {
    return nullptr;
  }
  return copy;
}

absl::StatusOr<Program> StepReplay::MakeProgram(OwnedOp module) const {
  return CompilePart(model_, std::move(module), compile_);
}

std::optional<StepReplay::Example> StepReplay::FindExample(const Operation& module,
                                                           const Comparison& compare) {
  OwnedOp changed = Apply(module);
  if (changed == nullptr) return std::nullopt;
  const ScopedDiagnosticHandler quiet(module.context(), nullptr);
  const absl::StatusOr<Program> before = MakeProgram(OwnedOp(Clone(module)));
  const absl::StatusOr<Program> after = MakeProgram(std::move(changed));
  if (!before.ok() || !after.ok()) return std::nullopt;
  const OutputComparer comparer(before->outputs(), compare);
  for (int kind = 0; kind <= kLongSample; ++kind) {
    absl::StatusOr<Sample> sample = SampleInputs(MainFunction(module), kind);
    if (!sample.ok()) continue;
    absl::StatusOr<std::vector<Tensor>> expected = before->Run(sample->inputs);
    const absl::StatusOr<std::vector<Tensor>> actual = after->Run(sample->inputs);
    if (!expected.ok() || !actual.ok() || !AreFinite(*expected)) continue;
    for (size_t i = 0; i < actual->size(); ++i) {
      const Difference difference = comparer.Compare(*actual, *expected, i);
      if (difference.pass) continue;
      return Example{
          fmt::format("result {}: {}\n  inputs: {}", i, difference.problem, sample->text), i,
          difference, std::move(sample->inputs), *std::move(expected)};
    }
  }
  return std::nullopt;
}

}  // namespace tenon
