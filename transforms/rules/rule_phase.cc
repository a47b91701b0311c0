#include "transforms/rules/rule_phase.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/rule_log.h"

namespace tenon {
namespace {

size_t Common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return static_cast<size_t>(std::count_if(a.begin(), a.end(), [&](const std::string& node) {
    return std::find(b.begin(), b.end(), node) != b.end();
  }));
}

// Near misses that were there `before`, and are not any more because another rule of the same
// family has taken a part of them: one of the hits from `first` on.
void AddTaken(const RuleLog& before, size_t first, RuleLog& log) {
  for (const auto& [key, misses] : before.misses) {
    std::vector<RuleMiss>& now = log.misses[key];
    for (RuleMiss miss : misses) {
      if (!miss.near || miss.nodes.empty()) continue;
      const RuleHit* taker = nullptr;
      bool settled = std::any_of(now.begin(), now.end(), [&](const RuleMiss& other) {
        return other.near && Common(miss.nodes, other.nodes) * 2 >= miss.nodes.size();
      });
      for (size_t h = first; h < log.hits.size(); ++h) {
        const size_t common = Common(miss.nodes, log.hits[h].nodes);
        if (log.hits[h].rule == key.second) {
          settled |= common > 0;
        } else if (common >= 2 && taker == nullptr) {
          taker = &log.hits[h];
        }
      }
      if (settled || taker == nullptr) continue;
      miss.taken_by = taker->rule;
      miss.hits_before = first;
      now.push_back(std::move(miss));
    }
  }
}

// The misses in one function. Those of others are no concern of an application to it, and a program
// may have many functions.
RuleLog::Misses MissesIn(std::string_view function, const RuleLog& log) {
  RuleLog::Misses misses;
  for (auto it = log.misses.lower_bound({std::string(function), ""});
       it != log.misses.end() && it->first.first == function; ++it) {
    misses.insert(misses.end(), *it);
  }
  return misses;
}

// Near misses that an earlier application of the family has found, and this one has not because
// rules since then have changed what is beside them. They stay as long as what is wrong does.
void AddEarlier(const RuleLog::Misses& earlier, Operation* top, RuleLog& log) {
  std::set<std::string> there;
  top->Walk([&](Operation* op) {
    for (std::string& node : drr::DescribeAllLocations(op->context(), op->location()))
      there.insert(std::move(node));
  });
  for (const auto& [key, misses] : earlier) {
    std::vector<RuleMiss>& now = log.misses[key];
    for (const RuleMiss& miss : misses) {
      if (!miss.near || miss.nodes.empty()) continue;
      const bool gone = there.count(miss.nodes[0]) == 0 || there.count(miss.stops[0].node) == 0;
      if (gone && !log.given.contains(miss.rule)) continue;
      bool settled = std::any_of(now.begin(), now.end(), [&](const RuleMiss& other) {
        return other.near && Common(miss.nodes, other.nodes) > 0;
      });
      // What was wrong is a part of something else now. Of a rule of the user, this is the answer.
      for (size_t h = miss.hits_before; h < log.hits.size() && !settled; ++h) {
        const std::vector<std::string>& nodes = log.hits[h].nodes;
        settled = std::find(nodes.begin(), nodes.end(), miss.stops[0].node) != nodes.end();
        if (!settled || log.hits[h].rule == miss.rule || !log.given.contains(miss.rule)) continue;
        now.push_back(miss);
        if (miss.taken_by.empty()) now.back().taken_by = log.hits[h].rule;
      }
      if (!settled) now.push_back(miss);
    }
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

}  // namespace

absl::StatusOr<PassResult> ApplyAndLog(const drr::CompiledRules& rules, Operation* op,
                                       PassContext& context) {
  if (context.rule_log == nullptr) {
    TENON_ASSIGN_OR_RETURN(const drr::DriverResult applied, drr::ApplyRules(rules, op, context));
    return PassResult{applied.changed};
  }
  RuleLog before;
  before.wanted = context.rule_log->wanted;
  before.nodes = context.rule_log->nodes;
  TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context, before));
  before.hits.clear();
  const size_t hits = context.rule_log->hits.size();
  const RuleLog::Misses earlier = MissesIn(SymbolName(*op), *context.rule_log);
  TENON_ASSIGN_OR_RETURN(const drr::DriverResult applied, drr::ApplyRules(rules, op, context));
  TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context, *context.rule_log));
  AddTaken(before, hits, *context.rule_log);
  AddEarlier(earlier, op, *context.rule_log);
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
    TENON_RETURN_IF_ERROR(drr::FindMisses(given->all, op, context, *context.rule_log));
  for (const pattern::Family& family : pattern::Families()) {
    TENON_RETURN_IF_ERROR(drr::FindMisses(RuleCacheOf(context).Find(family, op->context()), op,
                                          context, *context.rule_log));
  }
  return absl::OkStatus();
}

}  // namespace tenon
