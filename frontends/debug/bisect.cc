#include "frontends/debug/bisect.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/debug/compare_outputs.h"
#include "frontends/debug/reduce/program_edit.h"
#include "frontends/debug/step_fragment.h"
#include "frontends/debug/step_replay.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/core/builder.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {
namespace {

constexpr int64_t kAllSteps = std::numeric_limits<int64_t>::max();

// Keeps what is known of one step, and the program before it.
class StepKeeper : public RewriteObserver {
 public:
  StepKeeper(int64_t number, BisectResult& result) : number_(number), result_(result) {}

  void PassBegins(std::string_view text, Operation*) override { pass_ = std::string(text); }
  void StepBegins(const RewriteStep& step) override {
    if (step.number != number_) return;
    kind = step.kind;
    result_.step = step.number;
    result_.kind = KindName(step.kind);
    result_.name = std::string(step.name);
    result_.place = std::string(step.place);
    result_.pass = pass_;
    Operation* top = const_cast<Operation*>(step.op);
    const Operation* function = top;
    while (top->parent_op() != nullptr) {
      function = top;
      top = top->parent_op();
    }
    result_.function = std::string(SymbolName(*function));
    before = OwnedOp(Clone(*top));
    if (step.kind == RewriteStep::Kind::kPass) return;
    result_.op = drr::DescribeOp(step.op);
    result_.nodes = NodesOf(step);
    fragment = MakeStepFragment(step);
  }

  RewriteStep::Kind kind = RewriteStep::Kind::kRule;
  OwnedOp before;    // the whole module
  OwnedOp fragment;  // the ops of the match alone; null for a pass

 private:
  const int64_t number_;
  BisectResult& result_;
  std::string pass_;
};

class Bisection {
 public:
  Bisection(const Model& model, const BisectOptions& options)
      : model_(model), options_(options), compile_(options.compile) {
    if (compile_.weights == nullptr) compile_.weights = MakePackedWeights(model);
  }

  absl::StatusOr<BisectResult> Run() {
    cases_ = options_.cases;
    TENON_ASSIGN_OR_RETURN(result_.difference, RunOriginal());
    result_.outcome = Outcome::kWrongBefore;
    if (!result_.difference.empty()) return std::move(result_);
    TENON_ASSIGN_OR_RETURN(const std::string all, Differs(kAllSteps));
    if (all.empty()) {
      result_.outcome = Outcome::kNoDifference;
      return std::move(result_);
    }
    result_.difference = all;
    int64_t good = 0, bad = result_.steps;
    while (bad - good > 1) {
      const int64_t middle = good + (bad - good) / 2;
      TENON_ASSIGN_OR_RETURN(std::string wrong, Differs(middle));
      (wrong.empty() ? good : bad) = middle;
      if (!wrong.empty()) result_.difference = std::move(wrong);
    }
    if (bad == 0) return std::move(result_);  // without any step
    result_.outcome = Outcome::kStep;
    TENON_RETURN_IF_ERROR(KeepStep(bad));
    return std::move(result_);
  }

 private:
  using Outcome = BisectResult::Outcome;

  // What the model computes is right, unless results are given: then it must agree with them.
  // Returns how it does not.
  absl::StatusOr<std::string> RunOriginal() {
    Model copy = model_.Clone();
    OptimizeOptions plain;
    plain.level = 0;
    TENON_RETURN_IF_ERROR(Optimize(copy, plain));
    TENON_ASSIGN_OR_RETURN(const Program program, Compile(std::move(copy), compile_));
    outputs_.emplace(program.outputs(), [this](const Tensor& actual, const Tensor& expected) {
      return Differing(actual, expected);
    });
    std::vector<BisectCase> runnable, finite;
    absl::Status failed =
        absl::InvalidArgumentError("there are no inputs (expected at least one case)");
    for (BisectCase& one : cases_) {
      const bool is_given = !one.expected.empty();
      absl::StatusOr<std::vector<Tensor>> results = program.Run(one.inputs);
      if (!results.ok()) {
        failed = results.status();
        if (is_given) return failed;
        continue;  // such as positions that are too long for a table
      }
      if (!is_given) {
        one.expected = *std::move(results);
      } else {
        std::string wrong = WhatDiffers(*results, one.expected);
        if (!wrong.empty()) return wrong;
      }
      if (is_given || AreFinite(one.expected)) finite.push_back(one);
      runnable.push_back(std::move(one));
    }
    if (runnable.empty()) return failed;
    cases_ = std::move(finite.empty() ? runnable : finite);
    return std::string();
  }

