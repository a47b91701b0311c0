// Located messages about the user's input.
#ifndef TENON_IR_CORE_DIAGNOSTIC_H_
#define TENON_IR_CORE_DIAGNOSTIC_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/location.h"

namespace tenon {

enum class Severity : uint8_t { kError, kWarning, kRemark, kNote };

struct Diagnostic {
  Severity severity = Severity::kError;
  Location location;
  std::string message;  // lower-case, no full stop, says what was expected
  std::vector<Diagnostic> notes;
};

// Receives diagnostics of a Context. Handlers may be called from several threads, one call at a
// time.
class DiagnosticEngine {
 public:
  using Handler = std::function<void(const Diagnostic&)>;

  explicit DiagnosticEngine(const Context* context) : context_(context) {}

  // Replaces the handler and returns the previous one. Without a handler diagnostics are dropped:
  // the Status that goes with an error carries the same text.
  Handler SetHandler(Handler handler);
  void Emit(const Diagnostic& diagnostic);

 private:
  const Context* context_;
  std::mutex mutex_;
  Handler handler_;
};

// Emits an error and returns InvalidArgument with "<location>: <message>".
absl::Status EmitError(Context& context, Location location, std::string message,
                       std::vector<Diagnostic> notes = {});
void EmitWarning(Context& context, Location location, std::string message);
void EmitRemark(Context& context, Location location, std::string message);

// "file:line:col: error: message" and its notes, one line each.
std::string FormatDiagnostic(const Context& context, const Diagnostic& diagnostic);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIAGNOSTIC_H_
