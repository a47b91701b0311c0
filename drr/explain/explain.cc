// Where rules nearly match, and what is in the way.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "drr/explain/cost_bounds.h"
#include "drr/explain/op_index.h"
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
  // `may_match`: false if the program lacks an operation that the rule needs.
  Explainer(const CompiledRule& rule, const OpIndex& ops, Operation* top,
            const RewriteQueries& queries, RuleLog& log, bool fast_math, bool may_match)
      : rule_(rule),
        ops_(ops),
        bounds_(rule),
        top_(top),
        queries_(queries),
        log_(log),
        matcher_(top->context()),
        may_match_(may_match) {
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
    std::set<OpId> ids(rule_.anchors.begin(), rule_.anchors.end());
    absl::flat_hash_map<OpId, std::vector<uint16_t>> inside;  // op nodes by what they are
    for (uint16_t n = 0; n < num_nodes(); ++n) {
      if (parents_[n].empty() || (only_near() && bounds_.MostBelow(n) < 0)) continue;
      const OpId id = rule_.nodes[n].info->id();
      ids.insert(id);
      inside[id].push_back(n);
    }
    for (Operation* op : ops_.Find(ids)) {
      if (std::find(rule_.anchors.begin(), rule_.anchors.end(), op->id()) != rule_.anchors.end())
        TryRoot(op);
      const auto nodes = inside.find(op->id());
      if (nodes == inside.end()) continue;
      for (const uint16_t n : nodes->second) {
        if (!GoesOn(n, op)) TryInside(n, op);
      }
      TENON_RETURN_IF_ERROR(error_);
    }
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

  // True if a miss where little matches is of no interest.
  bool only_near() const { return log_.only_near && log_.nodes.empty(); }

  // Without words: few alignments are told.
  std::optional<Alignment> Align(const Edge& start, Operation* op, AlignLimits& limits) {
    limits.budget = std::min(limits.budget, std::max(left_, kCheap));
    limits.words = false;
    if (only_near()) limits.bounds = &bounds_;
    std::optional<Alignment> found = matcher_.Align(rule_, start, op, limits);
    left_ -= std::max<int64_t>(matcher_.steps() - kCheap, 0);
    log_.steps += matcher_.steps();
    cut_ += matcher_.exhausted() ? 1 : 0;
    return found;
  }

  // The same alignment once more, with words.
  Alignment InWords(const Edge& start, Operation* op, AlignLimits limits) {
    limits.words = true;
    std::optional<Alignment> found = matcher_.Align(rule_, start, op, limits);
    TENON_CHECK(found.has_value());
    log_.steps += matcher_.steps();
    return *std::move(found);
  }

  void TryRoot(Operation* op) {
    const bool matches = may_match_ && matcher_.Match(rule_, op);
    if (may_match_) log_.steps += matcher_.steps();
    if (matches) {
      const std::string refused = WhyRefused(matcher_, queries_).why;
      Alignment alignment;
      alignment.matched_ops = alignment.wanted_ops =
          static_cast<int>(matcher_.matched_ops().size());
      alignment.ops = matcher_.matched_ops();
      alignment.mismatches = {{op, refused.empty() ? std::string(kFires) : refused, {}, nullptr}};
      if (Tells(alignment)) Add(std::move(alignment));
      return;
    }
    if (may_match_ && matcher_.exhausted()) {
      if (error_.ok()) error_ = EmitError(op->context(), op->location(), matcher_.ExhaustedText());
      return;
    }
    std::optional<Alignment> best;
    AlignLimits of_best;
    for (int tolerance = 1; tolerance <= kTolerance; ++tolerance) {
      AlignLimits limits = {tolerance, kBudget};
      limits.most_cost = bounds_.most();
      std::optional<Alignment> found = Align(rule_.roots[0], op, limits);
      if (found && (!best || found->IsNearerThan(*best))) {
        best = std::move(found);
        of_best = limits;
      }
      if (best && best->cost() <= 6 * tolerance) break;
    }
    if (best && Tells(*best)) Add(InWords(rule_.roots[0], op, of_best));
  }

  // The part of the rule at and below `n`, where what is above does not fit.
  void TryInside(uint16_t n, Operation* op) {
    const Edge start = {n, 0, false};
    AlignLimits limits = {1, kBudget / 4};
    limits.most_cost = bounds_.MostBelow(n);
    std::optional<Alignment> found = Align(start, op, limits);
    if (!found) return;
    found->mismatches.insert(found->mismatches.begin(), Mismatch{UserOf(op), {}, {}, nullptr});
    if (Tells(*found)) Add(WithAbove(n, op, InWords(start, op, limits)));
  }

  // The first user of the op, or the op itself if it has none.
  static Operation* UserOf(Operation* op) {
    for (unsigned r = 0; r < op->num_results(); ++r) {
      for (OpOperand& use : op->result(r).uses()) return use.owner();
    }
    return op;
  }

  // Adds to an alignment of what is below `n` that `op` is used by other ops than the rule wants.
  Alignment WithAbove(uint16_t n, Operation* op, Alignment found) const {
    std::vector<std::string> wanted;
    for (uint16_t parent : parents_[n]) {
      std::string name(rule_.nodes[parent].info->name());
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
        wanted.push_back(std::move(name));
    }
    Mismatch above;
    above.at = UserOf(op);
    std::vector<std::string> users;
    for (unsigned r = 0; r < op->num_results(); ++r) {
      for (OpOperand& use : op->result(r).uses()) {
        if (users.size() < 3) users.push_back(DescribeOp(use.owner()));
      }
    }
    above.reason =
        fmt::format("{} is used by {}, the rule wants {}", DescribeOp(op),
                    users.empty() ? "nothing" : fmt::format("{}", fmt::join(users, " and ")),
                    fmt::join(wanted, " or "));
    found.mismatches.insert(found.mismatches.begin(), std::move(above));
    return found;
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

  // True if the alignment is one that the log records.
  bool IsNear(const Alignment& alignment) const {
    return log_.nodes.empty() ? Meaningful(alignment)
                              : alignment.matched_ops > 0 && Concerns(alignment, log_.nodes);
  }

  // Does Add keep the alignment?
  bool Tells(const Alignment& alignment) const {
    if (alignment.mismatches.empty()) return false;
    if (IsNear(alignment)) return true;
    return log_.nodes.empty() && !only_near() && alignment.matched_ops > 0 &&
           (!far_ || IsNearer(alignment, *far_));
  }

  void Add(Alignment alignment) {
    if (IsNear(alignment)) {
      found_.push_back(std::move(alignment));
    } else {
      far_ = std::move(alignment);
    }
  }

  // In relation to the size of the rule.
  static bool IsNearer(const Alignment& a, const Alignment& b) {
    return a.cost() * b.wanted_ops < b.cost() * a.wanted_ops;
  }

  // All of a small rule but one thing, half of a larger one. Views may be a matter of other rules.
  static bool Meaningful(const Alignment& a) {
    return a.cost() - a.views() <= MostCostOfNear(a.wanted_ops);
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
  const OpIndex& ops_;
  const CostBounds bounds_;
  Operation* top_;
  const RewriteQueries queries_;
  RuleLog& log_;
  Matcher matcher_;
  const bool may_match_;
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
  const OpIndex ops(top, rules.list());
  log.index.Update(log.hits);
  for (uint16_t i = 0, end = static_cast<uint16_t>(list.size()); i < end; ++i) {
    const std::string& name = list[i].name();
    if (log.places.insert_or_assign(name, list[i].place()).second) log.tried.push_back(name);
    if (!log.wanted || !log.wanted(name)) continue;
    std::vector<RuleMiss>& misses = log.misses[{std::string(SymbolName(*top)), name}];
    TENON_ASSIGN_OR_RETURN(const CompiledRule* const rule, rules.Get(i));
    TENON_ASSIGN_OR_RETURN(
        misses, Explainer(*rule, ops, top, {context.target, context.evaluator, false, &guard}, log,
                          context.fast_math, rules.list().MayMatch(i, ops.present()))
                    .Run());
    for (RuleMiss& miss : misses) miss.hits_before = log.hits.size();
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
