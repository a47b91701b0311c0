// Building the result graph of a match and replacing the match with it.
#ifndef TENON_DRR_REWRITE_REWRITER_H_
#define TENON_DRR_REWRITE_REWRITER_H_

#include <string>
#include <vector>

#include "drr/match/matcher.h"
#include "ir/core/rewrite/ir_listener.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// Is told of every change of the IR. Driver keeps its worklist up to date with it.
using RewriteListener = IrListener;

class ConstantGuard;

// Services for an application; each may be null.
struct RewriteQueries {
  const TargetQuery* target = nullptr;  // for rules that require kernels
  Evaluator* evaluator = nullptr;  // computes constants for the constant guard (constant_guard.h)
  bool measure = false;            // whether Apply measures what the rule lowers
  // Remembers between applications; its owner tells it of changes. Null: one for this alone.
  ConstantGuard* guard = nullptr;
};

// The reason why a match was not applied; empty() if it was.
struct Refusal {
  // True if the result differs in rank or extents from what it replaces.
  bool for_shapes = false;
  // True if an operation of the result refuses the operands or attributes that the rule gives it.
  bool for_operands = false;
  std::string why;
  // Of an application: what the rule says that it lowers, and does not. Only with
  // RewriteQueries::measure.
  std::string not_lowered;
  bool empty() const { return why.empty(); }
};

// Applies a successful match and erases matched operations that are dead then. After a refusal the
// IR is unchanged.
Refusal Apply(const Matcher& match, const RewriteQueries& queries, RewriteListener& listener);

// Returns what Apply would return, without replacing anything.
Refusal WhyRefused(const Matcher& match, const RewriteQueries& queries);

// True for an op in a block without uses, effects and regions, which may be erased.
bool IsDead(const Operation& op);

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_REWRITER_H_
