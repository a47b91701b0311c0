// Running pipelines of passes.
#ifndef TENON_PASS_PASS_MANAGER_H_
#define TENON_PASS_PASS_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/text/printer.h"
#include "pass/pass.h"

namespace tenon {

struct PassTimes;

// One run of a pass on one op, for PassManagerOptions::check. All pointers are valid during the
// call.
struct PassRun {
  std::string pass;   // the name of the pass
  Operation* before;  // a detached copy of the op before the pass
  Operation* after;   // the op after the pass
  // Runs the pass again, on `copy`.
  std::function<absl::Status(Operation* copy, PassContext& context)> again;
};

// Checks and reports of one run.
struct PassManagerOptions {
  // Verifies the IR after each pass that reports a change. What an operation refers to in other
  // functions is verified when all passes of a nested pipeline have run on all of them.
  bool verify_each = true;
  // Compares fingerprints of the IR before and after each pass that reports no change, which takes
  // some nanoseconds for each operation. A difference is an Internal error. An operation that is
  // replaced by an equal one is a difference.
  bool check_unchanged = true;
  // Threads that share out the operations of a nested pipeline, such as the functions of a module;
  // 0: one for each core. The result, and everything that is told, is the same for any number.
  // After an error, functions behind the one that failed may be changed. One thread does all if
  // `check`, `before_pass` or `print_module_scope` is set, or PassContext::allow_rewrite, observer
  // or rule_log, or for PassInfo::one_at_a_time.
  int threads = 1;
  // Called after every pass that reports a change. An error ends the run. May be empty.
  std::function<absl::Status(const PassRun& run)> check;
  // Reports the time of each pass to `sink` at the end of the run, added up over threads.
  bool timing = false;
  // Prints the timing report as JSON instead of a table.
  bool timing_json = false;
  // Receives the times (pass_times.h) at the end of the run, in place of the report. May be empty.
  std::function<void(const PassTimes& times)> on_times;
  bool statistics = false;  // reports the counters of each pass to `sink`
  // Prints the counters, and PassContext::rule_counts, as JSON instead of a table.
  bool statistics_json = false;
  // When the IR is printed to `sink`.
  bool print_before_all = false,          // before every pass
      print_after_all = false,            // after every pass
      print_after_change = false,         // after passes that change it
      print_after_failure = false;        // after a pass that fails
  std::vector<std::string> print_before,  // before the passes with these names
      print_after;                        // after the passes with these names
  PrintOptions print;                     // how it is printed
  // What is printed after passes is the difference to before, in unified format, of passes that
  // change the text. Without one of the options print_after…, that of every pass.
  bool print_diff = false;
  // Prints the module around the op of the pass, too. One thread does all then.
  bool print_module_scope = false;
  // Prints to files of this folder instead of `sink`: `func_func_main/1_0_cse.mlir` is the IR after
  // pass 0 of the pipeline that is entry 1. What is printed before a pass ends in `.before.mlir`,
  // after one that failed in `.failed.mlir`, a difference in `.diff`. A file that is there gets a
  // neighbor `1_0_cse_2.mlir`. InvalidArgument for a file that cannot be written.
  std::string print_tree_dir;
  // Called before each pass. `pipeline` has only this pass; run on `module`, with what the module
  // says about its properties, it does the same again. An error ends the run. One thread does all.
  // May be empty.
  std::function<absl::Status(const std::string& pipeline, Operation* module)> before_pass;
  // Receives all text. Run returns InvalidArgument if a report or print has no sink.
  std::function<void(std::string_view)> sink;
};

// A pipeline of passes. The text form is that of mlir-opt:
// `builtin.module(a,func.func(b,c{max-iterations=3}))`. The outer anchor may be left out. A pass
// that runs on functions is nested into func.func where necessary. Not thread-safe: one thread at a
// time builds or runs a pass manager.
class PassManager {
 public:
  // `registry` must outlive the pass manager.
  explicit PassManager(const PassRegistry& registry);
  ~PassManager();

  // Appends the passes of `text`. InvalidArgument points at the column in `text` and names the
  // nearest known pass or option. On error nothing is appended.
  absl::Status AddPipeline(std::string_view text);
  // Appends one pass or named pipeline with options as text: AddPass("canonicalize",
  // "max-iterations=3"). Errors as for AddPipeline.
  absl::Status AddPass(std::string_view name, std::string_view options = {});
  // Returns the pipeline with every option written out. AddPipeline reads it.
  std::string Text() const;

  // Returns the options of each entry of the pass `pass`, in order. Valid until the pipeline
  // changes.
  std::vector<const PassOptionValues*> OptionsOf(std::string_view pass) const;

  // Returns FailedPrecondition if a pass needs a module property that does not hold at its turn,
  // and names a pass that establishes it. Errors of GetModuleProperties.
  absl::Status CheckOrder(const Operation& module) const;

  // Runs the pipeline on `module`, which must be a builtin.module. Before any pass runs, returns
  // the error of CheckOrder.
  //
  // Stops at the first error and returns it, with the name of the pass in the message. A pass may
  // stop half-way, so that the module may be partly transformed. Afterward the attribute
  // `core.properties` says which properties hold. A pass manager can run several times.
  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context,
                                 const PassManagerOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_PASS_PASS_MANAGER_H_
