#include "frontends/debug/check_steps.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/debug/step_fragment.h"
#include "frontends/debug/step_replay.h"
#include "ir/base/check.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/rewrite_step.h"

namespace tenon {
namespace {

// A step whose matched operations are kept.
struct KeptStep {
  RewriteStep::Kind kind;
  StepFinding finding;  // what is known of it before it is run
  OwnedOp fragment;
};

std::string FunctionOf(const Operation* op) {
  const Operation* function = op;
  for (; op->parent_op() != nullptr; op = op->parent_op()) function = op;
  return std::string(SymbolName(*function));
}

// Keeps the first steps of each rule that change different operations.
class StepCollector : public RewriteObserver {
 public:
  explicit StepCollector(int64_t most) : most_(most) {}

  void PassBegins(std::string_view text, Operation*) override { pass_ = std::string(text); }
  void StepBegins(const RewriteStep& step) override {
    if (step.kind == RewriteStep::Kind::kPass) return;
    ++steps;
    const std::string name(step.name);
    const bool is_fold = step.kind == RewriteStep::Kind::kFold;
    std::set<std::string>& programs =
        programs_[is_fold ? "fold " + std::string(step.op->name()) : name];
    names.insert(name);
    if (static_cast<int64_t>(programs.size()) >= most_) return;
    OwnedOp fragment = MakeStepFragment(step);
    if (fragment == nullptr) return;
    // The text without names and without large constants.
    if (!programs.insert(Print(*fragment, {.generic = true, .elide_resources = true})).second)
      return;
    StepFinding finding;
    finding.step = step.number;
    finding.kind = KindName(step.kind);
    finding.name = name;
    finding.place = std::string(step.place);
    finding.pass = pass_;
    finding.function = FunctionOf(step.op);
    finding.op = drr::DescribeOp(step.op);
    finding.nodes = NodesOf(step);
    kept.push_back({step.kind, std::move(finding), std::move(fragment)});
  }

  int64_t steps = 0;
  std::set<std::string> names;  // of rules
  std::vector<KeptStep> kept;

 private:
  const int64_t most_;
  std::string pass_;
  std::map<std::string, std::set<std::string>> programs_;  // by rule
};

}  // namespace

absl::StatusOr<StepsReport> CheckSteps(const Model& model, const CheckStepsOptions& options) {
  StepCollector collector(options.programs_per_rule);
  {
    Model copy = model.Clone();
    OptimizeOptions optimize = options.optimize;
    optimize.observer = &collector;
    TENON_RETURN_IF_ERROR(Optimize(copy, optimize));
  }
  StepsReport report;
  report.steps = collector.steps;
  for (KeptStep& kept : collector.kept) {
    StepReplay replay(model, options.optimize, options.compile, kept.kind, kept.finding.name,
                      kept.finding.pass);
    int64_t compared = 0;
    std::string type;
    const std::optional<StepReplay::Example> example =
        replay.FindExample(*kept.fragment, [&](const Tensor& actual, const Tensor& expected) {
          ++compared;
          type = expected.type_text();
          return options.compare(actual, expected);
        });
    if (compared > 0) ++report.run[kept.finding.name];
    if (!example.has_value()) continue;
    StepFinding finding = std::move(kept.finding);
    finding.result = example->result;
    finding.type = std::move(type);
    finding.difference = example->difference;
    finding.example = example->text;
    finding.before = Print(*kept.fragment, {.elide_resources = true});
    report.findings.push_back(std::move(finding));
  }
  for (const std::string& name : collector.names) {
    if (report.run.count(name) == 0) report.not_run.push_back(name);
  }
  return report;
}

}  // namespace tenon
