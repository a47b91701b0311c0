// Any bytes as a model: a module, or an error that was reported.
#include <span>

#include "frontends/onnx/importer.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/seed_files.h"

namespace tenon::fuzz {

std::string CheckOnnx(std::string_view bytes, bool* accepted) {
  Context context;
  RegisterAllDialects(context);
  bool has_error = false;
  const ScopedDiagnosticHandler handler(context, [&has_error](const Diagnostic& diagnostic) {
    has_error |= diagnostic.severity == Severity::kError;
  });
  const absl::StatusOr<OwnedOp> module =
      onnx::ImportOnnxFromBytes(context, std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (accepted != nullptr) *accepted = module.ok();
  if (module.ok()) return {};
  if (module.status().message().empty()) return "an error without a message";
  return has_error ? "" : "an error that was not reported";
}

std::vector<std::string> OnnxSeeds() { return FilesBelow("models", ".onnx", 60'000); }

}  // namespace tenon::fuzz
