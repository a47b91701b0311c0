#include "transforms/rule_phase.h"

#include <fstream>
#include <sstream>

#include "drr/text.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/diagnostic.h"

namespace tenon {

absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || text.fail())
    return absl::InvalidArgumentError(fmt::format("{}: cannot be read", file));
  TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> rules,
                         drr::ParseRules(text.str(), file, context));
  for (drr::Rule& rule : rules) rule.set_family(file);
  return rules;
}

absl::Status RulePhase::Compile(Context& context, const std::vector<std::string>& files) {
  if (compiled_for_ == &context && compiled_files_ == files) return absl::OkStatus();
  compiled_.clear();
  compiled_for_ = nullptr;
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> read, ReadRules(file, context));
    TENON_ASSIGN_OR_RETURN(drr::CompiledRules rules,
                           drr::CompiledRules::Create(std::move(read), context));
    compiled_.push_back(std::move(rules));
  }
  for (const pattern::Family* family : families_) {
    TENON_ASSIGN_OR_RETURN(drr::CompiledRules rules,
                           drr::CompiledRules::Create(pattern::RulesOf(*family), context));
    compiled_.push_back(std::move(rules));
  }
  compiled_for_ = &context;
  compiled_files_ = files;
  return absl::OkStatus();
}

absl::StatusOr<PassResult> RulePhase::Run(Operation* op, PassContext& context) {
  std::vector<std::string> files = files_;
  if (with_rule_files_)
    files.insert(files.end(), context.rule_files.begin(), context.rule_files.end());
  if (absl::Status status = Compile(op->context(), files); !status.ok())
    return EmitError(op->context(), Location(), std::string(status.message()));
  PassResult result;
  for (const drr::CompiledRules& rules : compiled_) {
    TENON_ASSIGN_OR_RETURN(drr::DriverResult applied, drr::ApplyRules(rules, op, context));
    result.changed |= applied.changed;
    if (context.rule_log != nullptr)
      drr::FindMisses(rules, op, context.target, *context.rule_log);
  }
  return result;
}

absl::Status RulePhase::FindMisses(Operation* op, PassContext& context) {
  TENON_RETURN_IF_ERROR(Compile(op->context(), context.rule_files));
  for (const drr::CompiledRules& rules : compiled_)
    drr::FindMisses(rules, op, context.target, *context.rule_log);
  return absl::OkStatus();
}

}  // namespace tenon
