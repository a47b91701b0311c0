// The rules of a run, read and compiled once for all passes: those of families, files and hosts.
#ifndef TENON_TRANSFORMS_RULES_RULE_CACHE_H_
#define TENON_TRANSFORMS_RULES_RULE_CACHE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drr/compile/compiled.h"
#include "ir/core/context/context_identity.h"
#include "pass/pass.h"
#include "patterns/families.h"

namespace tenon {

// Reads the rules of a text file; their family is the file name. The file must be a regular file of
// at most 64 MiB, since it is read several times. NotFound if it cannot be read;
// InvalidArgument if it has a mistake; ResourceExhausted if it is larger.
absl::StatusOr<std::vector<drr::Rule>> ReadRules(const std::string& file, Context& context);

// Returns InvalidArgument if two rules, or a rule and a built-in one, have one name. The error
// names both places.
absl::Status CheckRuleNames(const std::vector<drr::Rule>& rules);

// Rules of a host (Extension::rules); may be null.
using HostRules = std::shared_ptr<const std::vector<drr::Rule>>;

// The given rules of a run: those of the host first, then those of the files in order. They form
// one set: each may match what another one makes.
struct GivenRules {
  drr::CompiledRules fusion;  // rules of RuleStage::kFusion
  drr::CompiledRules all;     // rules of every stage
};

// Holds compiled rules for one Context: that of the last call. Thread-safe as long as that is the
// Context of all calls.
class RuleCache {
 public:
  // Returns the rules of a family, each compiled when it is first needed.
  const drr::CompiledRules& Find(const pattern::Family& family, Context& context);
  // Returns the given rules; null if there are none. The error names the wrong rule or file;
  // nothing is kept then. `host` is compared by address.
  absl::StatusOr<const GivenRules*> FindGiven(const HostRules& host,
                                              const std::vector<std::string>& files,
                                              Context& context);
  // Makes FindGiven return these rules for the same `host` and `files`, so that it does not read
  // and compile them again. They are those of the host, then those of the files in order, with
  // names of their own.
  void PutGiven(const HostRules& host, const std::vector<std::string>& files,
                drr::CompiledRules rules, Context& context);

 private:
  void Serve(Context& context);
  void Hold(const HostRules& host, const std::vector<std::string>& files, drr::CompiledRules all,
            Context& context);

  struct Given {
    HostRules host;
    std::vector<std::string> files;
    GivenRules rules;
  };
  std::mutex mutex_;  // guards what follows
  ContextIdentity context_;
  std::map<const pattern::Family*, drr::CompiledRules> families_;
  std::optional<Given> given_;
};

// Returns context.rule_cache, which is created if there is none.
RuleCache& RuleCacheOf(PassContext& context);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_RULES_RULE_CACHE_H_
