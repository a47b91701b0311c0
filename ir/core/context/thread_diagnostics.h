// Diagnostics of one thread, apart from those of others.
#ifndef TENON_IR_CORE_CONTEXT_THREAD_DIAGNOSTICS_H_
#define TENON_IR_CORE_CONTEXT_THREAD_DIAGNOSTICS_H_

#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"

namespace tenon {

// While one lives, diagnostics that its thread emits in `context` go to `handler` alone. SetHandler
// in this thread replaces `handler`, and not the handler of the Context. So what several threads
// have to say can be told in one order. Must end in the thread that made it, the latest first.
class ThreadDiagnostics {
 public:
  ThreadDiagnostics(Context& context, DiagnosticEngine::Handler handler);
  ~ThreadDiagnostics();
  // Tells what `handler` was told, or a change of it, to who would have been told without this.
  void EmitOutside(const Diagnostic& diagnostic) const;
  ThreadDiagnostics(const ThreadDiagnostics&) = delete;
  ThreadDiagnostics& operator=(const ThreadDiagnostics&) = delete;

 private:
  friend class DiagnosticEngine;
  // The innermost one of this thread for an engine; null if there is none.
  static ThreadDiagnostics* Find(const DiagnosticEngine* engine) {
    return FindFrom(innermost_, engine);
  }
  static ThreadDiagnostics* FindFrom(ThreadDiagnostics* innermost, const DiagnosticEngine* engine);

  static thread_local constinit ThreadDiagnostics* innermost_;
  DiagnosticEngine* engine_;
  DiagnosticEngine::Handler handler_;
  ThreadDiagnostics* outer_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_THREAD_DIAGNOSTICS_H_
