#include "frontends/debug/compile_part.h"

#include <utility>

#include "frontends/cpp/passes.h"
#include "ir/base/check.h"
#include "pass/pass_manager.h"

namespace tenon {

absl::StatusOr<Program> CompilePart(const Model& model, OwnedOp module,
                                    const CompileOptions& options) {
  Model part(model.shared_context(), std::move(module), model.files(), model.extension());
  PassRegistry registry;
  PassManager manager(registry);
  PassContext context;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, part.extension().get()));
  TENON_RETURN_IF_ERROR(manager.AddPipeline("infer-shapes"));
  TENON_RETURN_IF_ERROR(manager.Run(part.module(), context).status());
  return Compile(std::move(part), options);
}

}  // namespace tenon
