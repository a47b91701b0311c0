// Does one source graph match whatever another graph is? For rules that are never reached, and for
// those that match what they make.
#ifndef TENON_DRR_SUBSUMPTION_H_
#define TENON_DRR_SUBSUMPTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "drr/compiled.h"

namespace tenon::drr {

// Does every program that `specific` describes also match `general`? Errs towards "no".
class Subsumption {
 public:
  // `specific` is read as the graph that a rule makes when `made`, and as one that it matches
  // otherwise.
  Subsumption(const CompiledRule& general, const CompiledRule& specific, bool made)
      : general_(general), specific_(specific), made_(made) {}

  // Structure alone.
  bool Holds(const Edge& g, const Edge& s);
  // After Holds: does every condition of `general` follow from those of `specific`?
  bool ConditionsFollow() const;

 private:
  using Place = std::pair<uint16_t, uint16_t>;  // node and result of `specific`
  using Places = std::map<uint16_t, Place>;     // by node of `general`
  struct State {
    Places bound;
    std::map<uint16_t, const AttrCode*> attrs;  // by attribute variable of `general`
  };
  // A condition with the values that it is about. `negated`: it does not hold.
  struct Fact {
    const ConditionNode* condition;
    std::vector<Place> args;
    bool negated = false;
  };

  bool Bind(const Edge& g, const Edge& s);
  bool BindOp(uint16_t g, uint16_t s);
  bool IsUsedOnce(uint16_t s) const;
  bool HoldsForAll(const Edge& g, const std::vector<Edge>& alternatives);
  bool SameAttr(const AttrCode& general, const AttrCode& specific);
  bool Operands(const Node& general, const Node& specific, bool swapped);
  Place Through(Place place) const;

  std::vector<Fact> Facts() const;
  std::optional<Fact> Asked(const ConditionCode& condition) const;
  static std::vector<Fact> Parts(const Fact& fact, size_t part);
  bool Follows(const Fact& asked, const std::vector<Fact>& facts, int splits) const;
  bool FollowsAtOnce(const Fact& asked, const std::vector<Fact>& facts) const;
  bool IsOneOf(const Fact& asked, const std::vector<Fact>& facts) const;
  bool RankFollows(const Fact& asked, const std::vector<Fact>& facts) const;
  bool TypeFollows(const Fact& asked, const std::vector<Fact>& facts) const;
  bool ShapeIsRank(const ConditionCode& condition) const;

  const CompiledRule& general_;
  const CompiledRule& specific_;
  bool made_;
  // What is shared is looked at on each way to it: chains of such parts have no end.
  static constexpr int64_t kMostSteps = int64_t{1} << 14;
  int64_t steps_ = 0;
  State state_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_SUBSUMPTION_H_
