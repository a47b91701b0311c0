// Where rules nearly match, and what is in the way.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/constant_guard.h"
#include "drr/rewrite/driver.h"
#include "drr/rewrite/rewriter.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/reports/hit_index.h"
#include "pass/reports/places.h"
#include "pass/rule_log.h"

namespace tenon::drr {
namespace {

constexpr int kTolerance = 3;       // things that may be wrong at one place
constexpr int64_t kBudget = 20000;  // steps of matching for one attempt
constexpr int64_t kCheap = 256;     // steps of an attempt that are not counted
// Steps of a rule in a function. When they are spent, only cheap attempts are made.
constexpr int64_t kAllowance = 1'000'000;
constexpr size_t kMaxMisses = 1000;  // kept of one rule
constexpr std::string_view kFires = "nothing: the rule fires here when it is applied";

// The model node of an op, or the op's name when the model says nothing.
std::string NodeOf(const Operation* op) {
  std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name()) : node;
}

std::vector<std::string> NodesOf(const std::vector<Operation*>& ops) {
  std::vector<std::string> nodes;
  absl::flat_hash_set<std::string> seen;
  for (const Operation* op : ops) {
    std::string node = NodeOf(op);
    if (seen.insert(node).second) nodes.push_back(std::move(node));
  }
  return nodes;
}

class Explainer {
 public:
  Explainer(const CompiledRule& rule, Operation* top, const RewriteQueries& queries, RuleLog& log,
            bool fast_math)
      : rule_(rule), top_(top), queries_(queries), log_(log), matcher_(top->context()) {
    matcher_.set_fast_math(fast_math);
    parents_.resize(rule.nodes.size());
    std::vector<std::set<uint16_t>> parents(rule.nodes.size());
    for (uint16_t n = 0; n < num_nodes(); ++n) {
      if (rule.nodes[n].kind != ValNode::Kind::kOp || !rule.nodes[n].in_source) continue;
      for (const auto& group : rule.nodes[n].operands) {
        for (const Edge& edge : group) {
          const Node& part = rule.nodes[edge.node];
          if (part.kind == ValNode::Kind::kOp) parents[edge.node].insert(n);
          for (const Edge& lead : part.leads) parents[lead.node].insert(n);
        }
      }
    }
    // `n` is used by these ops, perhaps through alternatives.
    for (uint16_t n = 0; n < num_nodes(); ++n) {
      if (rule.nodes[n].kind == ValNode::Kind::kOp)
        parents_[n].assign(parents[n].begin(), parents[n].end());
    }
  }

  absl::StatusOr<std::vector<RuleMiss>> Run() {
    top_->Walk([&](Operation* op) { TryAt(op); });
    TENON_RETURN_IF_ERROR(error_);
    if (cut_ > 0 && log_.cut_off.insert(rule_.rule->name()).second) {
      EmitWarning(top_->context(), top_->location(),
                  fmt::format("the search for near misses of rule '{}' ({}) was cut off at {} "
                              "place{}, after {} steps each or {} in all: nearer misses may exist",
                              rule_.rule->name(), rule_.rule->place(), cut_, cut_ == 1 ? "" : "s",
                              kBudget, kAllowance));
    }
    if (found_.empty() && far_) found_.push_back(*std::move(far_));
    std::stable_sort(found_.begin(), found_.end(), IsNearer);
    std::vector<Alignment> kept;
    Places<const Operation*> places;
    for (Alignment& found : found_) {
      const std::vector<const Operation*> ops(found.ops.begin(), found.ops.end());
      const std::map<size_t, size_t> sharing = places.Sharing(ops);
      // The same place: half of the smaller one is in the other.
      const auto same = std::find_if(sharing.begin(), sharing.end(), [&](const auto& other) {
        return other.second * 2 >= std::min(kept[other.first].ops.size(), ops.size());
      });
      if (same == sharing.end()) {
        if (kept.size() == kMaxMisses) continue;
        places.Add(kept.size(), ops);
        kept.push_back(std::move(found));
        continue;
      }
      Alignment& nearest = kept[same->first];
      if (found.cost() == nearest.cost() && nearest.alternatives.size() < 2 &&
          found.mismatches[0].at != nearest.mismatches[0].at)
        nearest.alternatives.push_back(found.mismatches[0]);
    }
    log_.steps += places.steps();
    std::vector<RuleMiss> misses;
    misses.reserve(kept.size());
    for (const Alignment& alignment : kept) misses.push_back(Told(alignment));
    return misses;
  }

 private:
  uint16_t num_nodes() const { return static_cast<uint16_t>(rule_.nodes.size()); }

