// Applying a set of rules until none fires.
#ifndef TENON_DRR_REWRITE_DRIVER_H_
#define TENON_DRR_REWRITE_DRIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "drr/compile/compiled.h"
#include "pass/pass.h"
#include "pass/rewrite_pattern.h"

namespace tenon::drr {

class Labels;

// How ApplyRules works.
struct DriverOptions {
  bool fold = true;         // folds ops with their fold functions
  bool remove_dead = true;  // erases pure ops without uses
  bool emit = true;         // also emits errors as diagnostics
  // Patterns in C++, applied together with the rules; null for none. Of rules and patterns of one
  // benefit, rules are tried first. As a step (pass/rewrite_step.h) a pattern is asked for leave
  // before it is tried, and the step counts if it changes something.
  const PatternSet* patterns = nullptr;
  // More rewrites than this times the number of ops at the start count as a cycle.
  int64_t rewrites_per_op = 32;
  // After so many searches, at operations and for a rule, values are labeled (labels.h). Labels pay
  // off in large programs only. The number has no influence on the result.
  int64_t searches_before_labels = 256;
  // For calls with the same rules and Context that follow each other: what one learns about rules
  // (labels.h) saves the next one time. Null: each learns for itself.
  std::shared_ptr<Labels>* labels = nullptr;
};

// What ApplyRules did.
struct DriverResult {
  bool changed = false;  // true if the IR changed, also by folding or removing dead ops
  int64_t rewrites = 0;  // applications of rules and patterns
};

// Applies `rules` to everything below `top`, a function or a module. Uses the services of
// `context`, and counts rewrites in context.rule_counts.
//
// Returns InvalidArgument that names the rules and patterns if rewriting does not end, or if a rule
// does not compile for this Context. A pattern gives the error that it returns, and
// FailedPrecondition if its answer does not fit the changes that it made. Returns ResourceExhausted
// if matching takes too many steps. The IR is valid then and may be partly rewritten.
absl::StatusOr<DriverResult> ApplyRules(const CompiledRules& rules, Operation* top,
                                        PassContext& context, const DriverOptions& options = {});

// Applies `patterns` alone, with folds and without any rule. See ApplyRules.
absl::StatusOr<DriverResult> ApplyPatterns(const PatternSet& patterns, Operation* top,
                                           PassContext& context, DriverOptions options = {});

// Records in `log` where its wanted rules nearly match below `top`, best first. Changes no IR.
// Errors are those of CompiledRules::Get and of matching that takes too many steps.
absl::Status FindMisses(const CompiledRules& rules, Operation* top, const PassContext& context,
                        RuleLog& log);

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_DRIVER_H_
