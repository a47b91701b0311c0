// Rules of a phase for one Context: compiled when they are asked for, or checked all at once.
#include <atomic>
#include <limits>
#include <map>
#include <mutex>

#include "drr/automaton/automaton.h"
#include "drr/automaton/patterns.h"
#include "drr/compile/compiled.h"
#include "drr/conflicts/rule_conflicts.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/interned_roots.h"

namespace tenon::drr {

struct CompiledRules::Entries {
  Entries(Context& of, size_t count) : context(of), roots(of), by_number(count), ready(count) {}
  Context& context;
  InternedRoots roots;  // what the compiled rules name
  std::mutex mutex;     // of `by_number`
  std::vector<CompiledRule> by_number;
  std::vector<std::atomic<const CompiledRule*>> ready;  // null: not compiled
  std::mutex automata_mutex;                            // of `automata`
  std::map<OpId, std::unique_ptr<const Automaton>> automata;
  std::mutex patterns_mutex;  // of `patterns`
  std::map<NeededOps, std::shared_ptr<const PatternTable>> patterns;
};

namespace {

void KeepHandles(const CompiledRule& rule, InternedRoots& roots) {
  for (const DimCode& dim : rule.dims) roots.Add(dim.constant);
  for (const Node& node : rule.nodes) {
    for (const AttrCode& attr : node.attrs) roots.Add(attr.literal);
    roots.Add(node.splat.literal);
    roots.Add(node.let_value.literal);
  }
}

}  // namespace

CompiledRules CompiledRules::OnDemand(std::shared_ptr<const RuleList> rules, Context& context) {
  CompiledRules set;
  set.entries_ = std::make_shared<Entries>(context, rules->rules().size());
  set.list_ = std::move(rules);
  return set;
}

absl::StatusOr<const CompiledRule*> CompiledRules::Get(uint16_t rule) const {
  std::atomic<const CompiledRule*>& ready = entries_->ready[rule];
  if (const CompiledRule* compiled = ready.load(std::memory_order_acquire)) return compiled;
  const std::lock_guard<std::mutex> lock(entries_->mutex);
  if (const CompiledRule* compiled = ready.load(std::memory_order_relaxed)) return compiled;
  CompiledRule& made = entries_->by_number[rule];
  TENON_ASSIGN_OR_RETURN(made, CompileRule(list_->rules()[rule], entries_->context));
  KeepHandles(made, entries_->roots);
  ready.store(&made, std::memory_order_release);
  return &made;
}

const Automaton* CompiledRules::AutomatonAt(OpId root) const {
  const std::vector<uint16_t>& numbers = list_->RulesAt(root);
  if (numbers.empty()) return nullptr;
  const std::lock_guard<std::mutex> lock(entries_->automata_mutex);
  std::unique_ptr<const Automaton>& automaton = entries_->automata[root];
  if (automaton != nullptr) return automaton.get();
  std::vector<std::pair<uint16_t, const CompiledRule*>> rules;
  std::vector<uint16_t> always;
  for (const uint16_t number : numbers) {
    const absl::StatusOr<const CompiledRule*> rule = Get(number);
    if (rule.ok()) {
      rules.emplace_back(number, *rule);
    } else {
      always.push_back(number);
    }
  }
  automaton = std::make_unique<const Automaton>(rules, std::move(always), root);
  return automaton.get();
}

std::shared_ptr<const PatternTable> CompiledRules::PatternsFor(const NeededOps& ops) const {
  constexpr size_t kMostTables = 16;  // programs differ in few of the ops that rules need
  const std::lock_guard<std::mutex> lock(entries_->patterns_mutex);
  if (const auto it = entries_->patterns.find(ops); it != entries_->patterns.end())
    return it->second;
  auto table = std::make_shared<PatternTable>();
  for (uint16_t i = 0; i < list_->rules().size(); ++i) {
    if (!list_->MayMatch(i, ops)) continue;
    const absl::StatusOr<const CompiledRule*> rule = Get(i);
    if (rule.ok()) {
      table->Add(i, **rule);
    } else {
      table->AddUnknown(i);
    }
  }
  table->Finish();
  if (entries_->patterns.size() >= kMostTables) entries_->patterns.clear();
  entries_->patterns.emplace(ops, table);
  return table;
}

absl::StatusOr<CompiledRules> CompiledRules::Create(std::vector<Rule> rules, Context& context,
                                                    Together together) {
  constexpr size_t kMostRules = std::numeric_limits<uint16_t>::max();
  if (rules.size() > kMostRules) {
    return absl::InvalidArgumentError(
        fmt::format("{}: there are more than {} rules", rules[kMostRules].place(), kMostRules));
  }
  CompiledRules set = OnDemand(std::make_shared<const RuleList>(std::move(rules)), context);
  std::map<std::string, const Rule*> names;
  const auto count = static_cast<uint16_t>(set.list().rules().size());
  std::vector<const CompiledRule*> compiled;
  for (uint16_t i = 0; i < count; ++i) {
    const Rule& rule = set.list().rules()[i];
    auto [it, inserted] = names.emplace(rule.name(), &rule);
    if (!inserted) {
      return absl::InvalidArgumentError(
          fmt::format("{}: rule '{}' has the name of the rule in {} "
                      "(expected another name)",
                      rule.place(), rule.name(), it->second->place()));
    }
    TENON_ASSIGN_OR_RETURN(compiled.emplace_back(), set.Get(i));
  }
  if (together == Together::kChecked) TENON_RETURN_IF_ERROR(FindConflicts(set, compiled, context));
  return set;
}

}  // namespace tenon::drr
