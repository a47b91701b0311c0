// Runs rules against themselves: what a rule makes must compute what it matched.
#ifndef TENON_DRR_CHECK_H_
#define TENON_DRR_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drr/rule.h"
#include "ir/core/context.h"
#include "pass/evaluator.h"

namespace tenon::drr {

struct CheckOptions {
  int matches = 20;      // wanted of each alternative, in each element type
  int attempts = 10000;  // instances made for them at most
  int edges = 2400;      // instances with numbers at the edges of their types, by operation
  uint64_t seed = 1;
  // Those that the rule's conditions ask for are added. Of integers a wrong result counts, and that
  // there are none does not, unless the rule takes no floats.
  std::vector<DType> dtypes = {DType::kF32, DType::kF64, DType::kF16, DType::kI64};
};

// What the check found. The report is the result: it holds what StatusOr would hide, and ok() is
// true for a rule that was checked and is right, and for no other.
struct [[nodiscard]] CheckReport {
  enum class Verdict : uint8_t {
    kUnchecked,  // too few programs match
    kInvalid,    // the rule does not compile
    kWrong,      // a program gets another result, or rewriting does not end
    kRight,
  };
  struct Alternative {
    std::string text;  // the alternative as it is written; the whole graph for a rule without any
    int matches = 0;   // the least over the element types that the rule takes
  };
  std::string rule;
  Verdict verdict = Verdict::kUnchecked;
  std::vector<std::string> failures;  // what the verdict rests on; empty for kRight alone
  std::vector<Alternative> alternatives;
  std::vector<DType> skipped;  // element types in which no instance could be evaluated or matched
  bool ok() const { return verdict == Verdict::kRight; }
  bool wrong() const { return verdict == Verdict::kWrong; }
  // OK for kRight alone. Else the code tells the verdicts apart: InvalidArgument for kInvalid,
  // FailedPrecondition for kWrong, NotFound for kUnchecked. The message has the failures.
  absl::Status status() const;
};

// Makes random instances of the source graph, rewrites them with this rule alone and evaluates
// both. On plain numbers the error of the result against the source in f64 may be at most 4 times
// the source's own error plus 8 eps · max|b| (and eps / 4 of the arguments); NaNs and infinities
// must be in the same places; integers must be equal. The instances have ranks from 0 to 5, extents
// from 0 on, and operands that broadcast, one or both ways. Then edges.h judges numbers of the
// whole range of each type, programs that do not know extents or ranks, values that coincide, and
// programs that differ from an instance in one thing.
CheckReport CheckRule(const Rule& rule, Context& context, Evaluator& evaluator,
                      const CheckOptions& options = {});

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_H_
