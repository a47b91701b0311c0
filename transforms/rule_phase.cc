#include "transforms/rule_phase.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "drr/matcher.h"
#include "drr/text.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/diagnostic.h"
#include "pass/rule_log.h"
#include "patterns/shared_rules.h"

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
      if (!miss.near || miss.nodes.empty() || there.count(miss.nodes[0]) == 0 ||
          there.count(miss.stops[0].node) == 0)
        continue;
      bool settled = std::any_of(now.begin(), now.end(), [&](const RuleMiss& other) {
        return other.near && Common(miss.nodes, other.nodes) > 0;
      });
      // What was wrong is a part of something else now.
      for (size_t h = miss.hits_before; h < log.hits.size() && !settled; ++h) {
        const std::vector<std::string>& nodes = log.hits[h].nodes;
        settled = std::find(nodes.begin(), nodes.end(), miss.stops[0].node) != nodes.end();
      }
      if (!settled) now.push_back(miss);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || text.fail()) {
    return absl::InvalidArgumentError(fmt::format("{}: rules cannot be read{}{}", file,
                                                  errno == 0 ? "" : ": ",
                                                  errno == 0 ? "" : std::strerror(errno)));
  }
  TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> rules, drr::ParseRules(text.str(), file, context));
  for (drr::Rule& rule : rules) rule.set_family(file);
  return rules;
}

const drr::CompiledRules& RuleCache::Find(const pattern::Family& family, Context& context) {
  if (!context_.IsOf(context)) rules_.clear();
  context_ = ContextIdentity(context);
  const auto it = rules_.find(&family);
  if (it != rules_.end()) return it->second;
  return rules_
      .emplace(&family, drr::CompiledRules::OnDemand(pattern::SharedRulesOf(family), context))
      .first->second;
}

absl::Status RulePhase::Compile(Context& ir, const std::vector<std::string>& files,
                                PassContext& context) {
  if (compiled_for_.IsOf(ir) && compiled_files_ == files) return absl::OkStatus();
  compiled_.clear();
  compiled_for_ = {};
  if (!first_.empty()) {
    TENON_ASSIGN_OR_RETURN(compiled_.emplace_back(), drr::CompiledRules::Create(first_, ir));
  }
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> read, ReadRules(file, ir));
    TENON_ASSIGN_OR_RETURN(compiled_.emplace_back(),
                           drr::CompiledRules::Create(std::move(read), ir));
  }
  if (context.rule_cache == nullptr) context.rule_cache = std::make_shared<RuleCache>();
  for (const pattern::Family* family : families_) {
    compiled_.push_back(context.rule_cache->Find(*family, ir));
  }
  compiled_for_ = ContextIdentity(ir);
  compiled_files_ = files;
  return absl::OkStatus();
}

absl::StatusOr<PassResult> RulePhase::Run(Operation* op, PassContext& context) {
  std::vector<std::string> files = files_;
  if (with_rule_files_)
    files.insert(files.end(), context.rule_files.begin(), context.rule_files.end());
  if (absl::Status status = Compile(op->context(), files, context); !status.ok())
    return EmitError(op->context(), Location(), std::string(status.message()));
  PassResult result;
  for (const drr::CompiledRules& rules : compiled_) {
    RuleLog before;
    if (context.rule_log != nullptr) {
      before.wanted = context.rule_log->wanted;
      before.nodes = context.rule_log->nodes;
      TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context.target, before));
      before.hits.clear();
    }
    const size_t hits = context.rule_log != nullptr ? context.rule_log->hits.size() : 0;
    const RuleLog::Misses earlier =
        context.rule_log != nullptr ? context.rule_log->misses : RuleLog::Misses();
    TENON_ASSIGN_OR_RETURN(drr::DriverResult applied, drr::ApplyRules(rules, op, context));
    result.changed |= applied.changed;
    if (context.rule_log != nullptr) {
      TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context.target, *context.rule_log));
      AddTaken(before, hits, *context.rule_log);
      AddEarlier(earlier, op, *context.rule_log);
    }
  }
  return result;
}

absl::Status RulePhase::FindMisses(Operation* op, PassContext& context) {
  TENON_RETURN_IF_ERROR(Compile(op->context(), context.rule_files, context));
  for (const drr::CompiledRules& rules : compiled_)
    TENON_RETURN_IF_ERROR(drr::FindMisses(rules, op, context.target, *context.rule_log));
  return absl::OkStatus();
}

}  // namespace tenon
