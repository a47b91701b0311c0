// Compiling a part of a model, or a model in the middle of its optimization.
#ifndef TENON_FRONTENDS_DEBUG_COMPILE_PART_H_
#define TENON_FRONTENDS_DEBUG_COMPILE_PART_H_

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/operation.h"

namespace tenon {

// Infers the shapes of `module` and compiles it: before that some operations have no kernel. The
// module belongs to the Context of `model`, whose files and extension the program uses. Errors are
// those of the pass and of Compile.
absl::StatusOr<Program> CompilePart(const Model& model, OwnedOp module,
                                    const CompileOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_COMPILE_PART_H_
