// Conditions of a rule: pure predicates over what a match binds, with words for explain mode.
#ifndef TENON_DRR_CONDITION_H_
#define TENON_DRR_CONDITION_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drr/val.h"

namespace tenon::drr {

// What a rule may assume of the numbers of a program instead of preserving it. A condition with an
// assumption is the proof that it holds: without the proof the rule does not fire, except with
// PassContext::fast_math.
enum class Assumption : uint8_t {
  kNone,
  kNoOverflow,      // a result may be infinite or NaN where the source is finite
  kNoInfinity,      // infinite and NaN inputs may give another kind of result
  kNoNegativeZero,  // zeros of other signs may give another kind of result
};
// As a rule in text writes it: "may overflow".
const char* WordsOf(Assumption assumption);

// One conjunct. It is evaluated as soon as all its arguments are bound; a conjunct over a variable
// that the matched alternative does not bind holds.
struct ConditionNode {
  enum class Kind : uint8_t { kPredicate, kShape };
  Kind kind = Kind::kPredicate;
  std::string text;  // "rank(b) == 1"
  std::vector<ArgRef> args;
  std::function<bool(std::span<const BoundArg>)> holds;  // kPredicate
  std::function<std::string(std::span<const BoundArg>)>
      why;                    // what is the case instead; may be empty
  std::vector<DimRef> shape;  // kShape: of args[0]
  Assumption assumption = Assumption::kNone;
  // What it asks, for those who reason about rules. kOther: only `holds` and `text` know.
  enum class Asks : uint8_t {
    kOther,
    kRank,         // of args[0]: `number`
    kRankAtLeast,  // likewise
    kConstant,     // is args[0] a constant?
    kDType,        // of args[0]: `dtype`
    kFloat,        // is the element type of args[0] a float?
    kSameType,     // of all args
    kSameShape,    // of args[0] and args[1]
    kDim,          // extent `number` at `axis` of args[0]
    kEither,       // one of `parts`
    kNot,          // not all of parts[0]
  };
  Asks asks = Asks::kOther;
  int64_t number = 0, axis = 0;
  // Conjunctions; their arguments stand in `args` one after the other.
  std::vector<std::vector<std::shared_ptr<const ConditionNode>>> parts;
  // Hints for generating instances: the rank or element type of args[0] that the condition wants.
  int rank = -1;
  DType dtype = DType::kInvalid;
  bool same_type = false;  // all args have one type
  bool constant = false;   // args[0] should be a constant
};

// Does a predicate hold? One that reads what is not there, as the third dimension of a vector, does
// not.
bool Holds(const ConditionNode& predicate, std::span<const BoundArg> args);

// A conjunction.
class Condition {
 public:
  Condition() = default;
  explicit Condition(ConditionNode node) {
    nodes_.push_back(std::make_shared<ConditionNode>(std::move(node)));
  }
  const std::vector<std::shared_ptr<const ConditionNode>>& nodes() const { return nodes_; }

 private:
  friend Condition operator&&(const Condition& a, const Condition& b);
  std::vector<std::shared_ptr<const ConditionNode>> nodes_;
};
Condition operator&&(const Condition& a, const Condition& b);
Condition operator||(const Condition& a, const Condition& b);
Condition operator!(const Condition& a);

Condition Rank(const Val& val, int rank);
Condition RankAtLeast(const Val& val, int rank);
Condition IsConstant(const Val& val);
// A constant, or computed from constants alone by at most 64 pure operations: what is a constant
// when constants have been folded.
Condition FollowsFromConstants(const Val& val);
Condition DTypeIs(const Val& val, DType dtype);
Condition IsFloat(const Val& val);
// The same element type and provably equal dimensions.
Condition SameTypes(const std::vector<Val>& vals);
template <typename... Rest>
Condition SameType(const Val& first, const Rest&... rest) {
  return SameTypes({first, rest...});
}
Condition SameShape(const Val& a, const Val& b);
// The value's shape is this list; its named dimensions unify with all others of the rule.
Condition ShapeIs(const Val& val, std::span<const Dim> dims);
inline Condition ShapeIs(const Val& val, std::initializer_list<Dim> dims) {
  return ShapeIs(val, std::span<const Dim>(dims.begin(), dims.size()));
}
// Axis `axis` (negative: from the end) has this constant extent.
Condition DimIs(const Val& val, int axis, int64_t extent);

Condition MakePredicate(std::string text, std::vector<ArgRef> args,
                        std::function<bool(std::span<const BoundArg>)> holds);
// The condition as the proof of an assumption. Without a condition nothing proves it.
Condition Proof(Assumption assumption, const Condition& condition);
// The same condition, which instances meet more easily with a constant for its first argument.
Condition OnConstants(const Condition& condition);
// Any other pure predicate, in the rule's own words. Accessors of Value, Type, DimExpr and
// Attribute are safe in it: where one asks for what is not there, the condition does not hold.
template <typename F, typename... Args>
Condition If(std::string text, F fn, const Args&... args) {
  return MakePredicate(std::move(text), {ArgTraits<Args>::Ref(args)...},
                       Adapt<bool, F, Args...>(fn, std::index_sequence_for<Args...>()));
}

}  // namespace tenon::drr

#endif  // TENON_DRR_CONDITION_H_
