// A nested pipeline on many operations, shared out to threads. Internal to pass.
#ifndef TENON_PASS_SHARED_NEST_H_
#define TENON_PASS_SHARED_NEST_H_

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "ir/core/context/diagnostic.h"
#include "pass/analysis_manager.h"
#include "pass/pass_manager.h"
#include "pass/pass_runner.h"
#include "pass/pipeline.h"

namespace tenon {

// Runs a nested pipeline in PassManagerOptions::threads threads, the caller's included. All that it
// tells is what one thread would tell, in the same order: dumps, diagnostics, reports and counters
// wait for the ops before. So do operations that the evaluator must not evaluate in any order. If a
// pass fails, ops behind the one that failed may be changed, but nothing tells of them.
class SharedNest {
 public:
  // One op of the nest, and what came of it.
  struct Target {
    Operation* op;
    AnalysisManager analyses;  // of the op
    PassRunner::Outcome outcome{};
    bool unverified = false;  // the op refers to others, which was not verified
  };

  // Keeps references to everything. `properties` are those of the module.
  SharedNest(const PassRegistry& registry, PassContext& context, const PassManagerOptions& options,
             uint32_t properties)
      : registry_(registry), context_(context), options_(options), properties_(properties) {}

  // Requires at least one target. Outcomes behind the first error are empty. Throws what a pass
  // throws, once all threads have ended.
  void Run(PassPipeline& pipeline, std::vector<Target>& targets);

 private:
  struct Dump {
    std::string text;
  };
  struct Line {
    std::string text;
  };
  // What one op has to tell.
  struct Told {
    std::vector<std::variant<Dump, Line, Diagnostic>> events;  // in order
    PassPipeline counted;  // the passes with statistics and times only
    std::map<std::string, int64_t, std::less<>> rule_counts;
    int64_t steps = 0;
    std::exception_ptr thrown;
  };
  class TurnEvaluator;

  void Work(PassPipeline& own, PassContext& services, std::vector<Target>& targets);
  void RunTarget(PassPipeline& own, PassContext& services, size_t number, Target& target);
  void Tell(PassPipeline& pipeline, const std::vector<Target>& targets);
  size_t Next(size_t count);  // the number of the next op; `count`: none is left
  void Done(size_t number, bool failed);
  void WaitForTurn(size_t number);  // until all ops before are done

  const PassRegistry& registry_;
  PassContext& context_;
  const PassManagerOptions& options_;
  const uint32_t properties_;
  std::vector<Told> told_;  // by number of the op

  std::mutex mutex_;
  std::condition_variable turn_;
  size_t next_ = 0;         // guarded by mutex_, as what follows
  size_t finished_ = 0;     // all ops before this number are done
  size_t end_ = SIZE_MAX;   // ops from this number on are not begun: one before has failed
  std::vector<bool> done_;  // by number of the op
};

}  // namespace tenon

#endif  // TENON_PASS_SHARED_NEST_H_
