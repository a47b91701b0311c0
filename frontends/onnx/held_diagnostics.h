// Diagnostics of an attempt that may not count. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_HELD_DIAGNOSTICS_H_
#define TENON_FRONTENDS_ONNX_HELD_DIAGNOSTICS_H_

#include <optional>
#include <vector>

#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"

namespace tenon::onnx {

// Holds diagnostics back until it is known whether the attempt that gave them counts. Emits them at
// the end of its life.
class HeldDiagnostics {
 public:
  explicit HeldDiagnostics(Context& context) : context_(context) {
    handler_.emplace(context,
                     [this](const Diagnostic& diagnostic) { held_.push_back(diagnostic); });
  }
  ~HeldDiagnostics() {
    handler_.reset();
    for (const Diagnostic& diagnostic : held_) context_.diagnostics().Emit(diagnostic);
  }
  HeldDiagnostics(const HeldDiagnostics&) = delete;
  HeldDiagnostics& operator=(const HeldDiagnostics&) = delete;
  // Returns the first error that it holds; null if there is none.
  const Diagnostic* FirstError() const {
    for (const Diagnostic& diagnostic : held_) {
      if (diagnostic.severity == Severity::kError) return &diagnostic;
    }
    return nullptr;
  }
  // Forgets what it holds.
  void Drop() { held_.clear(); }

 private:
  Context& context_;
  std::optional<ScopedDiagnosticHandler> handler_;
  std::vector<Diagnostic> held_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_HELD_DIAGNOSTICS_H_
