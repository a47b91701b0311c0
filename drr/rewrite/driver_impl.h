// The driver itself. Internal to drr/rewrite.
#ifndef TENON_DRR_REWRITE_DRIVER_IMPL_H_
#define TENON_DRR_REWRITE_DRIVER_IMPL_H_

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "drr/automaton/automaton.h"
#include "drr/automaton/labels.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/constant_guard.h"
#include "drr/rewrite/driver.h"
#include "drr/rewrite/rewriter.h"
#include "drr/rewrite/worklist.h"
#include "ir/core/context/diagnostic.h"
#include "pass/rewrite_step.h"

namespace tenon::drr {

// Applies rules and patterns below one op, visits again what changes, and ends when nothing does.
class Driver : public RewriteListener {
 public:
  Driver(const CompiledRules& rules, Operation* top, PassContext& context,
         const DriverOptions& options)
      : rules_(rules),
        top_(top),
        context_(context),
        options_(options),
        guard_(context.evaluator),
        matcher_(top->context()),
        other_matcher_(top->context()) {
    matcher_.set_fast_math(context.fast_math);
    other_matcher_.set_fast_math(context.fast_math);
    scratch_.present = 0;
    if (options.labels != nullptr) UseLabels(*options.labels);
    if (context.disabled_rules.empty()) return;
    for (const Rule& rule : rules.list().rules())
      disabled_.push_back(context.disabled_rules.contains(rule.name()));
  }

  absl::StatusOr<DriverResult> Run();

  void Created(Operation* op) override {
    BeginPatternStep();
    if (context_.rule_log != nullptr) created_.push_back(op);
    Changed();
    NoteCreated(op);
    if (context_.observer != nullptr) context_.observer->Created(op);
    worklist_.Push(op);
    for (OpOperand& operand : op->operands()) PushDefinition(operand.get());
  }
  void Erasing(Operation* op) override {
    BeginPatternStep();
    Changed();
    worklist_.Remove(op);
    guard_.Erasing(op);
    erased_.insert(op);
    if (context_.observer != nullptr) context_.observer->Erasing(op);
    // Fewer uses may open a match at the operands, or leave them dead.
    for (OpOperand& operand : op->operands()) PushDefinition(operand.get());
  }
  void Replaced(Value was, Value now) override {
    BeginPatternStep();
    Changed();
    guard_.Replaced(was, now);
    if (context_.observer != nullptr) context_.observer->Replaced(was, now);
    for (OpOperand& use : was.uses()) worklist_.Push(use.owner());
  }
  void Modified(Operation* op) override {
    BeginPatternStep();
    Changed();
    guard_.Modified(op);
    worklist_.Push(op);
    for (OpOperand& operand : op->operands()) PushDefinition(operand.get());
    for (unsigned i = 0; i < op->num_results(); ++i) {
      for (OpOperand& use : op->result(i).uses()) worklist_.Push(use.owner());
    }
  }
  void BlockCreated(Block* /*block*/) override { BeginPatternStep(); }
  void BlockErasing(Block* /*block*/) override { BeginPatternStep(); }

 private:
  using Patterns = std::span<const RewritePattern* const>;

