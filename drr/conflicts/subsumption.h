// Comparing source graphs: does one match everything that another one describes? Used to find rules
// that are never reached and rules that match their own results.
#ifndef TENON_DRR_CONFLICTS_SUBSUMPTION_H_
#define TENON_DRR_CONFLICTS_SUBSUMPTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "drr/compile/compiled.h"

namespace tenon::drr {

// Whether every program that `specific` describes also matches `general`. "No" may mean that no
// proof was found.
class Subsumption {
 public:
  // `made`: read `specific` as the graph that its rule makes, rather than the one it matches.
  Subsumption(const CompiledRule& general, const CompiledRule& specific, bool made)
      : general_(general), specific_(specific), made_(made) {}

  using Place = std::pair<uint16_t, uint16_t>;  // node and result of `specific`
  // What a condition is about: a value, an attribute variable or a dimension of `specific`.
  struct Subject {
    enum class Kind : uint8_t { kValue, kAttr, kDim };
    Kind kind = Kind::kValue;
    // kValue. The others have a number in `first`: of the variable, and the first equal one of the
    // dimensions.
    Place place;
    bool operator==(const Subject&) const = default;
  };
  // A condition and its subjects.
  struct Fact {
    const ConditionNode* condition;
    std::vector<Subject> args;
    bool negated = false;
  };

  // Compares structure only.
  bool Holds(const Edge& g, const Edge& s);
  // The conditions of `specific`.
  std::vector<Fact> Facts() const;
  // Call it after Holds. Returns the conditions of `general` that do not follow from `facts`, which
  // are about values, attributes and dimensions of `specific`. Nullopt if one of them is about
  // something else.
  std::optional<std::vector<Fact>> Unproved(const std::vector<Fact>& facts);
  // Call it after Holds. True if every condition of `general` follows from those of `specific`.
  bool ConditionsFollow();
  // Adds to `facts` what is known where `fact` does not hold. That is nothing if it may be unknown
  // whether it does: of a value without a rank neither `rank(x) == 2` nor its negation holds.
  static void AddNegation(const Fact& fact, std::vector<Fact>& facts);

 private:
  using Places = std::map<uint16_t, Place>;  // by node of `general`
  struct State {
    Places bound;
    std::map<uint16_t, const AttrCode*> attrs;  // by attribute variable of `general`
    // Dimensions of `specific`, by dimension variable of `general`.
    std::map<uint16_t, uint16_t> dims;
  };

  bool Bind(const Edge& g, const Edge& s);
  bool BindOp(uint16_t g, uint16_t s);
  bool IsUsedOnce(uint16_t s) const;
  bool HoldsForAll(const Edge& g, const std::vector<Edge>& alternatives);
  bool SameAttr(const AttrCode& general, const AttrCode& specific);
  bool Operands(const Node& general, const Node& specific, bool swapped);
  Place Through(Place place) const;
  // Binds the dimension variables of an expression of `general` to those of `specific`.
  bool SameDim(uint16_t general, uint16_t specific);
  bool SameDims(const std::vector<uint16_t>& general, const std::vector<uint16_t>& specific);
  // The first dimension of `specific` that is the same expression.
  uint16_t FirstEqual(uint16_t dim) const;

  std::optional<Fact> Asked(const ConditionCode& condition) const;
  // A shape of `general` that a condition of `specific` asks for.
  bool ShapeFollows(const ConditionCode& condition);
  static bool SameTerm(const TermNode& a, const Fact& asked, const TermNode& b, const Fact& fact);
  static std::vector<Fact> Parts(const Fact& fact, size_t part);
  // Is a condition true or false wherever these facts hold?
  static bool HasAnswer(const Fact& fact, const std::vector<Fact>& facts);
  bool Follows(const Fact& asked, const std::vector<Fact>& facts, int splits) const;
  bool FollowsAtOnce(const Fact& asked, const std::vector<Fact>& facts) const;
  bool IsOneOf(const Fact& asked, const std::vector<Fact>& facts) const;
  bool RankFollows(const Fact& asked, const std::vector<Fact>& facts) const;
  bool TypeFollows(const Fact& asked, const std::vector<Fact>& facts) const;
  // As `dim(x, 0) >= 2` follows from `dim(x, 0) == 4`.
  bool ComparisonFollows(const Fact& asked, const std::vector<Fact>& facts) const;
  static const Subject* SubjectOf(const TermNode& part, const Fact& fact);
  // True if the condition is about attributes and numbers that `specific` writes, and holds for
  // them.
  bool HoldsForLiterals(const ConditionCode& condition) const;
  bool ShapeIsRank(const ConditionCode& condition) const;

  const CompiledRule& general_;
  const CompiledRule& specific_;
  bool made_;
  // A shared part is visited once per path, so long chains of them need a limit.
  static constexpr int64_t kMostSteps = int64_t{1} << 14;
  int64_t steps_ = 0;
  State state_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_CONFLICTS_SUBSUMPTION_H_
