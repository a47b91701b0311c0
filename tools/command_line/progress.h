// Progress on a terminal.
#ifndef TENON_TOOLS_COMMAND_LINE_PROGRESS_H_
#define TENON_TOOLS_COMMAND_LINE_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "pass/rewrite_step.h"
#include "tools/command_line/option_table.h"

namespace tenon::tools {

// Shows what a program is doing, and for how long, as the last line of standard error. The line
// appears after two seconds and goes away with the object. Shows nothing where standard error is no
// terminal that can erase a line, or if `quiet` is set. One object at a time per process; without
// one, the static functions do nothing. Thread-safe.
class Progress : public RewriteObserver {
 public:
  Progress(std::string_view program, bool quiet);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `what` begins: "reading m.onnx".
  static void Begin(std::string_view what);
  // An observer of passes that shows the pass that runs; null if nothing is shown.
  static RewriteObserver* Observer();
  // Removes the line, so that other text can be written. It comes back later.
  static void Hide();

  void PassBegins(std::string_view text, Operation* op) override;

 private:
  using Clock = std::chrono::steady_clock;

  void Watch();
  void Erase();  // requires mutex_

  const std::string program_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable done_changes_;
  std::string what_;         // empty before the first Begin
  Clock::time_point since_;  // of what_
  bool shown_ = false;       // the line is on the terminal
  bool done_ = false;
  std::thread thread_;
};

// The row of --quiet, for programs with a field `quiet`.
template <typename Options>
constexpr Option<Options> QuietRow() {
  return {{"quiet", "", Takes::kFlag, "", "show no progress on a terminal (default: off)",
           Times::kOnce, true},
          [](Options& o, const Given& g) { return Set(o.quiet, g.on); }};
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_PROGRESS_H_
