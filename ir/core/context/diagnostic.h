// Messages with a location about the user's input.
#ifndef TENON_IR_CORE_CONTEXT_DIAGNOSTIC_H_
#define TENON_IR_CORE_CONTEXT_DIAGNOSTIC_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/location.h"

namespace tenon {

class ThreadDiagnostics;

// How serious a diagnostic is.
enum class Severity : uint8_t {
  kError,    // the input cannot be used
  kWarning,  // the input is probably not as intended
  kRemark,   // information
  kNote      // adds to another diagnostic
};

// An error, warning or remark. `notes` add more locations to it.
struct Diagnostic {
  Severity severity = Severity::kError;  // kNote within `notes`
  Location location;                     // may be unknown
  std::string message;                   // lower case, no full stop; says what was expected
  std::vector<Diagnostic> notes;         // more places; printed after the message
  // The line of text at `location`, and a mark below the place; empty if no text is known.
  std::string source = {};
};

// Passes the diagnostics of a Context to a handler. Thread-safe: the emitting thread calls the
// handler before the emitting function returns, and only one thread at a time. The handler may read
// IR, set another handler and emit diagnostics, which call it recursively. It must not wait for
// another thread that may emit.
class DiagnosticEngine {
 public:
  using Handler = std::function<void(const Diagnostic&)>;  // Receives one diagnostic.

  // Sets the handler and returns the previous one; an empty one drops diagnostics, as does the
  // default. When the call returns, no other thread is in the previous handler, so that its data
  // may be destroyed.
  Handler SetHandler(Handler handler);
  void Emit(const Diagnostic& diagnostic);  // Calls the handler, if there is one.

 private:
  friend class ThreadDiagnostics;
  // To the handler of `own`; null: to that of the Context.
  void EmitTo(const ThreadDiagnostics* own, const Diagnostic& diagnostic);

  std::recursive_mutex mutex_;
  std::shared_ptr<Handler> handler_;  // shared with a running call, which may replace it
};

// Sets a handler for its own lifetime and restores the previous one at its end. The handler gets
// the diagnostics of all threads of the Context. Scopes of different threads must not overlap.
class ScopedDiagnosticHandler {
 public:
  // Sets `handler`; an empty one drops diagnostics.
  ScopedDiagnosticHandler(Context& context, DiagnosticEngine::Handler handler);
  ~ScopedDiagnosticHandler();
  ScopedDiagnosticHandler(const ScopedDiagnosticHandler&) = delete;
  ScopedDiagnosticHandler& operator=(const ScopedDiagnosticHandler&) = delete;

 private:
  Context& context_;
  DiagnosticEngine::Handler previous_;
};

// Emits an error and returns InvalidArgument with the text "<location>: <message>". Unprintable
// characters are escaped, and lines longer than Limits::message_bytes are shortened.
absl::Status EmitError(Context& context, Location location, std::string message,
                       std::vector<Diagnostic> notes = {});
// Emits a warning. Escapes and shortens `message` as EmitError does.
void EmitWarning(Context& context, Location location, std::string message);
// The same for a remark.
void EmitRemark(Context& context, Location location, std::string message);

// Returns "file:line:col: error: message" with the lines of `source`, and the same per note. An
// unknown location is left out.
std::string FormatDiagnostic(const Context& context, const Diagnostic& diagnostic);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_DIAGNOSTIC_H_
