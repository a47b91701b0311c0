// Checking a rule by running it: the result must compute what the source computes.
#ifndef TENON_DRR_CHECK_CHECK_H_
#define TENON_DRR_CHECK_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// How thorough a check is. The defaults take seconds for most rules.
struct CheckOptions {
  // Matching programs per alternative and element type. A check for fewer than the default leaves
  // a type out after 300 programs that ops refuse.
  int matches = 20;
  int attempts = 10000;  // programs made for each alternative at most
  // Programs with numbers at the edges of their types, divided by the size of the rule.
  int edges = 1600;
  uint64_t seed = 1;  // the same seed gives the same programs
  // Element types to check; those that conditions of the rule name are added. For integers only
  // wrong results count, unless the rule accepts no floats.
  std::vector<DType> dtypes = {DType::kF32, DType::kF64, DType::kF16, DType::kI64};
};

// The result of a check. ok() is true only for a rule that was checked and is right.
struct [[nodiscard]] CheckReport {
  // What the check found.
  enum class Verdict : uint8_t {
    kUnchecked,  // too few programs match, or none can be run
    kInvalid,    // the rule does not compile
    kWrong,      // a program gets another result or none, or rewriting does not end
    kRight,      // all programs that match get the right results
  };
  // How often one alternative was matched.
  struct Alternative {
    std::string text;  // in text notation; the whole source graph for a rule without alternatives
    int matches = 0;   // the smallest number over the element types that the rule accepts
  };
  std::string rule;                       // the name of the rule
  Verdict verdict = Verdict::kUnchecked;  // what the check found
  bool no_kernel = false;  // kUnchecked because an op of the rule has no reference kernel
  // The reasons for the verdict, with a program each; empty for kRight.
  std::vector<std::string> failures;
  std::vector<Alternative> alternatives;  // those of all AnyOf in the source graph
  std::vector<DType> skipped;  // element types in which no program could be evaluated or matched
  bool ok() const { return verdict == Verdict::kRight; }     // checked, and right
  bool wrong() const { return verdict == Verdict::kWrong; }  // a program proves it
  // OK for kRight. InvalidArgument for kInvalid, FailedPrecondition for kWrong, NotFound for
  // kUnchecked, with the failures as message.
  absl::Status status() const;
};

// Checks `rule` by itself. Makes random programs that its source graph describes, rewrites them and
// evaluates both versions with `evaluator`. `context` needs the dialects of the ops in the rule.
//
// The programs have ranks from 0 to 5, extents from 0, and operands that broadcast. With plain
// numbers the error against an evaluation in f64 may be 4 times that of the source. Some rounding
// is added: 8 eps of the largest result and eps / 4 of the largest argument. Infinities and NaNs
// must be in the same positions; integers must be equal.
//
// A second part uses numbers at the edges of their types (edges.h), programs with unknown or named
// extents or unknown ranks, and values that coincide. It also uses programs that differ from the
// pattern in one place. The same options give the same report. Not thread-safe within one Context.
CheckReport CheckRule(const Rule& rule, Context& context, Evaluator& evaluator,
                      const CheckOptions& options = {});

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_CHECK_H_
