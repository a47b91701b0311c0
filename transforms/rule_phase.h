// Applies families of rules one after the other: what the rule passes share.
#ifndef TENON_TRANSFORMS_RULE_PHASE_H_
#define TENON_TRANSFORMS_RULE_PHASE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drr/driver.h"
#include "ir/core/context_identity.h"
#include "pass/pass.h"
#include "patterns/families.h"

namespace tenon {

// The rules of a text file; their family is the file.
absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context);

// Families of rules as compiled for the Context that was asked for last.
class RuleCache {
 public:
  const drr::CompiledRules& Find(const pattern::Family& family, Context& context);

 private:
  ContextIdentity context_;
  std::map<const pattern::Family*, drr::CompiledRules> rules_;
};

// One run to a fixed point for each family, in order. Rules of files are compiled, and what is
// wrong in them found, before the first; those of families as a program needs them, once for all
// passes of a run.
class RulePhase {
 public:
  // `with_rule_files`: the rules of PassContext::rule_files come first.
  explicit RulePhase(std::vector<const pattern::Family*> families, bool with_rule_files = false,
                     std::vector<std::string> files = {})
      : families_(std::move(families)),
        with_rule_files_(with_rule_files),
        files_(std::move(files)) {}
  // Rules that go before those of all families and files.
  void ApplyFirst(std::vector<drr::Rule> rules) { first_ = std::move(rules); }
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context);
  // Only says to context.rule_log where rules nearly match.
  absl::Status FindMisses(Operation* op, PassContext& context);

 private:
  absl::Status Compile(Context& ir, const std::vector<std::string>& files, PassContext& context);

  std::vector<drr::Rule> first_;
  std::vector<const pattern::Family*> families_;
  bool with_rule_files_;
  std::vector<std::string> files_;
  std::vector<drr::CompiledRules> compiled_;
  ContextIdentity compiled_for_;
  std::vector<std::string> compiled_files_;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULE_PHASE_H_
