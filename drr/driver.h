// Applies a set of rules to everything below an operation until none fires.
#ifndef TENON_DRR_DRIVER_H_
#define TENON_DRR_DRIVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "drr/compiled.h"
#include "pass/pass.h"

namespace tenon::drr {

struct DriverOptions {
  bool fold = true;              // fold in place with the ops' own fold functions
  bool remove_dead = true;       // erase pure ops without uses
  bool emit = true;              // errors as diagnostics, too
  int64_t rewrites_per_op = 32;  // of the function's ops at the start; more than that is a cycle
};

struct DriverResult {
  bool changed = false;
  int64_t rewrites = 0;
};

// Rewrites below `top` (a function, or a module with functions). Counts go to context.rule_counts.
// The error names the rules that keep rewriting each other's results, or is that of
// CompiledRules::Get at an operation where the rule might match.
absl::StatusOr<DriverResult> ApplyRules(const CompiledRules& rules, Operation* top,
                                        PassContext& context, const DriverOptions& options = {});

// Writes to `log` where the rules that it asks for nearly match below `top`, best first. The error:
// that of CompiledRules::Get.
absl::Status FindMisses(const CompiledRules& rules, Operation* top, const PassContext& context,
                        RuleLog& log);

}  // namespace tenon::drr

#endif  // TENON_DRR_DRIVER_H_