  // Empty if the results are right.
  std::string WhatDiffers(const std::vector<Tensor>& results,
                          const std::vector<Tensor>& expected) const {
    for (size_t i = 0; i < results.size() && i < expected.size(); ++i) {
      if (!expected[i]) continue;
      const Difference difference = outputs_->Compare(results, expected, i);
      if (difference.pass) continue;
      return fmt::format("output '{}': {}", ShownName(outputs_->NameOf(i)), difference.problem);
    }
    return "";
  }

  // Makes the first `limit` steps.
  absl::Status OptimizePart(int64_t limit, RewriteObserver* observer, Model& copy,
                            int64_t& asked) const {
    OptimizeOptions optimize = options_.optimize;
    optimize.observer = observer;
    asked = 0;
    optimize.allow_rewrite = [&](const RewriteStep& step) {
      asked = step.number;
      return step.number <= limit;
    };
    return Optimize(copy, optimize);
  }

  absl::StatusOr<std::string> Differs(int64_t limit) {
    Model copy = model_.Clone();
    int64_t asked = 0;
    TENON_RETURN_IF_ERROR(OptimizePart(limit, nullptr, copy, asked));
    if (limit == kAllSteps) result_.steps = asked;
    const auto after = [&](const absl::Status& status) {
      if (limit == kAllSteps) return status;
      return absl::Status(status.code(), fmt::format("after {} of {} steps: {}", limit,
                                                     result_.steps, std::string(status.message())));
    };
    const absl::StatusOr<Program> program = Compile(std::move(copy), compile_);
    if (!program.ok()) return after(program.status());
    ++result_.runs;
    std::string wrong;
    for (const BisectCase& one : cases_) {
      const absl::StatusOr<std::vector<Tensor>> results = program->Run(one.inputs);
      wrong = results.ok() ? WhatDiffers(*results, one.expected)
                           : fmt::format("the program does not run any more: {}",
                                         std::string(results.status().message()));
      if (!wrong.empty()) break;
    }
    if (options_.progress) {
      options_.progress(fmt::format("run {}: {} of {} steps: {}", result_.runs,
                                    std::min(limit, result_.steps), result_.steps,
                                    wrong.empty() ? std::string("right") : wrong));
    }
    return wrong;
  }

  absl::Status KeepStep(int64_t number) {
    Model copy = model_.Clone();
    StepKeeper keeper(number, result_);
    int64_t asked = 0;
    TENON_RETURN_IF_ERROR(OptimizePart(number, &keeper, copy, asked));
    if (keeper.before == nullptr)
      return absl::InternalError("optimization made other steps when it was repeated");
    StepReplay replay(model_, options_.optimize, options_.compile, keeper.kind, result_.name,
                      result_.pass);
    if (options_.reduce) ReduceStep(keeper, replay);
    if (!result_.reduced) Write(*keeper.before, *copy.module());
    return absl::OkStatus();
  }

  // From the ops of the match, else from the whole program. A difference that the user would see is
  // better than a small one.
  void ReduceStep(const StepKeeper& keeper, StepReplay& replay) {
    constexpr double kRounding = 2e-5;  // more than one step may change by rounding
    const StepReplay::Comparison seen = [this](const Tensor& actual, const Tensor& expected) {
      return Differing(actual, expected);
    };
    const StepReplay::Comparison small = [](const Tensor& actual, const Tensor& expected) {
      return Compare(actual, expected, kRounding, kRounding);
    };
    for (const StepReplay::Comparison* by : {&seen, &small}) {
      for (const OwnedOp* start : {&keeper.fragment, &keeper.before}) {
        if (*start == nullptr || result_.reduced) continue;
        const absl::StatusOr<OwnedOp> reduced = Reduce(
            **start,
            [&](const Operation& module) { return replay.FindExample(module, *by).has_value(); },
            options_.reduction);
        if (!reduced.ok()) continue;
        std::optional<StepReplay::Example> example = replay.FindExample(**reduced, *by);
        if (!example.has_value()) continue;
        result_.reduced = true;
        result_.example = std::move(example->text);
        result_.inputs = std::move(example->inputs);
        result_.outputs = std::move(example->outputs);
        Write(**reduced, *replay.Apply(**reduced));
      }
    }
  }

  Difference Differing(const Tensor& actual, const Tensor& expected) const {
    return options_.compare ? options_.compare(actual, expected)
                            : Compare(actual, expected, options_.atol, options_.rtol);
  }

  void Write(const Operation& before, const Operation& after) {
    result_.before = Print(before);
    result_.after = Print(after);
    result_.ops = reduce::NumComputingOps(before);
  }

  const Model& model_;
  const BisectOptions& options_;
  CompileOptions compile_;
  BisectResult result_;
  std::vector<BisectCase> cases_;
  std::optional<OutputComparer> outputs_;  // of the model
};

}  // namespace

absl::StatusOr<BisectResult> Bisect(const Model& model, const BisectOptions& options) {
  return Bisection(model, options).Run();
}

}  // namespace tenon
