#include "tests/filetest/pipelines.h"

#include "pass/pass_manager.h"
#include "transforms/passes.h"

namespace tenon::filetest {

absl::StatusOr<bool> RunPipeline(Operation* module, const std::string& text) {
  PassRegistry registry;
  RegisterTransformPasses(registry);
  PassManager manager(registry);
  if (absl::Status status = manager.AddPipeline(text); !status.ok()) return status;
  PassContext context;
  PassManagerOptions options;
  options.check_unchanged = true;
  absl::StatusOr<PassResult> result = manager.Run(module, context, options);
  if (!result.ok()) return result.status();
  return result->changed;
}

absl::Status RunProgram(Operation*, const std::string&) {
  return absl::UnimplementedError("tests of kind 'run' need the executor");
}

}  // namespace tenon::filetest
