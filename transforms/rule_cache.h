// The rules of a run, read and compiled once for all of its passes: those of families, and those
// that it is given beside them, in files and by a host.
#ifndef TENON_TRANSFORMS_RULE_CACHE_H_
#define TENON_TRANSFORMS_RULE_CACHE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drr/compiled.h"
#include "ir/core/context_identity.h"
#include "pass/pass.h"
#include "patterns/families.h"

namespace tenon {

// The rules of a text file, which is no pipe: it is read again where it is asked for again. Their
// family is the file.
absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context);

// Refuses a name that two of the rules have, or one of them and a built-in one: reports, counts and
// --explain tell rules by their names. The error names the places of both.
absl::Status CheckRuleNames(const std::vector<drr::Rule>& rules);

// Rules that a host gives to passes; may be null.
using HostRules = std::shared_ptr<const std::vector<drr::Rule>>;

// What a run is given: the host's rules first, then those of files, file by file. One set: what one
// rule makes, any other may match.
struct GivenRules {
  drr::CompiledRules fusion;  // those of RuleStage::kFusion
  drr::CompiledRules all;
};

// As compiled for the Context that was asked for last.
class RuleCache {
 public:
  const drr::CompiledRules& Find(const pattern::Family& family, Context& context);
  // Null where there are none. The error says what is wrong with which rule or file; nothing is
  // kept then. `host` is told by its address, and held.
  absl::StatusOr<const GivenRules*> FindGiven(const HostRules& host,
                                              const std::vector<std::string>& files,
                                              Context& context);

 private:
  void Serve(Context& context);

  struct Given {
    HostRules host;
    std::vector<std::string> files;
    GivenRules rules;
  };
  ContextIdentity context_;
  std::map<const pattern::Family*, drr::CompiledRules> families_;
  std::optional<Given> given_;
};

// That of `context`, made if there is none.
RuleCache& RuleCacheOf(PassContext& context);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULE_CACHE_H_
