// Passes: transformations of one operation (a module or a function) and everything in it.
#ifndef TENON_PASS_PASS_H_
#define TENON_PASS_PASS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/evaluator.h"
#include "pass/host_data.h"
#include "pass/preserved_analyses.h"

namespace tenon {

class AnalysisManager;
struct RewriteStep;
struct RuleLog;
class RewriteObserver;
class RuleCache;

// Properties of a module that a pass may need, establish or destroy.
enum class ModuleProperty : uint32_t {
  kShapesInferred = 1u << 0,  // shapes that follow from inputs are static forms
  kLowered = 1u << 1,         // functions have only kernel.* ops
  kPlanned = 1u << 2,         // each buffer has a memory offset
  // The bits from 16 on are those of hosts: PassRegistry::RegisterProperty.
};

// The result of a pass. `changed` must be true if and only if the pass has changed the IR.
struct PassResult {
  bool changed = false;  // the pass changed the IR
  // Analyses of its operation that are right in spite of the change.
  PreservedAnalyses preserved = {};
};

// Runs pipelines that a pass chooses while it runs.
class PipelineRunner {
 public:
  virtual ~PipelineRunner() = default;
  // Runs the pipeline `text` on `op`: the operation of the running pass, or one with regions inside
  // of it that is isolated from above. The result tells whether it has changed, which the pass must
  // report as a change of its own. Counters are added to those of the pass, as "cse/ops-merged".
  //
  // InvalidArgument for wrong text or another operation. FailedPrecondition if the text needs a
  // property that the module lacks, or destroys one that it has. Other errors as PassManager::Run.
  virtual absl::StatusOr<PassResult> RunPipeline(std::string_view text, Operation* op) = 0;
};

// Counters of a pass, sorted by name; --pass-statistics prints them.
class Statistics {
 public:
  // Adds `n` to the counter `name`.
  void Add(std::string_view name, int64_t n = 1) { counts_[std::string(name)] += n; }
  // All counters, by name.
  const std::map<std::string, int64_t, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, int64_t, std::less<>> counts_;
};

// Services and settings for the passes of one run. Fill in what you need: pointers and functions
// may be null. The caller owns everything that is pointed to, and keeps it alive during the run.
struct PassContext {
  Evaluator* evaluator = nullptr;       // runs ops on constants
  const TargetQuery* target = nullptr;  // tells whether there is a kernel
  Statistics* statistics = nullptr;     // set by the pass manager; not null while a pass runs
  // Analyses of the operation of the pass (analysis_manager.h). Set by the pass manager; not null
  // while a pass runs.
  AnalysisManager* analyses = nullptr;
  PipelineRunner* pipelines = nullptr;  // the same
  HostData host;                        // what the host shares with its passes
  std::map<std::string, int64_t, std::less<>>* rule_counts =
      nullptr;  // applications per rule, added up
  // The rule or pass that --explain names. A pass of that name with PassInfo::explains reports.
  std::string explain_rule;
  // Receives each line of such a report.
  std::function<void(std::string_view line)> report;
  // Applies rules also where they may overflow or treat infinities differently, without a proof
  // that this cannot happen.
  bool fast_math = false;
  RuleLog* rule_log = nullptr;            // receives hits and near misses of rules (rule_log.h)
  std::shared_ptr<RuleCache> rule_cache;  // compiled rules, shared by passes
  std::vector<std::string> rule_files;    // files of rules that `fuse` and `final-rules` apply
  // Names of rules that no pass applies.
  std::set<std::string, std::less<>> disabled_rules;
  // Asked before each step (rewrite_step.h). If it returns false, the step is not made.
  std::function<bool(const RewriteStep& step)> allow_rewrite;
  RewriteObserver* observer = nullptr;  // is told of each pass and each step
  int64_t steps = 0;                    // number of steps that were asked for; BeginStep counts
};

// A configured pass. The registry creates one for each entry of a pipeline and each thread.
class Pass {
 public:
  virtual ~Pass() = default;
  // Transforms `op`, an op of PassInfo::anchor, and nothing outside of it. An error must have been
  // emitted as a diagnostic with a location (EmitError does both). The same input must give the
  // same output.
  virtual absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) = 0;
};

// One typed option of a pass.
struct PassOption {
  // The type of the value.
  enum class Type : uint8_t {
    kBool,       // true or false; GetBool returns it
    kInt,        // an integer; GetInt returns it
    kCount,      // an integer that is not negative; GetInt returns it
    kString,     // a text; GetString returns it
    kStringList  // any number of texts; GetStringList returns them
  };
  std::string name;                       // in pipeline text, such as "max-iterations"
  Type type;                              // the type of its value
  std::string default_text;               // the default, as in pipeline text
  std::string help;                       // one line
  std::vector<std::string> choices = {};  // allowed texts, also of list elements; empty: any
  bool required = false;                  // the option must be given; the default is not used
};

