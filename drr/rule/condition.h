// Conditions of a rule: pure predicates over a match, with words for --explain.
#ifndef TENON_DRR_RULE_CONDITION_H_
#define TENON_DRR_RULE_CONDITION_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drr/rule/term.h"
#include "drr/rule/val.h"

namespace tenon::drr {

// What a rule may assume about numbers instead of preserving it. A condition with an assumption is
// the proof that the assumption holds. Without the proof the rule fires only with
// PassContext::fast_math.
enum class Assumption : uint8_t {
  kNone,            // no assumption
  kNoOverflow,      // a result may be infinite or NaN if the source is finite
  kNoInfinity,      // infinite and NaN inputs may give another kind of result
  kNoNegativeZero,  // zeros of other signs may give another kind of result
};
// Returns the words of rules in text, such as "may overflow".
const char* WordsOf(Assumption assumption);

// One conjunct of a condition. It is evaluated once all its arguments are bound. A conjunct with an
// argument that the match does not bind, such as an absent operand, holds. A conjunct that asks
// whether something exists is evaluated nevertheless.
struct ConditionNode {
  // How a condition is decided.
  enum class Kind : uint8_t {
    kPredicate,  // `answer` returns it
    kShape       // the dimensions in `shape` are solved
  };
  Kind kind = Kind::kPredicate;  // how it is decided
  std::string text;              // for messages: "rank(b) == 1", or the words of If
  std::string words;             // those of If around a condition that is data
  TermRef term;                  // kPredicate that asks kOther: what holds; null for a C++ function
  std::vector<ArgRef> args;      // arguments of `answer`; kShape: the value
  std::function<Truth(std::span<const BoundArg>)> answer;  // kPredicate
  bool asks_presence = false;  // asks whether something exists: arguments may be absent
  // What is the case instead, for messages; may be empty.
  std::function<std::string(std::span<const BoundArg>)> why;
  std::vector<DimRef> shape;  // kShape: of args[0]
  int rest = -1;              // kShape: any number of extents lie before shape[rest]; -1: none
  Assumption assumption = Assumption::kNone;  // what it proves about numbers
  // The question, for code that reasons about rules. For kOther only `answer` and `text` know it.
  enum class Asks : uint8_t {
    kOther,        // something else
    kRank,         // of args[0]: `number`
    kRankAtLeast,  // likewise
    kConstant,     // args[0] is a constant
    kDType,        // of args[0]: `dtype`
    kFloat,        // the element type of args[0] is a float
    kSameType,     // of all args
    kSameShape,    // of args[0] and args[1]
    kDim,          // the extent of axis `axis` of args[0] is `number`
    kEither,       // one of `parts` holds
    kNot,          // parts[0] does not hold
  };
  Asks asks = Asks::kOther;  // the question
  int64_t number = 0,        // kRank, kRankAtLeast and kDim
      axis = 0;              // kDim; a negative one counts from the end
  // Conjunctions. Their arguments lie one after the other in `args`.
  std::vector<std::vector<std::shared_ptr<const ConditionNode>>> parts;
  // Hints for CheckRule, which makes programs that meet the condition: rank and element type of
  // args[0].
  int rank = -1;
  DType dtype = DType::kInvalid;  // kInvalid: any
  bool same_type = false;         // all args have one type
  bool constant = false;          // args[0] should be a constant
  bool implies_constant = false;  // `constant` follows from the question
};
// Returns the text notation.
std::string ToString(const ConditionNode& condition);

// Evaluates a predicate. Nullopt also if it calls an accessor that fails, such as the third
// dimension of a vector. Of several parts, one that is false makes && false, and one that is true
// makes || true, whatever the others are. The negation of nullopt is nullopt.
Truth AnswerOf(const ConditionNode& predicate, std::span<const BoundArg> args);
// True if the answer is true.
inline bool Holds(const ConditionNode& predicate, std::span<const BoundArg> args) {
  return AnswerOf(predicate, args) == Truth(true);
}

// A conjunction of predicates. An empty one always holds.
class Condition {
 public:
  Condition() = default;
  // A condition of one conjunct.
  explicit Condition(ConditionNode node) {
    nodes_.push_back(std::make_shared<ConditionNode>(std::move(node)));
  }
  // Holds where the term is true. Terms that ask what the functions below ask, such as
  // `RankOf(x) == 2`, are the same conditions as these.
  Condition(const Term& term);  // NOLINT(google-explicit-constructor)
  // The conjuncts.
  const std::vector<std::shared_ptr<const ConditionNode>>& nodes() const { return nodes_; }

