#include "drr/rewrite/driver.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drr/rewrite/driver_impl.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/constants/constant.h"
#include "pass/rule_log.h"

namespace tenon::drr {

bool Driver::Fold(Operation* op) {
  // An op with effects stays behind its fold, and a constant is what folds make.
  if (!op->has_uses() || op->Has(Trait::kConstantLike)) return false;
  FoldResults results;
  if (!tenon::Fold(*op, results)) return false;
  // A value or contents of another type than the result would change the types of its users.
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (results[i].value && results[i].value.type() != op->result(i).type()) return false;
    const Attribute constant = results[i].attribute;
    if (constant && constant.kind() == Attribute::Kind::kElements &&
        constant.type() != op->result(i).type())
      return false;
  }
  if (!BeginStep(context_, {.kind = RewriteStep::Kind::kFold, .name = "fold", .op = op}))
    return false;
  OpBuilder builder = OpBuilder::Before(op);
  const absl::InlinedVector<Value, 2> values = MakeFolded(builder, *op, results);
  for (size_t i = 0; i < values.size(); ++i) {
    if (results[i].value) continue;
    Operation* made = values[i].defining_op();
    NoteCreated(made);
    if (context_.observer != nullptr) context_.observer->Created(made);
  }
  for (unsigned i = 0; i < values.size(); ++i) Replaced(op->result(i), values[i]);
  if (!values.empty()) {
    op->ReplaceAllUsesWith(values);
    if (IsDead(*op)) {
      Erasing(op);
      op->Erase();
    }
  }
  EndStep(context_);
  return !values.empty();
}

