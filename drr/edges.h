// Runs a rule on numbers at the edges of their types.
#ifndef TENON_DRR_EDGES_H_
#define TENON_DRR_EDGES_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "drr/compiled.h"
#include "drr/instance.h"
#include "drr/matcher.h"
#include "drr/run.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// What one plan shows of a rule: empty if nothing. Both sides run on numbers of the whole range of
// `dtype`, on zeros of both signs, infinities and NaN. The source is judged by itself in f64 first:
// where its own result is not what it is there, or where a value between lacks headroom, nothing is
// said of the rule. Elsewhere the result has the same kind in the same position, and about its
// size. Constants that the rule computes from finite, normal ones are finite and normal.
class EdgeJudge {
 public:
  EdgeJudge(const CompiledRule& rule, Evaluator& evaluator, Matcher& matcher,
            std::mt19937_64& random)
      : rule_(rule), evaluator_(evaluator), matcher_(matcher), random_(random) {}

  struct Outcome {
    bool fired = false;
    std::string wrong;    // what differs
    std::string program;  // before, with its inputs in comments
    std::string becomes;
    size_t size = 0;  // elements of the inputs
  };
  // `change`: 0, or a seed by which one thing of the program is changed. If the rule fires
  // nevertheless, both sides agree.
  Outcome Try(InstancePlan plan, DType dtype, EdgeMode mode, Extents extents, uint64_t change = 0);

 private:
  const CompiledRule& rule_;
  Evaluator& evaluator_;
  Matcher& matcher_;
  std::mt19937_64& random_;
};

// Whether the constants of the rewritten program are finite and normal. Empty if so, or if a
// constant of the source is not. Numbers that the rule writes itself are as the rule wants them.
std::string BadConstant(const CompiledRule& rule, const Run& before, const Run& after);

// Does every value that the source computes have headroom? `exact`: the same in f64. `has_better`:
// of all values that are not integers.
bool HasHeadroom(const Run& before, const Run& exact, EdgeMode mode, bool has_better);

// What differs between the results where the source is right; empty if nothing.
std::string CompareEdges(const Run& before, const Run& exact, const Run& after, bool headroom);

}  // namespace tenon::drr

#endif  // TENON_DRR_EDGES_H_
