#include "tests/filetest/pipelines.h"

#include <memory>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "executor/program.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/builder.h"
#include "pass/pass_manager.h"

namespace tenon::filetest {

absl::StatusOr<bool> RunPipeline(Operation* module, const std::string& text, PassContext context) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  PassManager manager(registry);
  if (absl::Status status = manager.AddPipeline(text); !status.ok()) return status;
  const std::shared_ptr<const kernels::KernelRegistry> kernels = MakeKernelRegistry();
  ReferenceEvaluator evaluator(kernels, {.all = ReferenceEvaluator::kCompilingSteps});
  KernelTarget target(kernels);
  context.evaluator = &evaluator;
  context.target = &target;
  PassManagerOptions options;
  options.check_unchanged = true;
  absl::StatusOr<PassResult> result = manager.Run(module, context, options);
  if (!result.ok()) return result.status();
  return result->changed;
}

absl::StatusOr<std::vector<std::string>> RunProgram(Operation* module) {
  Context& context = module->context();
  // The case owns the context and outlives the model.
  Model model(std::shared_ptr<Context>(&context, [](Context*) {}), OwnedOp(Clone(*module)));
  absl::StatusOr<Program> program = Compile(model, {.threads = 1, .reference = true});
  if (!program.ok()) return program.status();
  absl::StatusOr<std::vector<Tensor>> outputs = program->Run({});
  if (!outputs.ok()) return outputs.status();
  std::vector<std::string> lines;
  for (const Tensor& output : *outputs) {
    Type type = Type::Tensor(context, output.dtype(), output.shape());
    std::span<const std::byte> bytes(static_cast<const std::byte*>(output.data()),
                                     output.num_bytes());
    lines.push_back(Attribute::Elements(context, type, bytes).text());
  }
  return lines;
}

}  // namespace tenon::filetest
