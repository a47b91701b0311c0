#include "ir/core/context/diagnostic.h"

#include <utility>

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "ir/core/context/context.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/context/thread_diagnostics.h"

namespace tenon {
namespace {

std::string Shortened(const Context& context, std::string_view message) {
  return ShownMessage(message, static_cast<size_t>(LimitsOf(context).message_bytes));
}

std::string ShownPlace(const Context& context, Location location) {
  return ShownName(DescribeLocation(context, location));
}

}  // namespace

thread_local constinit ThreadDiagnostics* ThreadDiagnostics::innermost_ = nullptr;

ThreadDiagnostics::ThreadDiagnostics(Context& context, DiagnosticEngine::Handler handler)
    : engine_(&context.diagnostics()), handler_(std::move(handler)), outer_(innermost_) {
  innermost_ = this;
}

ThreadDiagnostics::~ThreadDiagnostics() { innermost_ = outer_; }

void ThreadDiagnostics::EmitOutside(const Diagnostic& diagnostic) const {
  engine_->EmitTo(FindFrom(outer_, engine_), diagnostic);
}

ThreadDiagnostics* ThreadDiagnostics::FindFrom(ThreadDiagnostics* found,
                                               const DiagnosticEngine* engine) {
  while (found != nullptr && found->engine_ != engine) found = found->outer_;
  return found;
}

DiagnosticEngine::Handler DiagnosticEngine::SetHandler(Handler handler) {
  if (ThreadDiagnostics* own = ThreadDiagnostics::Find(this))
    return std::exchange(own->handler_, std::move(handler));
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::shared_ptr<Handler> next;
  if (handler) next = std::make_shared<Handler>(std::move(handler));
  const std::shared_ptr<Handler> previous = std::exchange(handler_, std::move(next));
  return previous == nullptr ? Handler() : *previous;
}

void DiagnosticEngine::Emit(const Diagnostic& diagnostic) {
  EmitTo(ThreadDiagnostics::Find(this), diagnostic);
}

void DiagnosticEngine::EmitTo(const ThreadDiagnostics* own, const Diagnostic& diagnostic) {
  if (own != nullptr) {
    const Handler handler = own->handler_;  // a running call may replace it
    if (handler) handler(diagnostic);
    return;
  }
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (const std::shared_ptr<Handler> handler = handler_) (*handler)(diagnostic);
}

ScopedDiagnosticHandler::ScopedDiagnosticHandler(Context& context,
                                                 DiagnosticEngine::Handler handler)
    : context_(context), previous_(context.diagnostics().SetHandler(std::move(handler))) {}

ScopedDiagnosticHandler::~ScopedDiagnosticHandler() {
  context_.diagnostics().SetHandler(std::move(previous_));
}

absl::Status EmitError(Context& context, Location location, std::string message,
                       std::vector<Diagnostic> notes) {
  message = Shortened(context, message);
  const std::string where = ShownPlace(context, location);
  std::string text = where.empty() ? message : fmt::format("{}: {}", where, message);
  context.diagnostics().Emit({Severity::kError, location, std::move(message), std::move(notes)});
  return absl::InvalidArgumentError(text);
}

void EmitWarning(Context& context, Location location, std::string message) {
  context.diagnostics().Emit({Severity::kWarning, location, Shortened(context, message), {}});
}

void EmitRemark(Context& context, Location location, std::string message) {
  context.diagnostics().Emit({Severity::kRemark, location, Shortened(context, message), {}});
}

std::string FormatDiagnostic(const Context& context, const Diagnostic& diagnostic) {
  static constexpr const char* kNames[] = {"error", "warning", "remark", "note"};
  const std::string where = ShownPlace(context, diagnostic.location);
  std::string out = fmt::format("{}{}{}: {}", where, where.empty() ? "" : ": ",
                                kNames[static_cast<int>(diagnostic.severity)],
                                Shortened(context, diagnostic.message));
  if (!diagnostic.source.empty()) {
    out += "\n";
    out += diagnostic.source;
  }
  for (const Diagnostic& note : diagnostic.notes) {
    out += "\n";
    out += FormatDiagnostic(context, note);
  }
  return out;
}

}  // namespace tenon
