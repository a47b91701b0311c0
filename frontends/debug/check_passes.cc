#include "frontends/debug/check_passes.h"

#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "frontends/debug/compare_outputs.h"
#include "frontends/debug/compile_part.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/rewrite_step.h"

namespace tenon {
namespace {

using Outputs = std::vector<Tensor>;

// Runs the model at the end of each pass. Passes may contain others; the innermost one ends first
// and is the one that is blamed.
class PassWatcher : public RewriteObserver {
 public:
  PassWatcher(const Model& model, const CheckPassesOptions& options, PassesReport& report)
      : model_(model), options_(options), report_(report) {}

  // Runs the model as it is.
  absl::Status Begin() {
    TENON_ASSIGN_OR_RETURN(const Program program, Compile(model_, options_.compile));
    absl::Status failed =
        absl::InvalidArgumentError("there are no inputs (expected at least one case)");
    for (size_t i = 0; i < options_.cases.size(); ++i) {
      absl::StatusOr<Outputs> outputs = program.Run(options_.cases[i]);
      if (!outputs.ok()) {
        failed = outputs.status();
        continue;
      }
      cases_.push_back(i);
      before_.push_back(*std::move(outputs));
    }
    return cases_.empty() ? failed : absl::OkStatus();
  }

  void PassBegins(std::string_view text, Operation*) override { open_.emplace_back(text); }
  void PassEnds(Operation* op, bool changed) override {
    const std::string pass = open_.back();
    open_.pop_back();
    if (!changed) return;
    Look(pass, op);
    ++report_.changed;
  }

 private:
  void Look(const std::string& pass, Operation* op) {
    Operation *top = op, *function = op;
    for (; top->parent_op() != nullptr; top = top->parent_op()) function = top;
    const ScopedDiagnosticHandler quiet(op->context(), nullptr);
    const absl::StatusOr<Program> program =
        CompilePart(model_, OwnedOp(Clone(*top)), options_.compile);
    if (!program.ok()) {
      report_.skipped.push_back(
          fmt::format("{}: {}", pass, std::string(program.status().message())));
      return;
    }
    const OutputComparer comparer(program->outputs(), options_.compare);
    std::vector<Outputs> after;
    for (size_t i = 0; i < cases_.size(); ++i) {
      absl::StatusOr<Outputs> outputs = program->Run(options_.cases[cases_[i]]);
      PassFinding finding;
      finding.position = report_.changed;
      finding.pass = pass;
      if (function != top) finding.function = std::string(SymbolName(*function));
      finding.test_case = cases_[i];
      if (!outputs.ok()) {
        finding.difference.problem =
            "the program does not run any more: " + std::string(outputs.status().message());
        report_.findings.push_back(std::move(finding));
        return;
      }
      if (Differs(comparer, before_[i], *outputs, finding)) report_.findings.push_back(finding);
      after.push_back(*std::move(outputs));
    }
    before_ = std::move(after);
    ++report_.compared;
  }

  static bool Differs(const OutputComparer& comparer, const Outputs& before, const Outputs& after,
                      PassFinding& finding) {
    for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
      finding.difference = comparer.Compare(after, before, i);
      if (finding.difference.pass) continue;
      finding.output = i;
      finding.type = before[i].type_text();
      return true;
    }
    return false;
  }

  const Model& model_;
  const CheckPassesOptions& options_;
  PassesReport& report_;
  std::vector<std::string> open_;
  std::vector<size_t> cases_;
  std::vector<Outputs> before_;  // by case that runs
};

}  // namespace

absl::StatusOr<PassesReport> CheckPasses(const Model& model, const CheckPassesOptions& options) {
  PassesReport report;
  PassWatcher watcher(model, options, report);
  TENON_RETURN_IF_ERROR(watcher.Begin());
  Model copy = model.Clone();
  OptimizeOptions optimize = options.optimize;
  optimize.observer = &watcher;
  TENON_RETURN_IF_ERROR(Optimize(copy, optimize));
  return report;
}

}  // namespace tenon