  // A pattern erases ops with what is inside, of which some may define operands of others.
  void PushDefinition(Value value) {
    Operation* op = value ? value.defining_op() : nullptr;
    if (op != nullptr && (erased_.empty() || !erased_.contains(op))) worklist_.Push(op);
  }
  // The first change that a pattern makes begins its step.
  void BeginPatternStep() {
    if (pattern_step_ == nullptr) return;
    StartStep(context_, *pattern_step_);
    pattern_step_ = nullptr;
  }
  // Tries those of the next `patterns` that have a higher benefit than `above`, up to the first one
  // that changes something, and drops them from `patterns`.
  absl::StatusOr<bool> TryPatterns(Operation* op, Patterns& patterns, int above);
  absl::StatusOr<bool> TryPattern(const RewritePattern& pattern, Operation* op);
  // The allocator decides whether a new op lies where an erased one did; the order of visits must
  // not depend on that.
  void NoteCreated(const Operation* op) {
    if (erased_.erase(op) > 0) reused_.insert(op);
    Note(op);
  }
  void Note(const Operation* op) {
    const OpInfo*& noted = noted_[op->id() % noted_.size()];
    if (noted == &op->info()) return;
    noted = &op->info();
    scratch_.present |= BitOf(op->id());
    const NeededOps before = ops_;
    rules_.list().Note(op->id(), ops_);
    if (ops_ != before) labels_.reset();  // more rules may match
  }
  // Later programs may have other operations.
  void UseLabels(std::shared_ptr<Labels>& labels) {
    ops_ = rules_.list().AllNeeded();
    if (labels == nullptr) labels = std::make_shared<Labels>(rules_.PatternsFor(ops_));
    labels_ = labels;
    labels_->Forget();
    searches_ = options_.searches_before_labels;
  }
  void Changed() {
    if (labels_ != nullptr) labels_->Forget();
  }
  absl::StatusOr<bool> Visit(Operation* op);
  bool Fold(Operation* op);
  // Applies the first rule or pattern that matches at `op`. `above`: only rules of a higher benefit
  // count.
  absl::StatusOr<bool> TryRules(Operation* op, std::optional<int> above = std::nullopt);
  // The rules that may match at `op`, in their order.
  using Candidates = absl::InlinedVector<uint16_t, 32>;
  // Null: no rule has such an op as its root.
  const Automaton* AutomatonAt(const OpInfo& info) {
    auto& [recent, automaton] = recent_automata_[info.id() % recent_automata_.size()];
    if (recent != &info) {
      recent = &info;
      automaton = rules_.AutomatonAt(info.id());
    }
    return automaton;
  }
  Candidates CandidatesAt(Operation* op);
  absl::StatusOr<Operation*> FindBetter(int benefit);
  absl::StatusOr<Operation*> FindLonger(const CompiledRule& rule);
  absl::StatusOr<bool> Fire(const CompiledRule& rule, Operation* op);
  absl::Status CountSteps(uint16_t rule, Operation* op);
  void CountRewrite(const std::string& name);
  bool IsDisabled(uint16_t rule) const { return !disabled_.empty() && disabled_[rule]; }
  // Whether someone counts steps: only rewrites that will be made are any.
  bool HasSteps() const { return context_.allow_rewrite || context_.observer != nullptr; }
  std::vector<std::string> MatchedNodes() const;
  absl::Status CycleError() const;
  absl::Status Error(Operation* op, std::string message) const {
    if (options_.emit) return EmitError(op->context(), op->location(), std::move(message));
    return absl::InvalidArgumentError(message);
  }
  absl::Status TooLong(Operation* op, const std::string& message) const {
    const absl::Status status = Error(op, message);
    return absl::ResourceExhaustedError(status.message());
  }

  const CompiledRules& rules_;
  Operation* top_;
  PassContext& context_;
  const DriverOptions& options_;
  ConstantGuard guard_;
  Matcher matcher_;
  Matcher other_matcher_;  // of FindBetter and FindLonger
  std::array<std::pair<const OpInfo*, const Automaton*>, 64> recent_automata_{};  // by root
  Automaton::Scratch scratch_;
  std::shared_ptr<Labels> labels_;  // null: not made yet
  int64_t searches_ = 0;            // for rules, without labels: at operations and of each rule
  Worklist worklist_;
  NeededOps ops_;                          // of the rules' needs: what was there at some time
  std::vector<bool> disabled_;             // by rule; empty: none is
  std::array<const OpInfo*, 64> noted_{};  // some of the ops in it
  absl::flat_hash_set<const Operation*> erased_;  // in this sweep
  absl::flat_hash_set<const Operation*> reused_;  // created in this sweep where erased ones lay
  std::vector<Operation*> created_;               // by the rule that is being applied; for the log
  const RewriteStep* pattern_step_ = nullptr;     // of a pattern that has not changed anything yet
  DriverResult result_;
  std::map<std::string, int64_t, std::less<>>
      recent_;                              // rule firings since half of the fuel was used
  std::map<uint16_t, int64_t> steps_left_;  // of matching, by rule; of those that take many
  int64_t fuel_ = 0, allowance_ = 0;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_DRIVER_IMPL_H_
