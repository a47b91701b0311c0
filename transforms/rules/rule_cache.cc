#include "transforms/rules/rule_cache.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "patterns/facts/facts.h"
#include "patterns/shared_rules.h"

namespace tenon {
namespace {

constexpr uintmax_t kMostRuleBytes = uintmax_t{64} << 20;

}  // namespace

absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context) {
  const auto message = [&](std::string_view why) {
    return fmt::format("{}: rules cannot be read: {}", file, why);
  };
  const auto wrong = [&](std::string_view why) { return absl::InvalidArgumentError(message(why)); };
  const auto cannot = [&](std::string_view why) { return absl::NotFoundError(message(why)); };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (error) return cannot(error.message());
  if (std::filesystem::is_directory(status)) return wrong("it is a folder");
  // The checks before a run and its passes read them anew.
  if (!std::filesystem::is_regular_file(status))
    return wrong("they are read more than once (expected a file, not a pipe)");
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > kMostRuleBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: rules of {} bytes (expected at most {})", file, size, kMostRuleBytes));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return cannot(std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) return cannot(std::strerror(errno));
  TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> rules,
                         drr::ParseRules(text, file, context, pattern::Facts()));
  for (drr::Rule& rule : rules) rule.set_family(file);
  return rules;
}

absl::Status CheckRuleNames(const std::vector<drr::Rule>& rules) {
  if (rules.empty()) return absl::OkStatus();
  absl::flat_hash_map<std::string_view, const drr::Rule*> known;
  for (const drr::Rule& rule : rules) {
    const drr::Rule* other = pattern::FindSharedRule(rule.name());
    if (other == nullptr) other = known.emplace(rule.name(), &rule).first->second;
    if (other == &rule) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: rule '{}' has the name of the rule in {} "
                    "(expected another name)",
                    rule.place(), rule.name(), other->place()));
  }
  return absl::OkStatus();
}

void RuleCache::Serve(Context& context) {
  if (context_.IsOf(context)) return;
  families_.clear();
  given_.reset();
  context_ = ContextIdentity(context);
}

const drr::CompiledRules& RuleCache::Find(const pattern::Family& family, Context& context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Serve(context);
  const auto it = families_.find(&family);
  if (it != families_.end()) return it->second;
  return families_
      .emplace(&family, drr::CompiledRules::OnDemand(pattern::SharedRulesOf(family), context))
      .first->second;
}

absl::StatusOr<const GivenRules*> RuleCache::FindGiven(const HostRules& of_host,
                                                       const std::vector<std::string>& files,
                                                       Context& context) {
  const HostRules host = of_host == nullptr || of_host->empty() ? nullptr : of_host;
  if (host == nullptr && files.empty()) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  Serve(context);
  if (given_.has_value() && given_->host == host && given_->files == files) return &given_->rules;
  given_.reset();
  std::vector<drr::Rule> all;
  if (host != nullptr) all = *host;
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> read, ReadRules(file, context));
    for (drr::Rule& rule : read) all.push_back(std::move(rule));
  }
  if (all.empty()) return nullptr;
  TENON_RETURN_IF_ERROR(CheckRuleNames(all));
  // Whoever gave them has checked them together, once, before passes run in threads.
  TENON_ASSIGN_OR_RETURN(
      drr::CompiledRules compiled,
      drr::CompiledRules::Create(std::move(all), context, drr::CompiledRules::Together::kKnown));
  Hold(host, files, std::move(compiled), context);
  return &given_->rules;
}

void RuleCache::Hold(const HostRules& host, const std::vector<std::string>& files,
                     drr::CompiledRules all, Context& context) {
  std::vector<drr::Rule> fusion;
  const std::vector<drr::Rule>& rules = all.list().rules();
  for (const drr::Rule& rule : rules) {
    if (rule.stage() == drr::RuleStage::kFusion) fusion.push_back(rule);
  }
  Given given{host, files, {}};
  // Usually no rule waits for the end, and both are one set.
  given.rules.fusion = fusion.size() == rules.size()
                           ? all
                           : drr::CompiledRules::OnDemand(
                                 std::make_shared<const drr::RuleList>(std::move(fusion)), context);
  given.rules.all = std::move(all);
  given_ = std::move(given);
}

void RuleCache::PutGiven(const HostRules& host, const std::vector<std::string>& files,
                         drr::CompiledRules rules, Context& context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Serve(context);
  Hold(host, files, std::move(rules), context);
}

RuleCache& RuleCacheOf(PassContext& context) {
  if (context.rule_cache == nullptr) context.rule_cache = std::make_shared<RuleCache>();
  return *context.rule_cache;
}

}  // namespace tenon
