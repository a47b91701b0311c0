// Checking each kind of step of an optimization by itself, on the operations that it changes.
#ifndef TENON_FRONTENDS_DEBUG_CHECK_STEPS_H_
#define TENON_FRONTENDS_DEBUG_CHECK_STEPS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/debug/compare_nodes.h"

namespace tenon {

// What is run, and when results differ.
struct CheckStepsOptions {
  OptimizeOptions optimize{};  // its observer is not used
  CompileOptions compile{};    // for each program that runs
  CompareTensors compare{};    // must be set
  // Programs that are run for each rule, and for the folds of each operation: the first different
  // ones.
  int64_t programs_per_rule = 4;
};

// A rule or fold that changes a result.
struct StepFinding {
  int64_t step = 0;                // its number
  std::string kind;                // "rule" or "fold"
  std::string name;                // of the rule
  std::string place;               // where the rule is defined
  std::string pass;                // the entry of the pipeline that made the step
  std::string function;            // without @
  std::string op;                  // such as "nn.gelu at /layer/Mul"
  std::vector<std::string> nodes;  // of the model that the step changed
  size_t result = 0;               // of the matched operations: the one that differs
  std::string type;                // of that result, such as "2x3xf32"
  Difference difference;           // how it does
  std::string example;             // the same with the inputs that show it
  std::string before;              // IR text of the matched operations, without large constants
};

// The result of CheckSteps.
struct StepsReport {
  int64_t steps = 0;                   // of rules and folds in the whole optimization
  std::map<std::string, int64_t> run;  // programs that were run, by rule; "fold" for folds
  // Rules of which no program could be run: sample inputs do not suit them, or they hold only where
  // the rest of the model says something about their inputs.
  std::vector<std::string> not_run;
  std::vector<StepFinding> findings;  // in the order of the steps
};

// Optimizes a copy of `model`. Runs what each step replaces before and after the step, on sample
// inputs. Steps of whole passes are not checked. Errors are those of Optimize.
absl::StatusOr<StepsReport> CheckSteps(const Model& model, const CheckStepsOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_CHECK_STEPS_H_