  void TryAt(Operation* op) {
    if (!error_.ok() || op == top_ || op->num_results() == 0 || op->Has(Trait::kConstantLike))
      return;
    if (std::find(rule_.anchors.begin(), rule_.anchors.end(), op->id()) != rule_.anchors.end())
      TryRoot(op);
    for (uint16_t n = 0; n < num_nodes(); ++n) {
      const Node& node = rule_.nodes[n];
      if (node.kind != ValNode::Kind::kOp || !node.in_source || node.info->id() != op->id() ||
          parents_[n].empty() || GoesOn(n, op)) {
        continue;
      }
      TryInside(n, op);
    }
  }

  std::optional<Alignment> Align(const Edge& start, Operation* op, int tolerance, int64_t budget) {
    std::optional<Alignment> found =
        matcher_.Align(rule_, start, op, tolerance, std::min(budget, std::max(left_, kCheap)));
    left_ -= std::max<int64_t>(matcher_.steps() - kCheap, 0);
    log_.steps += matcher_.steps();
    cut_ += matcher_.exhausted() ? 1 : 0;
    return found;
  }

  void TryRoot(Operation* op) {
    const bool matches = matcher_.Match(rule_, op);
    log_.steps += matcher_.steps();
    if (matches) {
      const std::string refused = WhyRefused(matcher_, queries_).why;
      Alignment alignment;
      alignment.matched_ops = alignment.wanted_ops =
          static_cast<int>(matcher_.matched_ops().size());
      alignment.ops = matcher_.matched_ops();
      alignment.mismatches = {{op, refused.empty() ? std::string(kFires) : refused, {}, nullptr}};
      return Add(std::move(alignment));
    }
    if (matcher_.exhausted()) {
      if (error_.ok()) error_ = EmitError(op->context(), op->location(), matcher_.ExhaustedText());
      return;
    }
    std::optional<Alignment> best;
    for (int tolerance = 1; tolerance <= kTolerance; ++tolerance) {
      std::optional<Alignment> found = Align(rule_.roots[0], op, tolerance, kBudget);
      if (found && (!best || found->IsNearerThan(*best))) best = std::move(found);
      if (best && best->cost() <= 6 * tolerance) break;
    }
    if (best) Add(*std::move(best));
  }

  // The part of the rule at and below `n`, where what is above does not fit.
  void TryInside(uint16_t n, Operation* op) {
    std::optional<Alignment> found = Align(Edge{n, 0, false}, op, 1, kBudget / 4);
    if (!found) return;
    std::vector<std::string> wanted;
    for (uint16_t parent : parents_[n]) {
      std::string name(rule_.nodes[parent].info->name());
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
        wanted.push_back(std::move(name));
    }
    Mismatch above;
    std::vector<std::string> users;
    for (unsigned r = 0; r < op->num_results(); ++r) {
      for (OpOperand& use : op->result(r).uses()) {
        if (users.size() < 3) users.push_back(DescribeOp(use.owner()));
        if (above.at == nullptr) above.at = use.owner();
      }
    }
    if (above.at == nullptr) above.at = op;
    above.reason =
        fmt::format("{} is used by {}, the rule wants {}", DescribeOp(op),
                    users.empty() ? "nothing" : fmt::format("{}", fmt::join(users, " and ")),
                    fmt::join(wanted, " or "));
    found->mismatches.insert(found->mismatches.begin(), std::move(above));
    Add(*std::move(found));
  }

  // Is a user of `op` one that the rule wants above `n`? Then an attempt that starts higher says
  // more.
  bool GoesOn(uint16_t n, Operation* op) const {
    for (unsigned r = 0; r < op->num_results(); ++r) {
      for (OpOperand& use : op->result(r).uses()) {
        for (uint16_t parent : parents_[n]) {
          if (use.owner()->id() == rule_.nodes[parent].info->id()) return true;
        }
      }
    }
    return false;
  }

  void Add(Alignment alignment) {
    if (alignment.mismatches.empty()) return;
    const bool all = log_.nodes.empty();
    const bool told =
        all ? Meaningful(alignment) : alignment.matched_ops > 0 && Concerns(alignment, log_.nodes);
    if (told) {
      found_.push_back(std::move(alignment));
    } else if (all && alignment.matched_ops > 0 && (!far_ || IsNearer(alignment, *far_))) {
      far_ = std::move(alignment);
    }
  }

  // In relation to the size of the rule.
  static bool IsNearer(const Alignment& a, const Alignment& b) {
    return a.cost() * b.wanted_ops < b.cost() * a.wanted_ops;
  }

  // All of a small rule but one thing, half of a larger one. Views may be a matter of other rules.
  static bool Meaningful(const Alignment& a) {
    return a.cost() - a.views() <= std::max(6, Alignment::kLost * a.wanted_ops / 2);
  }

