// Located messages about the user's input.
#ifndef TENON_IR_CORE_DIAGNOSTIC_H_
#define TENON_IR_CORE_DIAGNOSTIC_H_

#include <functional>
#include <memory>
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

// Receives diagnostics of a Context, and of all threads that work in it: a handler is called by the
// thread that emits, one call at a time, before the emitting function returns. It may read IR, emit
// diagnostics itself (it is called again, inside its own call), and set a handler; it must
// not wait for another thread that may emit.
class DiagnosticEngine {
 public:
  using Handler = std::function<void(const Diagnostic&)>;

  // Replaces the handler and returns the previous one. Without a handler diagnostics are dropped:
  // the Status that goes with an error carries the same text. Once it has returned, no other thread
  // runs the previous handler, so what that one refers to may go away.
  Handler SetHandler(Handler handler);
  void Emit(const Diagnostic& diagnostic);

 private:
  std::recursive_mutex mutex_;
  std::shared_ptr<Handler> handler_;  // shared with a call under way, which may set another
};

// Sets a handler for as long as it lives, then the one before again. It hears of all threads of the
// context, so that scopes of several threads must not overlap.
class ScopedDiagnosticHandler {
 public:
  ScopedDiagnosticHandler(Context& context, DiagnosticEngine::Handler handler);
  ~ScopedDiagnosticHandler();
  ScopedDiagnosticHandler(const ScopedDiagnosticHandler&) = delete;
  ScopedDiagnosticHandler& operator=(const ScopedDiagnosticHandler&) = delete;

 private:
  Context& context_;
  DiagnosticEngine::Handler previous_;
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
