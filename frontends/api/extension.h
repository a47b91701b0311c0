// What a host adds to Tenon: operations, their kernels, rewrite rules and passes of its own.
//
//   auto extension = std::make_shared<tenon::Extension>();
//   extension->dialects = {AcmeDialect()};
//   extension->kernels = {AcmeGelu()};
//   extension->rules = {GeluFromErf()};
//   absl::StatusOr<tenon::Model> model = tenon::Load(path, {.extension = extension});
//
// docs/guide/embed-the-runtime.md goes through each of the four.
#ifndef TENON_FRONTENDS_API_EXTENSION_H_
#define TENON_FRONTENDS_API_EXTENSION_H_

#include <vector>

#include "absl/status/status.h"
#include "drr/rule.h"
#include "ir/core/context.h"
#include "kernels/kernel.h"
#include "pass/pass.h"

namespace tenon {

// Given to Load, kept by the Model, used by Optimize and Compile. Shared by models and threads, and
// not changed after the first Load. Functions in it must be thread-safe and outlive it.
struct Extension {
  // A node `Op` of an ONNX domain `acme` becomes the operation `acme.Op` if there is one.
  std::vector<Dialect> dialects{};
  // For operations of these dialects, or of Tenon's own: of the kernels that support a call the one
  // of highest `priority` runs. `op` and `name` must outlive the extension (literals). Constants
  // are folded, and rules checked, with kernels whose names begin with "ref.".
  std::vector<kernels::Kernel> kernels{};
  // Applied by `fuse` (so by -O2 and -O3) to a fixed point before its own families and in turn with
  // each, and by `final-rules` at the end; those of RuleStage::kFinal there alone.
  std::vector<drr::Rule> rules{};
  // Run where a pipeline names them: OptimizeOptions::pipeline = "acme-pass,O2".
  std::vector<PassInfo> passes{};
};

// Registers the dialects in a Context that has Tenon's own; checks everything else: kernels serve
// known operations under names of their own, rules compile, passes have new names. The error says
// what is wrong with which. Load does this; call it for a Context that you have made.
absl::Status RegisterExtension(const Extension& extension, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_EXTENSION_H_
