#include "transforms/rules/rule_phase.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/reports/places.h"
#include "pass/rule_log.h"
#include "patterns/facts/value_range.h"

namespace tenon {
namespace {

// Of the hits at one node, the ones that are looked through. A fused op keeps its first node, so
// that many hits may be at one.
constexpr size_t kMostHitsAtNode = 64;

// The near misses of `now`, by their nodes.
Places<std::string> PlacesOf(const std::vector<RuleMiss>& now) {
  Places<std::string> places;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].near) places.Add(i, now[i].nodes);
  }
  return places;
}

// Near misses that were there `before`, and are not any more because another rule of the same
// family has taken a part of them: one of the hits from `first` on.
void AddTaken(const RuleLog::Misses& before, size_t first, RuleLog& log) {
  for (const auto& [key, misses] : before) {
    std::vector<RuleMiss>& now = log.misses[key];
    Places<std::string> places = PlacesOf(now);
    for (RuleMiss miss : misses) {
      if (!miss.near || miss.nodes.empty()) continue;
      const std::map<size_t, size_t> sharing = places.Sharing(miss.nodes);
      bool settled = std::any_of(sharing.begin(), sharing.end(), [&](const auto& other) {
        return other.second * 2 >= miss.nodes.size();
      });
      std::map<size_t, size_t> hits;  // that matched nodes of the miss, and how many
      for (const std::string& node : miss.nodes) {
        const std::span<const size_t> all = log.index.At(node, first);
        for (const size_t hit : all.first(std::min(all.size(), kMostHitsAtNode))) ++hits[hit];
      }
      log.steps += static_cast<int64_t>(hits.size());
      const RuleHit* taker = nullptr;
      for (const auto& [hit, common] : hits) {
        if (log.hits[hit].rule == key.second) {
          settled = true;
        } else if (common >= 2 && taker == nullptr) {
          taker = &log.hits[hit];
        }
      }
      if (settled || taker == nullptr) continue;
      miss.taken_by = taker->rule;
      miss.hits_before = first;
      places.Add(now.size(), miss.nodes);
      now.push_back(std::move(miss));
    }
    log.steps += places.steps();
  }
}

// The misses of these rules in one function. Those of other rules and functions are no concern of
// an application of the rules to it, and a program may have many functions.
RuleLog::Misses MissesOf(const drr::RuleList& rules, std::string_view function,
                         const RuleLog& log) {
  RuleLog::Misses misses;
  for (const drr::Rule& rule : rules.rules()) {
    const auto found = log.misses.find({std::string(function), rule.name()});
    if (found != log.misses.end() && !found->second.empty()) misses.insert(*found);
  }
  return misses;
}

// Near misses that an earlier application of the family has found, and this one has not because
// rules since then have changed what is beside them. They stay as long as what is wrong does.
void AddEarlier(const RuleLog::Misses& earlier, Operation* top, RuleLog& log) {
  if (earlier.empty()) return;
  absl::flat_hash_set<std::string> there;  // only looked up
  top->Walk([&](Operation* op) {
    for (std::string& node : drr::DescribeAllLocations(op->context(), op->location()))
      there.insert(std::move(node));
  });
  for (const auto& [key, misses] : earlier) {
    std::vector<RuleMiss>& now = log.misses[key];
    Places<std::string> places = PlacesOf(now);
    // Adds a miss, and finds it beside those that follow.
    const auto add = [&](const RuleMiss& miss) -> RuleMiss& {
      places.Add(now.size(), miss.nodes);
      return now.emplace_back(miss);
    };
    for (const RuleMiss& miss : misses) {
      if (!miss.near || miss.nodes.empty()) continue;
      const bool gone = !there.contains(miss.nodes[0]) || !there.contains(miss.stops[0].node);
      if (gone && !log.given.contains(miss.rule)) continue;
      bool settled = !places.Sharing(miss.nodes).empty();
      // What was wrong is a part of something else now. Of a rule of the user, this is the answer.
      const std::span<const size_t> hits = log.index.At(miss.stops[0].node, miss.hits_before);
      if (!settled && !hits.empty()) {
        settled = true;
        const RuleHit& taker = log.hits[hits[0]];
        if (taker.rule != miss.rule && log.given.contains(miss.rule)) {
          RuleMiss& added = add(miss);
          if (added.taken_by.empty()) added.taken_by = taker.rule;
        }
      }
      if (!settled) add(miss);
    }
    log.steps += places.steps();
  }
}

// A family and the given rules: more rounds than this are a cycle, not a chain. So are more
// rewrites in all than the driver allows one set, which ends a cycle that makes twice as much in
// each round.
constexpr int kMostRounds = 64;