std::vector<std::string> Driver::MatchedNodes() const {
  std::vector<std::string> nodes;
  for (const Operation* op : matcher_.matched_ops()) {
    for (std::string& node : DescribeAllLocations(op->context(), op->location())) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
        nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

// An attempt may take long, but not all of them.
absl::Status Driver::CountSteps(uint16_t rule, Operation* op) {
  constexpr int64_t kMostInAll = int64_t{1} << 22, kMostEach = int64_t{1} << 12;
  if (matcher_.exhausted()) return TooLong(op, matcher_.ExhaustedText());
  if (matcher_.steps() <= kMostEach) return absl::OkStatus();
  int64_t& left = steps_left_.emplace(rule, kMostInAll).first->second;
  left -= matcher_.steps() - kMostEach;
  if (left >= 0) return absl::OkStatus();
  const Rule& slow = rules_.list().rules()[rule];
  return TooLong(op,
                 fmt::format("rule '{}' ({}) takes too long to match: it took more than {} steps "
                             "(attempts of at most {} steps are not counted)",
                             slow.name(), slow.place(), kMostInAll, kMostEach));
}

namespace {

// The operations of a match, and the nearest ones behind them.
std::vector<Operation*> MatchAndUsers(const std::vector<Operation*>& match) {
  constexpr size_t kMostRoots = 64;
  std::vector<Operation*> near = match;
  for (size_t i = 0; i < near.size() && near.size() < match.size() + kMostRoots; ++i) {
    for (unsigned r = 0; r < near[i]->num_results(); ++r) {
      for (OpOperand& use : near[i]->result(r).uses()) {
        if (std::find(near.begin(), near.end(), use.owner()) == near.end())
          near.push_back(use.owner());
        if (near.size() >= match.size() + kMostRoots) break;
      }
    }
  }
  return near;
}

// True if one match has all operations of another one and more, constants aside.
bool IsLonger(const std::vector<Operation*>& match, const std::vector<Operation*>& other) {
  const auto counts = [](const Operation* op) { return !op->Has(Trait::kConstantLike); };
  return std::count_if(match.begin(), match.end(), counts) >
             std::count_if(other.begin(), other.end(), counts) &&
         std::all_of(other.begin(), other.end(), [&](const Operation* op) {
           return !counts(op) || std::find(match.begin(), match.end(), op) != match.end();
         });
}

}  // namespace

// The last operation behind the present match at which the same rule matches all of these
// operations and more. Null if there is none, and for rules whose root is no choice: a chain below
// the root of those is the longest anyway.
absl::StatusOr<Operation*> Driver::FindLonger(const CompiledRule& rule) {
  Operation* longest = nullptr;
  if (rule.nodes[rule.roots[0].node].kind != ValNode::Kind::kAnyOf) return longest;
  std::vector<Operation*> match = matcher_.matched_ops();
  for (bool found = true; found;) {
    found = false;
    const std::vector<Operation*> near = MatchAndUsers(match);
    for (size_t i = match.size(); i < near.size() && !found; ++i) {
      if (std::find(rule.anchors.begin(), rule.anchors.end(), near[i]->id()) == rule.anchors.end())
        continue;
      const bool matched = other_matcher_.Match(rule, near[i]);
      if (other_matcher_.exhausted()) return TooLong(near[i], other_matcher_.ExhaustedText());
      if (!matched || !IsLonger(other_matcher_.matched_ops(), match)) continue;
      found = true;
      longest = near[i];
    }
    if (found) match = other_matcher_.matched_ops();
  }
  return longest;
}

// An operation behind the present match at which a rule of higher benefit matches some of the same
// operations. Null if there is none among the nearest ones.
absl::StatusOr<Operation*> Driver::FindBetter(int benefit) {
  const std::vector<Rule>& rules = rules_.list().rules();
  if (rules.front().benefit() <= benefit) return nullptr;
  const std::vector<Operation*> ours = matcher_.matched_ops();
  const std::vector<Operation*> near = MatchAndUsers(ours);
  Operation* best = nullptr;
  Automaton::Scratch scratch;
  scratch.present = scratch_.present;
  for (size_t i = 1; i < near.size(); ++i) {
    const Automaton* automaton = rules_.AutomatonAt(near[i]->id());
    if (automaton == nullptr) continue;
    for (const uint16_t index : automaton->Find(near[i], scratch)) {
      if (rules[index].benefit() <= benefit) break;
      if (!rules_.list().MayMatch(index, ops_) || IsDisabled(index)) continue;
      const absl::StatusOr<const CompiledRule*> rule = rules_.Get(index);
      if (!rule.ok()) return Error(near[i], std::string(rule.status().message()));
      const bool matched = other_matcher_.Match(**rule, near[i]);
      if (other_matcher_.exhausted()) return TooLong(near[i], other_matcher_.ExhaustedText());
      const std::vector<Operation*>& theirs = other_matcher_.matched_ops();
      if (!matched || std::none_of(theirs.begin(), theirs.end(), [&](const Operation* op) {
            return !op->Has(Trait::kConstantLike) &&
                   std::find(ours.begin(), ours.end(), op) != ours.end();
          }))
        continue;
      benefit = rules[index].benefit();
      best = near[i];
      break;
    }
  }
  return best;
}

// Labels exclude most operations of a large program at once. For what they leave the automaton of
// the root knows more: it compares values anywhere.
Driver::Candidates Driver::CandidatesAt(Operation* op) {
  const Automaton* automaton = AutomatonAt(op->info());
  if (automaton == nullptr) return {};
  const auto ask_labels = [&] {
    if (labels_ == nullptr) labels_ = std::make_shared<Labels>(rules_.PatternsFor(ops_));
    return labels_->Find(op);
  };
  std::optional<std::span<const uint16_t>> labeled;
  const bool many = searches_ >= options_.searches_before_labels;
  if (many) labeled = ask_labels();
  if (labeled && labeled->empty()) return {};
  // Where they leave few of very many rules, asking for each of those would take longer.
  constexpr size_t kManyForEach = 64;
  if (labeled && labeled->size() * kManyForEach <= rules_.list().RulesAt(op->id()).size())
    return {labeled->begin(), labeled->end()};
  const std::span<const uint16_t> found = automaton->Find(op, scratch_);
  if (!many) {
    searches_ += 1 + static_cast<int64_t>(found.size());
    if (searches_ >= options_.searches_before_labels) labeled = ask_labels();
  }
  Candidates candidates;
  for (const uint16_t rule : found) {
    if (!labeled || std::binary_search(labeled->begin(), labeled->end(), rule))
      candidates.push_back(rule);
  }
  return candidates;
}

// Applies the rule of the present match, which is rooted at `op`. False if it is refused.
absl::StatusOr<bool> Driver::Fire(const CompiledRule& rule, Operation* op) {
#ifdef NDEBUG
  constexpr bool kMeasured = false;
#else
  constexpr bool kMeasured = true;
#endif
  const std::string& name = rule.rule->name();
  const RewriteQueries queries = {context_.target, context_.evaluator, kMeasured, &guard_};
  if (HasSteps() && !WhyRefused(matcher_, queries).empty()) return false;
  RuleHit hit;
  if (context_.rule_log != nullptr) hit = {name, MatchedNodes(), {}};
  created_.clear();
  const std::string place = HasSteps() ? rule.rule->place() : std::string();
  if (!BeginStep(context_, {.name = name, .place = place, .op = op, .ops = matcher_.matched_ops()}))
    return false;
  const Refusal refusal = Apply(matcher_, queries, *this);
  Changed();
  EndStep(context_);
  if (!refusal.not_lowered.empty()) return Error(top_, refusal.not_lowered);
  if (!refusal.empty()) return false;
  if (context_.rule_log != nullptr) {
    for (const Operation* made : created_) hit.made.push_back(DescribeOp(made));
    context_.rule_log->hits.push_back(std::move(hit));
  }
  CountRewrite(name);
  return true;
}

absl::StatusOr<bool> Driver::TryRules(Operation* op, std::optional<int> above) {
  // Found anew for another operation below, where a rule of higher benefit matches there.
  Patterns patterns;
  if (options_.patterns != nullptr && !above) patterns = options_.patterns->PatternsFor(op->id());
  const Candidates candidates = CandidatesAt(op);
  if (candidates.empty() && patterns.empty()) return false;
  for (const uint16_t index : candidates) {
    if (above && rules_.list().rules()[index].benefit() <= *above) break;
    if (!patterns.empty()) {
      TENON_ASSIGN_OR_RETURN(const bool changed,
                             TryPatterns(op, patterns, rules_.list().rules()[index].benefit()));
      if (changed) return true;
    }
    if (!rules_.list().MayMatch(index, ops_) || IsDisabled(index)) continue;
    const absl::StatusOr<const CompiledRule*> rule = rules_.Get(index);
    if (!rule.ok()) {
      return Error(op, std::string(rule.status().message()));
    }
    const bool matched = matcher_.Match(**rule, op);
    TENON_RETURN_IF_ERROR(CountSteps(index, op));
    if (!matched) continue;
    const int benefit = (*rule)->rule->benefit();
    TENON_ASSIGN_OR_RETURN(Operation * better, FindBetter(benefit));
    if (better != nullptr) {
      TENON_ASSIGN_OR_RETURN(const bool applied, TryRules(better, benefit));
      if (applied) return true;
      // It was refused for the type of its result, or is a step that nobody allows.
      matcher_.Match(**rule, op);
    }
    TENON_ASSIGN_OR_RETURN(Operation * longer, FindLonger(**rule));
    if (longer != nullptr) {
      matcher_.Match(**rule, longer);
      TENON_ASSIGN_OR_RETURN(const bool applied, Fire(**rule, longer));
      if (applied) return true;
      matcher_.Match(**rule, op);
    }
    TENON_ASSIGN_OR_RETURN(const bool applied, Fire(**rule, op));
    if (applied) return true;
  }
  return TryPatterns(op, patterns, std::numeric_limits<int>::min());
}

absl::StatusOr<bool> Driver::Visit(Operation* op) {
  if (op == top_) return false;
  if (options_.remove_dead && IsDead(*op)) {
    Erasing(op);
    op->Erase();
    if (context_.statistics != nullptr) context_.statistics->Add("dead");
    return true;
  }
  if (options_.fold && Fold(op)) {
    if (context_.statistics != nullptr) context_.statistics->Add("folded");
    --fuel_;
    return true;
  }
  return TryRules(op);
}

absl::Status Driver::CycleError() const {
  std::vector<std::pair<std::string, int64_t>> rules(recent_.begin(), recent_.end());
  std::stable_sort(rules.begin(), rules.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string names;
  for (size_t i = 0; i < rules.size() && i < 5; ++i) {
    names += fmt::format("{}{} ({} times)", i > 0 ? ", " : "", rules[i].first, rules[i].second);
  }
  return Error(top_, fmt::format("rewriting does not end: after {} rewrites these still fire: {}",
                                 result_.rewrites, names.empty() ? "folds" : names));
}

absl::StatusOr<DriverResult> Driver::Run() {
  std::vector<Operation*> ops;
  const auto collect = [&] {
    ops.clear();
    erased_.clear();
    reused_.clear();
    top_->Walk([&](Operation* op) {
      ops.push_back(op);
      Note(op);
    });
  };
  collect();
  allowance_ = fuel_ = options_.rewrites_per_op * static_cast<int64_t>(ops.size()) + 256;
  // A rewrite can open matches far from where it happened, so sweeps go on until one changes
  // nothing.
  for (bool changed = true; changed; collect()) {
    changed = false;
    const auto visit = [&](Operation* op) -> absl::Status {
      TENON_ASSIGN_OR_RETURN(const bool visited, Visit(op));
      changed = changed || visited;
      result_.changed = result_.changed || visited;
      return visited && fuel_ <= 0 ? CycleError() : absl::OkStatus();
    };
    for (Operation* op : ops) {
      if (!erased_.empty() && erased_.contains(op)) continue;
      if (!reused_.empty() && reused_.contains(op)) continue;  // waits in the worklist
      worklist_.Remove(op);
      TENON_RETURN_IF_ERROR(visit(op));
    }
    while (Operation* op = worklist_.Pop()) TENON_RETURN_IF_ERROR(visit(op));
    if (!changed) break;
  }
  return result_;
}

absl::StatusOr<DriverResult> ApplyRules(const CompiledRules& rules, Operation* top,
                                        PassContext& context, const DriverOptions& options) {
  if (rules.is_null()) {
    static const PatternSet kNoPatterns;
    return ApplyPatterns(options.patterns != nullptr ? *options.patterns : kNoPatterns, top,
                         context, options);
  }
  return Driver(rules, top, context, options).Run();
}

}  // namespace tenon::drr
