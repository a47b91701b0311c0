// A pass: a transformation of one operation (a module or a function) with everything in it.
#ifndef TENON_PASS_PASS_H_
#define TENON_PASS_PASS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/evaluator.h"

namespace tenon {

struct RuleLog;
class RuleCache;

// Module properties that passes may need, establish or destroy.
enum class ModuleProperty : uint32_t {
  kShapesInferred = 1u << 0,  // static forms wherever shapes follow from inputs; types refined
  kLowered = 1u << 1,         // only kernel.* ops in functions
  kPlanned = 1u << 2,         // memory offsets assigned
};

// What a pass did. A pass that reports no change must not have changed anything.
struct PassResult {
  bool changed = false;
};

// Counters of a pass, printed by --pass-statistics. Sorted by name.
class Statistics {
 public:
  void Add(std::string_view name, int64_t n = 1) { counts_[std::string(name)] += n; }
  const std::map<std::string, int64_t, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, int64_t, std::less<>> counts_;
};

// Services and sinks shared by the passes of one pipeline run. Pointers may be null unless stated.
struct PassContext {
  Evaluator* evaluator = nullptr;       // runs ops on constants (reference kernels only)
  const TargetQuery* target = nullptr;  // is there a kernel for this?
  Statistics* statistics = nullptr;     // never null during Run
  std::map<std::string, int64_t, std::less<>>* rule_counts = nullptr;  // hits per rule
  std::string explain_rule;  // --explain=NAME: a pass of this name that `explains` reports
  std::function<void(std::string_view line)> report;  // may be empty
  // Rules may overflow or mistake infinities where they say so and nothing proves that they do not.
  bool fast_math = false;
  RuleLog* rule_log = nullptr;            // where rules fired and nearly fired (rule_log.h)
  std::shared_ptr<RuleCache> rule_cache;  // what passes have compiled for those after them
  std::vector<std::string> rule_files;    // rules in text that `fuse` and `final-rules` apply
  // Asked before each step of a rule pass, a fold or the application of a rule; one that is refused
  // is not made. May be empty.
  std::function<bool(std::string_view rule, const Operation& op)> allow_rewrite;
};

// A pass is created per pipeline entry, configured by options, and may be cloned for threads.
class Pass {
 public:
  virtual ~Pass() = default;
  // Runs on an op of the anchor kind. Errors carry a location and have been emitted as diagnostics.
  virtual absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) = 0;
};

// One typed option of a pass, bound to a field of its options struct.
struct PassOption {
  // kCount: an integer that is not negative; GetInt returns it too.
  enum class Type : uint8_t { kBool, kInt, kCount, kString, kStringList };
  std::string name;
  Type type;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices = {};  // of text: what it, or a list, may hold; empty: anything
  bool required = false;                  // must be given; the default is not used
};

// Option values as given in pipeline text, checked against the declared options. A function asked
// for an option that the pass has not, or has as another type, returns 0, false or nothing and
// remembers the name: a pass whose `create` does that is refused.
class PassOptionValues {
 public:
  bool GetBool(std::string_view name) const;
  int64_t GetInt(std::string_view name) const;
  std::string GetString(std::string_view name) const;
  std::vector<std::string> GetStringList(std::string_view name) const;
  // Of the first wrong question; empty if there was none.
  const std::string& wrong_name() const { return wrong_name_; }

  std::map<std::string, std::vector<std::string>, std::less<>>
      values;  // complete: defaults filled in

 private:
  void NoteWrong(std::string_view name) const;
  mutable std::string wrong_name_;
};

// A pass as the registry knows it.
struct PassInfo {
  std::string name;     // "constant-fold"
  std::string summary;  // one line
  std::string anchor;   // op it runs on: "func.func" or "builtin.module"
  std::vector<PassOption> options;
  bool explains = false;  // --explain=NAME of the pass makes it report what it decided, and why
  uint32_t needs = 0, establishes = 0, destroys = 0;  // ModuleProperty bits
  std::function<std::unique_ptr<Pass>(const PassOptionValues&)> create;
};

// All passes by name. Built explicitly; const methods are thread-safe.
class PassRegistry {
 public:
  // Refuses a name that there is already, of a pass or a pipeline, one that pipeline text cannot
  // hold, two options of one name, a default that its option does not take, and a missing `create`.
  // The registry is as before then.
  absl::Status Register(PassInfo info);
  // A named pipeline: text that expands in place ("O2" -> "canonicalize,cse,…"). What is wrong in
  // the text shows where it is used, for it may name what is registered later.
  absl::Status RegisterPipeline(std::string name, std::string summary, std::string text);
  const PassInfo* Find(std::string_view name) const;
  struct Pipeline {
    std::string summary, text;
  };
  const std::map<std::string, PassInfo, std::less<>>& passes() const { return passes_; }
  const std::map<std::string, Pipeline, std::less<>>& pipelines() const { return pipelines_; }

 private:
  std::map<std::string, PassInfo, std::less<>> passes_;
  std::map<std::string, Pipeline, std::less<>> pipelines_;
};

}  // namespace tenon

#endif  // TENON_PASS_PASS_H_