int64_t MostRewrites(Operation* op) {
  int64_t ops = 0;
  op->Walk([&](Operation*) { ++ops; });
  return drr::DriverOptions().rewrites_per_op * ops + 256;
}

// What fires while it lives.
class Counts {
 public:
  explicit Counts(PassContext& context) : context_(context), outer_(context.rule_counts) {
    context.rule_counts = &counts_;
  }
  ~Counts() {
    context_.rule_counts = outer_;
    if (outer_ == nullptr) return;
    for (const auto& [rule, count] : counts_) (*outer_)[rule] += count;
  }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  int64_t Sum() const {
    int64_t sum = 0;
    for (const auto& [rule, count] : counts_) sum += count;
    return sum;
  }
  std::string Text() const {
    if (counts_.empty()) return "folds";
    std::string text;
    for (const auto& [rule, count] : counts_)
      text += fmt::format("{}{} ({} times)", text.empty() ? "" : ", ", rule, count);
    return text;
  }

 private:
  PassContext& context_;
  std::map<std::string, int64_t, std::less<>>* outer_;
  std::map<std::string, int64_t, std::less<>> counts_;
};

absl::Status RecordMisses(const drr::CompiledRules& rules, Operation* op,
                          const PassContext& context, RuleLog& log) {
  const pattern::RangeMemo ranges;
  TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context, log));
  log.steps += ranges.steps();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PassResult> ApplyAndLog(const drr::CompiledRules& rules, Operation* op,
                                       PassContext& context) {
  if (context.rule_log == nullptr) {
    TENON_ASSIGN_OR_RETURN(const drr::DriverResult applied, drr::ApplyRules(rules, op, context));
    return PassResult{applied.changed};
  }
  RuleLog& log = *context.rule_log;
  const RuleLog::Misses earlier = MissesOf(rules.list(), SymbolName(*op), log);
  RuleLog::Misses all = std::exchange(log.misses, {});
  const absl::Status recorded = RecordMisses(rules, op, context, log);
  RuleLog::Misses before = std::exchange(log.misses, std::move(all));
  TENON_RETURN_IF_ERROR(recorded);
  const size_t hits = log.hits.size();
  TENON_ASSIGN_OR_RETURN(const drr::DriverResult applied, drr::ApplyRules(rules, op, context));
  if (applied.changed) {
    TENON_RETURN_IF_ERROR(RecordMisses(rules, op, context, log));
    log.index.Update(log.hits);
    AddTaken(before, hits, log);
  } else {
    // What is near has not changed either.
    for (auto& [key, misses] : before) log.misses[key] = std::move(misses);
  }
  AddEarlier(earlier, op, log);
  return PassResult{applied.changed};
}

absl::StatusOr<PassResult> ApplyFamilies(const std::vector<const pattern::Family*>& families,
                                         const drr::CompiledRules* given, Operation* op,
                                         PassContext& context) {
  PassResult result;
  if (given != nullptr) {
    TENON_ASSIGN_OR_RETURN(result, ApplyAndLog(*given, op, context));
  }
  for (const pattern::Family* family : families) {
    const drr::CompiledRules rules = RuleCacheOf(context).Find(*family, op->context());
    TENON_ASSIGN_OR_RETURN(PassResult last, ApplyAndLog(rules, op, context));
    result.changed |= last.changed;
    if (given == nullptr || !last.changed) continue;
    int64_t left = MostRewrites(op);
    for (int round = 1; last.changed; ++round) {
      Counts counts(context);
      TENON_ASSIGN_OR_RETURN(last, ApplyAndLog(*given, op, context));
      if (!last.changed) break;
      TENON_ASSIGN_OR_RETURN(last, ApplyAndLog(rules, op, context));
      left -= counts.Sum();
      if (last.changed && (round == kMostRounds || left < 0)) {
        return EmitError(op->context(), op->location(),
                         fmt::format("rewriting does not end: after {} rounds of the family '{}' "
                                     "and the rules that are given beside it these still fire: {}",
                                     round, family->name, counts.Text()));
      }
    }
  }
  return result;
}

absl::Status FindAllMisses(const GivenRules* given, Operation* op, PassContext& context) {
  if (given != nullptr)
    TENON_RETURN_IF_ERROR(RecordMisses(given->all, op, context, *context.rule_log));
  for (const pattern::Family& family : pattern::Families()) {
    TENON_RETURN_IF_ERROR(RecordMisses(RuleCacheOf(context).Find(family, op->context()), op,
                                       context, *context.rule_log));
  }
  return absl::OkStatus();
}

}  // namespace tenon
