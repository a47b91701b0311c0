// Runs a pipeline of passes.
#ifndef TENON_PASS_PASS_MANAGER_H_
#define TENON_PASS_PASS_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/printer.h"
#include "pass/pass.h"

namespace tenon {

// What a pass has done to one op, for who checks it.
struct PassRun {
  std::string pass;
  Operation* before;  // a copy of the op, detached
  Operation* after;
  // Runs the pass once more, on a copy.
  std::function<absl::Status(Operation* copy, PassContext& context)> again;
};

// Instrumentation of one run. Texts go to `sink`.
struct PassManagerOptions {
#ifdef NDEBUG
  static constexpr bool kCheckByDefault = false;
#else
  static constexpr bool kCheckByDefault = true;
#endif
  bool verify_each = true;
  // Compares the printed IR before and after each pass that reports no change; a difference is an
  // error.
  bool check_unchanged = kCheckByDefault;
  // Called after every pass that changed something; its error ends the run. May be empty.
  std::function<absl::Status(const PassRun& run)> check;
  bool timing = false;
  bool timing_json = false;  // the timing report as JSON instead of a table
  bool statistics = false;
  bool print_before_all = false, print_after_all = false, print_after_change = false,
       print_after_failure = false;
  std::vector<std::string> print_before, print_after;  // pass names
  PrintOptions print;                                  // how IR is printed
  std::function<void(std::string_view)> sink;  // where anything is printed: InvalidArgument without
};

// Pipeline text as in mlir-opt: `builtin.module(a,func.func(b,c{max-iterations=3}))`. The outer
// anchor may be left out. Passes whose anchor differs from the op they are nested in get the
// nesting they need.
class PassManager {
 public:
  explicit PassManager(const PassRegistry& registry);
  ~PassManager();

  // Appends the passes of `text`. The error points at the column in `text` and names the nearest
  // known pass or option. Nothing is appended then.
  absl::Status AddPipeline(std::string_view text);
  // Appends one pass or named pipeline with the text of its options: AddPass("canonicalize",
  // "max-iterations=3").
  absl::Status AddPass(std::string_view name, std::string_view options = {});
  // The pipeline with every option spelled out; AddPipeline accepts it.
  std::string Text() const;

  // The options of each place where the pipeline has this pass, in order. Valid until something is
  // appended.
  std::vector<const PassOptionValues*> OptionsOf(std::string_view pass) const;

  // Runs on a module. Refuses, before anything runs, an order in which a pass needs a property that
  // the module lacks at that point (see module_properties.h). On error the module is valid but may
  // be half transformed. May be called again.
  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context,
                                 const PassManagerOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_PASS_PASS_MANAGER_H_