// A counter of a pass, as --pass-statistics shows it.
struct PassStatistic {
  std::string name;  // as for Statistics::Add; "*" for names that depend on the program
  std::string help;  // what it counts, in a few words
};

// Values of the options of a pass, checked against their declarations; defaults are filled in. A
// Get function that is asked for an option of another name or type returns 0, false or an empty
// value. It remembers that name, and the pipeline that creates the pass is refused.
class PassOptionValues {
 public:
  bool GetBool(std::string_view name) const;           // the value of a kBool option
  int64_t GetInt(std::string_view name) const;         // the value of a kInt or kCount option
  std::string GetString(std::string_view name) const;  // the value of a kString option
  // The value of a kStringList option.
  std::vector<std::string> GetStringList(std::string_view name) const;
  // The first name that a Get function did not find; empty if there is none.
  const std::string& wrong_name() const { return wrong_name_; }

  // By option name. A list has any number of texts, every other type one.
  std::map<std::string, std::vector<std::string>, std::less<>> values;

 private:
  void NoteWrong(std::string_view name) const;
  mutable std::string wrong_name_;
};

// How the changes of a pass count as steps of a run (rewrite_step.h).
enum class PassSteps : uint8_t {
  // Each run on an op is one step, which the pass manager may leave out. A pass that establishes a
  // property counts as kNone.
  kOne,
  kEach,  // the pass calls BeginStep for each of its changes
  kNone,  // what follows relies on the pass: it always runs, and is no step
};

// A pass as the registry knows it.
struct PassInfo {
  std::string name;                 // in pipeline text, such as "constant-fold"
  std::string summary;              // one line
  std::string anchor;               // the op it runs on: "func.func" or "builtin.module"
  bool on_any_op = false;           // it may also stand in any(...), on any isolated op
  std::vector<PassOption> options;  // all options that pipeline text can give
  // All counters of the pass, for people who look it up. Nothing else depends on them.
  std::vector<PassStatistic> statistics = {};
  bool explains = false;              // whether --explain=NAME makes the pass report its decisions
  PassSteps steps = PassSteps::kOne;  // how its changes count
  // Its operations go through it one after another, also where there are several threads. For
  // passes that look at other functions, or that remember what they did to them.
  bool one_at_a_time = false;
  // Bits of ModuleProperty.
  uint32_t needs = 0,   // must hold before the pass
      establishes = 0,  // hold after the pass
      destroys = 0;     // may no longer hold after the pass
  // Creates the pass. Reads options by the Get functions of PassOptionValues.
  std::function<std::unique_ptr<Pass>(const PassOptionValues&)> create;
};

// All passes and named pipelines. The host fills it (RegisterAllPasses in frontends/cpp/passes.h).
// Const functions are thread-safe; registration is not.
class PassRegistry {
 public:
  // Adds a pass. AlreadyExists if a pass or pipeline has the name. InvalidArgument for a name that
  // pipeline text cannot express, a missing `create`, a repeated option, or a default that its
  // option does not accept. On error nothing is added.
  absl::Status Register(PassInfo info);
  // Adds a named pipeline, which expands in place, such as "O2" to "canonicalize,cse,…". `text` may
  // name passes that are registered later: it is checked where the name is used. Errors in the name
  // as for Register.
  absl::Status RegisterPipeline(std::string name, std::string summary, std::string text);
  // Adds a module property of the host, such as "acme.sorted", and returns its bit. It behaves like
  // those of ModuleProperty. InvalidArgument for a name that is not dotted, AlreadyExists for one
  // in use, ResourceExhausted beyond 16.
  absl::StatusOr<ModuleProperty> RegisterProperty(std::string name);
  // The properties of the host, in the order of their bits.
  const std::vector<std::string>& host_properties() const { return host_properties_; }
  // Returns the pass of that name; null if there is none. Valid as long as the registry.
  const PassInfo* Find(std::string_view name) const;
  // A named pipeline.
  struct Pipeline {
    std::string summary,  // one line
        text;             // pipeline text
  };
  // All passes, by name.
  const std::map<std::string, PassInfo, std::less<>>& passes() const { return passes_; }
  // All named pipelines, by name.
  const std::map<std::string, Pipeline, std::less<>>& pipelines() const { return pipelines_; }

 private:
  std::map<std::string, PassInfo, std::less<>> passes_;
  std::map<std::string, Pipeline, std::less<>> pipelines_;
  std::vector<std::string> host_properties_;
};

}  // namespace tenon

#endif  // TENON_PASS_PASS_H_