  static bool Concerns(const Alignment& alignment,
                       const std::set<std::string, std::less<>>& nodes) {
    auto is_one = [&](const Operation* op) {
      for (const std::string& node : DescribeAllLocations(op->context(), op->location())) {
        if (nodes.count(node) != 0) return true;
      }
      return false;
    };
    // What is in the place of another op, or what that is computed from.
    auto reads_one = [&](const auto& self, const Operation* op, int depth) -> bool {
      return is_one(op) ||
             (depth > 0 && std::any_of(op->operands().begin(), op->operands().end(),
                                       [&](const OpOperand& operand) {
                                         const Operation* def = operand.get().defining_op();
                                         return def != nullptr && self(self, def, depth - 1);
                                       }));
    };
    auto is_near = [&](Operation* op) {
      if (is_one(op)) return true;
      for (OpOperand& operand : op->operands()) {
        const Operation* def = operand.get().defining_op();
        if (def != nullptr && def->Has(Trait::kConstantLike) && is_one(def)) return true;
      }
      return false;
    };
    return std::any_of(alignment.ops.begin(), alignment.ops.end(), is_near) ||
           std::any_of(
               alignment.mismatches.begin(), alignment.mismatches.end(), [&](const Mismatch& m) {
                 return is_near(m.at) || (m.found != nullptr && reads_one(reads_one, m.found, 2));
               });
  }

  std::string Reason(const Mismatch& mismatch) const {
    std::string reason = mismatch.reason;
    // Who made what is in the way.
    const HitIndex::Mention made = log_.index.LastMade(reason);
    if (made.hit != HitIndex::kNone)
      reason.insert(made.end, fmt::format(" (made by rule {})", log_.hits[made.hit].rule));
    return reason;
  }

  RuleMiss Told(const Alignment& alignment) const {
    RuleMiss miss;
    miss.rule = rule_.rule->name();
    // An op of which something is wrong does not count.
    std::set<const Operation*> wrong;
    for (const Mismatch& m : alignment.mismatches) {
      if (m.kind != Mismatch::Kind::kBetween && m.kind != Mismatch::Kind::kView &&
          m.kind != Mismatch::Kind::kUnproven &&
          std::find(alignment.ops.begin(), alignment.ops.end(), m.at) != alignment.ops.end())
        wrong.insert(m.at);
    }
    const int lost = alignment.wanted_ops - alignment.matched_ops;
    miss.matched_ops = alignment.wanted_ops - std::max(lost, static_cast<int>(wrong.size()));
    miss.wanted_ops = alignment.wanted_ops;
    // Of rules of one family, the one whose condition fails says more than one that wants something
    // else than the op that is there.
    const auto elsewhere = std::count_if(
        alignment.mismatches.begin(), alignment.mismatches.end(),
        [](const Mismatch& m) { return m.kind == Mismatch::Kind::kWrong && m.found != nullptr; });
    miss.cost = static_cast<double>(alignment.cost() - alignment.views() + elsewhere) /
                alignment.wanted_ops;
    miss.near = Meaningful(alignment);
    miss.matches = alignment.mismatches[0].reason == kFires;
    miss.nodes = NodesOf(alignment.ops);
    for (const Mismatch& m : alignment.mismatches) {
      RuleMiss::Stop stop = {NodeOf(m.at), Reason(m)};
      if (std::find(miss.stops.begin(), miss.stops.end(), stop) == miss.stops.end())
        miss.stops.push_back(std::move(stop));
    }
    for (const Mismatch& m : alignment.alternatives)
      miss.alternatives.push_back({NodeOf(m.at), Reason(m)});
    return miss;
  }

  const CompiledRule& rule_;
  Operation* top_;
  const RewriteQueries queries_;
  RuleLog& log_;
  Matcher matcher_;
  std::vector<std::vector<uint16_t>> parents_;  // by node: op nodes that use it
  std::vector<Alignment> found_;
  std::optional<Alignment> far_;  // without nodes that are asked for: the nearest of the others
  absl::Status error_;
  int64_t cut_ = 0;            // attempts that ran out of steps
  int64_t left_ = kAllowance;  // steps
};

}  // namespace

absl::Status FindMisses(const CompiledRules& rules, Operation* top, const PassContext& context,
                        RuleLog& log) {
  const std::vector<Rule>& list = rules.list().rules();
  ConstantGuard guard(context.evaluator);
  log.index.Update(log.hits);
  for (uint16_t i = 0, end = static_cast<uint16_t>(list.size()); i < end; ++i) {
    const std::string& name = list[i].name();
    if (log.places.insert_or_assign(name, list[i].place()).second) log.tried.push_back(name);
    if (!log.wanted || !log.wanted(name)) continue;
    std::vector<RuleMiss>& misses = log.misses[{std::string(SymbolName(*top)), name}];
    TENON_ASSIGN_OR_RETURN(const CompiledRule* const rule, rules.Get(i));
    TENON_ASSIGN_OR_RETURN(
        misses, Explainer(*rule, top, {context.target, context.evaluator, false, &guard}, log,
                          context.fast_math)
                    .Run());
    for (RuleMiss& miss : misses) miss.hits_before = log.hits.size();
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
