// The trace of a run: every step with the operations before and after it.
#ifndef TENON_FRONTENDS_DEBUG_TRACE_H_
#define TENON_FRONTENDS_DEBUG_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pass/rewrite_step.h"

namespace tenon {

// One step that changed the program. All texts are as they are, not escaped.
struct TraceStep {
  int64_t number = 0;                // as --opt-bisect-limit counts
  std::string kind{};                // "rule", "fold" or "pass"
  std::string name{};                // of the rule or the pass; "fold"
  std::string place{};               // where the rule is defined; empty for others
  std::string pass{};                // the entry of the pipeline, such as "fuse{before=packing}"
  std::string function{};            // the function that changes, without @
  std::vector<std::string> nodes{};  // of the model: the matched ops, that of the anchor first
  // An operation that the step made, and the nodes that it comes from.
  struct Made {
    std::string op;                 // such as "nn.gelu"
    std::vector<std::string> from;  // nodes of the model
  };
  std::vector<Made> made{};  // empty for a pass
  // For rules and folds: IR text of a function that computes what is replaced, with the same
  // arguments before and after. For passes: the lines of the function that only one side has.
  std::string before{},  // the text before the step
      after{};           // and after it
};

// What --trace writes.
struct Trace {
  std::string input;             // the name of the model
  int64_t asked = 0;             // number of steps, also of passes that changed nothing
  std::vector<TraceStep> steps;  // in the order in which they were made
};

// Records steps, for PassContext::observer. Large constants are left out of the texts.
class TraceRecorder : public RewriteObserver {
 public:
  // Appends to `trace`, which must outlive the recorder.
  explicit TraceRecorder(Trace& trace);
  ~TraceRecorder() override;
  void PassBegins(std::string_view text, Operation* op) override;
  void StepBegins(const RewriteStep& step) override;
  void Created(Operation* op) override;
  void Erasing(Operation* op) override;
  void Replaced(Value was, Value now) override;
  void StepEnds() override;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// Returns the trace as JSON; docs/reference/file-formats.md describes it.
std::string TraceJson(const Trace& trace);
// Returns one HTML page that needs no other file: the list of steps, with what is before and after.
std::string TracePage(const Trace& trace);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_TRACE_H_
