// Rules against each other: names, order, shadowing, pairs that undo each other.
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "drr/compiled.h"
#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon::drr {
namespace {

// Does every graph that `specific` describes also match `general`? Errs towards "no".
class Subsumption {
 public:
  // `specific` is read as the graph that a rule makes when `made`, and as one that it matches
  // otherwise.
  Subsumption(const CompiledRule& general, const CompiledRule& specific, bool made)
      : general_(general), specific_(specific), made_(made) {}

  bool Holds(const Edge& g, const Edge& s) {
    if (++steps_ > kMostSteps) return false;
    const Node& general = general_.nodes[g.node];
    const Node& specific = specific_.nodes[s.node];
    bool opaque = made_ && specific.in_source;
    if (!opaque && specific.kind == ValNode::Kind::kAnyOf) {
      return std::all_of(specific.alternatives.begin(), specific.alternatives.end(),
                         [&](const Edge& e) { return Holds(g, e); });
    }
    if (!opaque && specific.kind == ValNode::Kind::kLet) return Holds(g, specific.alternatives[0]);
    switch (general.kind) {
      case ValNode::Kind::kVariable: {
        if (general.source->constant &&
            !(specific.kind == ValNode::Kind::kVariable && specific.source->constant)) {
          return false;
        }
        auto [it, inserted] = bound_.emplace(g.node, std::pair(s.node, s.result));
        return inserted || it->second == std::pair(s.node, s.result);
      }
      case ValNode::Kind::kAnyOf:
        for (const Edge& e : general.alternatives) {
          auto saved = bound_;
          if (Holds(e, s)) return true;
          bound_ = saved;
        }
        return false;
      case ValNode::Kind::kLet:
        return Holds(general.alternatives[0], s);
      case ValNode::Kind::kSplat:
        return specific.kind == ValNode::Kind::kSplat && !opaque &&
               SameAttr(general.splat, specific.splat);
      case ValNode::Kind::kEach:
        return false;
      case ValNode::Kind::kOp:
        break;
    }
    if (opaque || specific.kind != ValNode::Kind::kOp || general.info != specific.info ||
        g.result != s.result) {
      return false;
    }
    for (const AttrCode& a : general.attrs) {
      auto b = std::find_if(specific.attrs.begin(), specific.attrs.end(),
                            [&](const AttrCode& c) { return c.slot == a.slot; });
      if (b == specific.attrs.end() || !SameAttr(a, *b)) return false;
    }
    auto saved = bound_;
    if (Operands(general, specific, false)) return true;
    bound_ = saved;
    return general.commutative && Operands(general, specific, true);
  }

 private:
  bool SameAttr(const AttrCode& general, const AttrCode& specific) {
    if (general.kind == AttrCode::Kind::kAny) return true;
    if (general.kind == AttrCode::Kind::kVariable) {
      return seen_attrs_.insert(general.variable).second;  // a repeated variable: not provable here
    }
    if (general.kind != specific.kind) return false;
    if (general.kind == AttrCode::Kind::kLiteral) return general.literal == specific.literal;
    if (general.kind == AttrCode::Kind::kAxis || general.kind == AttrCode::Kind::kAxes) {
      return general.source->literal == specific.source->literal;
    }
    return false;
  }
  bool Operands(const Node& general, const Node& specific, bool swapped) {
    for (size_t i = 0; i < general.operands.size(); ++i) {
      const auto& a = general.operands[i];
      const auto& b = specific.operands[swapped && i < 2 ? 1 - i : i];
      if (a.size() != b.size()) return false;
      for (size_t j = 0; j < a.size(); ++j) {
        if (a[j].maybe || b[j].maybe || !Holds(a[j], b[j])) return false;
      }
    }
    return true;
  }

  const CompiledRule& general_;
  const CompiledRule& specific_;
  bool made_;
  // What is shared is looked at on each way to it: chains of such parts have no end.
  static constexpr int64_t kMostSteps = int64_t{1} << 14;
  int64_t steps_ = 0;
  std::map<uint16_t, std::pair<uint16_t, uint16_t>> bound_;
  std::set<uint16_t> seen_attrs_;
};

bool Unconditional(const CompiledRule& rule) {
  return rule.conditions.empty() && rule.roots.size() == 1 && !rule.rule->requires_kernel();
}

// Computed attributes may say when to stop.
bool Computes(const CompiledRule& rule) {
  return std::any_of(rule.nodes.begin(), rule.nodes.end(), [](const Node& node) {
    const auto computes = [](const AttrCode& a) { return a.kind == AttrCode::Kind::kCompute; };
    return !node.in_source &&
           (computes(node.splat) || std::any_of(node.attrs.begin(), node.attrs.end(), computes));
  });
}

std::string Named(const CompiledRule& rule) {
  return fmt::format("'{}' ({})", rule.rule->name(), rule.rule->place());
}

absl::Status CheckPair(const CompiledRule& first, const CompiledRule& second) {
  // What waits for the end is no obstacle before.
  const bool always =
      first.rule->stage() == RuleStage::kFusion || second.rule->stage() == RuleStage::kFinal;
  if (always && Unconditional(first) && second.roots.size() == 1 &&
      Subsumption(first, second, false).Holds(first.roots[0], second.roots[0])) {
    return absl::InvalidArgumentError(
        fmt::format("rule {} is never reached: {} matches whatever it matches and is tried first",
                    Named(second), Named(first)));
  }
  if (Unconditional(first) && Unconditional(second) &&
      Subsumption(first, second, true).Holds(first.roots[0], second.results[0]) &&
      Subsumption(second, first, true).Holds(second.roots[0], first.results[0])) {
    return absl::InvalidArgumentError(
        fmt::format("rules {} and {} undo each other", Named(first), Named(second)));
  }
  return absl::OkStatus();
}

}  // namespace

struct CompiledRules::Entries {
  Entries(Context& of, size_t count) : context(of), by_number(count), ready(count) {}
  Context& context;
  std::mutex mutex;  // of `by_number`
  std::vector<CompiledRule> by_number;
  std::vector<std::atomic<const CompiledRule*>> ready;  // null: not compiled
};

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
  ready.store(&made, std::memory_order_release);
  return &made;
}

absl::StatusOr<CompiledRules> CompiledRules::Create(std::vector<Rule> rules, Context& context) {
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
      return absl::InvalidArgumentError(fmt::format("{}: rule '{}' has the name of the rule in {}",
                                                    rule.place(), rule.name(),
                                                    it->second->place()));
    }
    TENON_ASSIGN_OR_RETURN(const CompiledRule* one, set.Get(i));
    if (Unconditional(*one) && !Computes(*one) &&
        Subsumption(*one, *one, true).Holds(one->roots[0], one->results[0])) {
      return absl::InvalidArgumentError(
          fmt::format("rule {} matches what it makes, and would never end", Named(*one)));
    }
    compiled.push_back(one);
  }
  for (uint16_t i = 0; i < count; ++i) {
    for (uint16_t j = 0; j < i; ++j) TENON_RETURN_IF_ERROR(CheckPair(*compiled[j], *compiled[i]));
  }
  return set;
}

}  // namespace tenon::drr
