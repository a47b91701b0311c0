// What a host adds to Tenon: operations, their kernels, rewrite rules and passes.
//
//   auto extension = std::make_shared<tenon::Extension>();
//   extension->dialects = {AcmeDialect()};
//   extension->kernels = {AcmeGelu()};
//   extension->rules = {GeluFromErf()};
//   absl::StatusOr<tenon::Model> model = tenon::Load(path, {.extension = extension});
//
// docs/guide/embed-the-runtime.md shows how to write each of them.
#ifndef TENON_FRONTENDS_CPP_EXTENSION_H_
#define TENON_FRONTENDS_CPP_EXTENSION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"
#include "kernels/kernel.h"
#include "pass/pass.h"

namespace tenon {

// A plugin whose parts an extension has (plugin.h).
struct LoadedPlugin {
  std::string name{};  // that it gives itself
  std::string file{};  // as the host named it
  // Its parts of a list of the extension.
  struct Part {
    size_t begin = 0;                                               // the first element
    size_t count = 0;                                               // the number of elements
    bool Has(size_t index) const { return index - begin < count; }  // true for one of them
  };
  Part dialects{};  // of Extension::dialects
  Part op_files{};  // of Extension::op_files
  Part kernels{};   // of Extension::kernels
  Part rules{};     // of Extension::rules
  Part passes{};    // of Extension::passes
};

// Declarations of operations as JSON (LoadOpsFromJson in files/load_ops.h).
struct OpText {
  std::string name{};  // that messages give the text
  std::string json{};  // the declarations
};

// Passed to Load, kept by the Model, used by Optimize and Compile. Models and threads share it; do
// not change it after the first Load. Its functions must be thread-safe and outlive it.
struct Extension {
  // Operations. A node `Op` of an ONNX domain `acme` becomes the operation `acme.Op`, if there is
  // one. Each op needs a shape function.
  std::vector<Dialect> dialects{};
  // Files that declare operations (load_ops.h): JSON, or rules in text.
  std::vector<std::string> op_files{};
  // Declarations of operations that are in memory.
  std::vector<OpText> op_texts{};
  // Kernels for operations of these dialects, or of Tenon. Of the kernels that support a call, the
  // one with the highest `priority` runs. `op` and `name` must outlive the extension; use literals.
  // Kernels whose names begin with "ref." also fold constants and check rules.
  std::vector<kernels::Kernel> kernels{};
  // Rules. `fuse`, which is in -O2 and -O3, applies them before its own families, and after each
  // family in turn with it. `final-rules` applies them at the end. Rules of RuleStage::kFinal are
  // applied there only.
  std::vector<drr::Rule> rules{};
  // Passes. They run where a pipeline names them: OptimizeOptions::pipeline = "acme-pass,O2".
  std::vector<PassInfo> passes{};
  // The plugins that LoadPlugin has added to these lists.
  std::vector<LoadedPlugin> plugins{};
};

// Registers the dialects in `context`, which must have Tenon's own, and checks everything else.
// Load calls it; call it for a Context of your own. InvalidArgument says what is wrong: a kernel of
// an unknown operation, a name in use, a rule that does not compile. Errors of files are those of
// LoadOps. Errors in what a plugin has added name it. After an error some dialects may be
// registered.
absl::Status RegisterExtension(const Extension& extension, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_EXTENSION_H_
