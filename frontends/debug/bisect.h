// Finding the one step of optimization that changes the results of a model.
#ifndef TENON_FRONTENDS_DEBUG_BISECT_H_
#define TENON_FRONTENDS_DEBUG_BISECT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/debug/reduce/reduce.h"

namespace tenon {

// Inputs of the main function, and results that are right.
struct BisectCase {
  std::vector<Tensor> inputs;  // one for each input of the model
  // Null tensors are not compared. Empty: the results of the model at -O0 are right. The case is
  // left out then if the model refuses its inputs, or has infinite or NaN results, unless all do.
  std::vector<Tensor> expected;
};

// What is run, and when results differ.
struct BisectOptions {
  OptimizeOptions optimize{};       // its allow_rewrite is not used
  CompileOptions compile{};         // for each program that runs
  std::vector<BisectCase> cases{};  // at least one; each program runs on all of them
  // Compares an output of numbers with the expected one. Empty: Compare (compare.h) with these
  // tolerances.
  CompareTensors compare{};
  double atol = 5e-5,         // the largest absolute difference
      rtol = 1e-4;            // and the one relative to the expected element, added to it
  bool reduce = true;         // also reduces the program before the step
  ReduceOptions reduction{};  // how it is reduced
  // Receives a line about each run. May be empty.
  std::function<void(std::string_view line)> progress{};
};

// The step, and the programs around it.
struct BisectResult {
  // How the search ended.
  enum class Outcome : uint8_t {
    kStep,          // a step changes the results; all fields describe it
    kNoDifference,  // no output differs with all steps made
    kWrongBefore,   // an output differs with no step made: a kernel, the import, a pass that always
                    // runs or the expected results are wrong
  };
  Outcome outcome = Outcome::kNoDifference;  // how the search ended
  int64_t steps = 0;                         // of the whole optimization
  // Programs that were optimized, compiled and run: at most ceil(log2(steps)) + 1. The model at
  // -O0, which says what is right, does not count.
  int64_t runs = 0;
  // What the differing output is like: "output 'y': 74 of 576 elements differ; …".
  std::string difference;
  int64_t step = 0;                // its number
  std::string kind;                // "rule", "fold" or "pass"
  std::string name;                // of the rule or pass
  std::string place;               // where the rule is defined
  std::string pass;                // the entry of the pipeline that made the step
  std::string function;            // without @
  std::string op;                  // such as "nn.gelu at /layer/Mul"
  std::vector<std::string> nodes;  // of the model that the step changed; empty for a pass
  // IR text of the program before the step and after it. If `reduced`, the smallest that was found
  // in which that rule, fold or pass changes a result for sample inputs. Else the whole model.
  bool reduced = false;
  int64_t ops = 0;     // of `before`
  std::string before,  // text of the program before the step
      after;           // and after it
  // If `reduced`: how the two differ for which sample input, that input, and the results of
  // `before`.
  std::string example;
  std::vector<Tensor> inputs,  // of the reduced program, for that sample
      outputs;                 // its results
};

// Runs `model` with ever fewer steps. Errors are those of Optimize, Compile and Run.
absl::StatusOr<BisectResult> Bisect(const Model& model, const BisectOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_BISECT_H_