 private:
  friend Condition operator&&(const Condition& a, const Condition& b);
  std::vector<std::shared_ptr<const ConditionNode>> nodes_;
};
Condition operator&&(const Condition& a, const Condition& b);  // both hold
// ShapeIs can be joined by && only: CompileRule refuses it under || and !. Both sides count as one
// condition, which holds if any of their arguments is not bound.
Condition operator||(const Condition& a, const Condition& b);
// `a` is known to be false; restricted as for ||. Where the answer of `a` is not known, neither `a`
// nor `!a` holds.
Condition operator!(const Condition& a);

// Comparisons of terms. They hold where they are provable: of two extents with names neither == nor
// != need hold, nor the negation of one. Two values of the match are equal if they are one value of
// the program.
Condition operator==(const Term& a, const Term& b);
Condition operator!=(const Term& a, const Term& b);  // provably different
Condition operator<(const Term& a, const Term& b);   // provably less
Condition operator<=(const Term& a, const Term& b);  // provably at most
Condition operator>(const Term& a, const Term& b);   // provably greater
Condition operator>=(const Term& a, const Term& b);  // provably at least

// The value has this rank. Not known of unranked tensors.
Condition Rank(const Val& val, int rank);
Condition RankAtLeast(const Val& val, int rank);  // at least this rank; likewise
// True for results of constant operations.
Condition IsConstant(const Val& val);
// True for a constant, and for a value computed from constants alone by fewer than 64 pure
// operations: constant folding makes it a constant.
Condition FollowsFromConstants(const Val& val);
// The same as a predicate of a value, for the word `of_constants`.
bool IsComputedFromConstants(Value value);
Condition DTypeIs(const Val& val, DType dtype);  // the element type is `dtype`
// The element type is f16, bf16, f32 or f64.
Condition IsFloat(const Val& val);
// All values are ranked tensors with the same element type and provably equal dimensions.
Condition SameTypes(const std::vector<Val>& vals);
// The same for values given one by one.
template <typename... Rest>
Condition SameType(const Val& first, const Rest&... rest) {
  return SameTypes({first, rest...});
}
// Both values are ranked tensors with provably equal dimensions.
Condition SameShape(const Val& a, const Val& b);
// The value has this shape. Named dimensions are solved together with all others of the rule. With
// `rest`, any number of further extents may lie before dims[rest].
Condition ShapeIs(const Val& val, std::span<const Dim> dims, int rest = -1);
inline Condition ShapeIs(const Val& val, std::initializer_list<Dim> dims) {
  return ShapeIs(val, std::span<const Dim>(dims.begin(), dims.size()));
}
// Axis `axis` has the constant extent `extent`. A negative axis counts from the end.
Condition DimIs(const Val& val, int axis, int64_t extent);

// A predicate without C++ types of its arguments; If uses it.
Condition MakePredicate(std::string text, std::vector<ArgRef> args,
                        std::function<bool(std::span<const BoundArg>)> holds);
// Turns a condition into the proof of an assumption. An empty condition proves nothing.
Condition Proof(Assumption assumption, const Condition& condition);
// The same condition, with the hint that instances should have a constant as its first argument.
Condition OnConstants(const Condition& condition);
// The same condition with these words for messages. They complete "the rule wants that ...".
Condition If(std::string words, const Condition& condition);
// Any other pure predicate `fn`, with words `text` for messages. Arguments are passed as for
// Compute (val.h). Accessors of Value, Type, DimExpr and Attribute are safe in it: if one fails,
// neither the condition nor its negation holds.
template <typename F, typename First, typename... Args>
Condition If(std::string text, F fn, const First& first, const Args&... args) {
  return MakePredicate(
      std::move(text), {ArgTraits<First>::Ref(first), ArgTraits<Args>::Ref(args)...},
      Adapt<bool, F, First, Args...>(fn, std::index_sequence_for<First, Args...>()));
}

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_CONDITION_H_
