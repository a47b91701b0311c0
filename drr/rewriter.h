// Builds a rule's result graph and puts it in place of what was matched.
#ifndef TENON_DRR_REWRITER_H_
#define TENON_DRR_REWRITER_H_

#include <string>
#include <vector>

#include "drr/matcher.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// Is told of every change, so that a worklist stays right.
class RewriteListener {
 public:
  virtual ~RewriteListener() = default;
  virtual void Created(Operation*) {}
  virtual void Erasing(Operation*) {}
  virtual void Replaced(Value, Value) {}
};

// What an application may ask of the layers below; either may be null.
struct RewriteQueries {
  const TargetQuery* target = nullptr;  // of rules that require kernels
  Evaluator* evaluator = nullptr;       // computes what follows from constants (constant_guard.h)
};

// Why a match is not applied; empty() if it is.
struct Refusal {
  // Was it because the result has another rank or extent than what it replaces?
  bool for_shapes = false;
  std::string why;
  bool empty() const { return why.empty(); }
};

// Applies a successful match. On refusal the IR is as before. Matched operations that have become
// dead are erased.
Refusal Apply(const Matcher& match, const RewriteQueries& queries, RewriteListener& listener);

// What Apply would say, without replacing anything.
Refusal WhyRefused(const Matcher& match, const RewriteQueries& queries);

// Is it in a block, without effects, regions and uses of its results, so that it may be erased?
bool IsDead(const Operation& op);

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITER_H_
