// Running a rule on numbers at the edges of their types.
#ifndef TENON_DRR_CHECK_EDGES_H_
#define TENON_DRR_CHECK_EDGES_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drr/check/instance.h"
#include "drr/check/run.h"
#include "drr/compile/compiled.h"
#include "drr/match/matcher.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// Runs both versions of a program on numbers from the whole range of `dtype`, with zeros of both
// signs, infinities and NaN. The source is first judged against an evaluation in f64. Where its
// result differs from that, or a value in between lacks headroom, nothing is concluded about the
// rule. Elsewhere the results must have the same kind and about the same size. Constants that the
// rule computes from finite, normal ones must be finite and normal.
class EdgeJudge {
 public:
  EdgeJudge(const CompiledRule& rule, Evaluator& evaluator, Matcher& matcher,
            std::mt19937_64& random)
      : rule_(rule), evaluator_(evaluator), matcher_(matcher), random_(random) {}

  struct Outcome {
    bool fired = false;
    std::string wrong;    // what differs; empty if nothing does
    std::string program;  // before the rewrite, with its inputs in comments
    std::string becomes;  // after the rewrite
    size_t size = 0;      // number of input elements
  };
  // How a plan is judged. `change` is 0, or a seed for one change of the program (mutate.h): if the
  // rule fires nevertheless, both versions must agree. `unproven` takes the proofs of the rule for
  // granted, as fast math does. What the rule declares to give up is not judged then.
  struct How {
    EdgeMode mode = EdgeMode::kSpecial;
    Extents extents = Extents::kKnown;
    uint64_t change = 0;
    bool unproven = false;
  };
  Outcome Try(InstancePlan plan, DType dtype, const How& how);
  // True if the rule gives up a part of the contract.
  bool assumes() const {
    return assumes(Assumption::kNoInfinity) || assumes(Assumption::kNoOverflow) ||
           assumes(Assumption::kNoNegativeZero);
  }

 private:
  bool assumes(Assumption assumption) const;
  // Scales arguments of both programs so that the largest number which the source computes lies
  // just within the headroom of the type, or the smallest one does. What the result computes beyond
  // it shows there.
  void Stretch(Instance& source, Instance& precise, DType dtype);
  // True if a declared assumption does not hold for these numbers.
  bool GivesUp(const Run& before, const Run& exact, const Run& after) const;

  const CompiledRule& rule_;
  Evaluator& evaluator_;
  Matcher& matcher_;
  std::mt19937_64& random_;
};

// True for ops whose relative error does not depend on what cancels: they select, move, convert,
// multiply or divide.
bool AddsNothing(std::string_view op);

// Returns a constant of the rewritten program that is not finite, or subnormal, although the
// numbers it is made of are not. Empty if there is none, or if the source computes such a constant
// itself. Numbers that the rule itself writes are not checked.
std::string BadConstant(const CompiledRule& rule, const Run& before, const Run& after);

// The exponents of 2 between which numbers have headroom.
std::pair<int, int> HeadroomOf(DType dtype);

// True if every value of the source has headroom. `exact` is the evaluation in f64. `has_better` is
// for all values that are not integers.
bool HasHeadroom(const Run& before, const Run& exact, EdgeMode mode, bool has_better);

// How far each result moves if the arguments move by one rounding. An integer that moves, and a
// number that becomes another kind, has infinity.
using SpreadOf = std::function<std::vector<double>()>;

// Returns what differs where the source is right; empty if nothing does. Gross differences alone:
// where terms cancel, 16 times what `spread` returns is none.
std::string CompareEdges(const Run& before, const Run& exact, const Run& after, bool headroom,
                         const SpreadOf& spread);

// The same by a bound, which is a sum:
// - 16 times the error of the source;
// - 16 eps of the largest result;
// - `relative` of the number itself;
// - 2 eps of the largest number that is added up from constants alone;
// - unless `has_better`, what the source rounds itself: 16 eps of its largest term;
// - 16 times what `spread` returns.
// `spread` is called if the rest of the bound does not suffice. A source that only
// moves and converts numbers rounds each of them by itself. There the bound is its error at that
// element and one rounding.
std::string CompareByBound(const Run& before, const Run& exact, const Run& after, double relative,
                           bool has_better, const SpreadOf& spread);

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_EDGES_H_
