// Numbers for which the conditions of a rule hold, where drawing at random finds none.
#ifndef TENON_DRR_CHECK_SOUGHT_H_
#define TENON_DRR_CHECK_SOUGHT_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "drr/compile/compiled.h"
#include "drr/rule/term.h"

namespace tenon::drr {

// The numbers of a program that conditions of a rule compare. The rule must outlive it.
class SoughtNumbers {
 public:
  // One such number: an attribute variable, a dimension variable, the extent of an axis of a node,
  // or a proven bound of what a node holds. A negative axis counts from the end.
  struct Place {
    enum class Kind : uint8_t { kAttr, kDim, kAxis, kLow, kHigh };
    Kind kind = Kind::kAttr;
    uint16_t index = 0;  // of the variable, or of the node
    int64_t axis = 0;    // kAxis
    bool operator==(const Place&) const = default;
  };
  using Values = std::vector<AttrValue>;  // by place; monostate where nothing is known

  explicit SoughtNumbers(const CompiledRule& rule);

  const std::vector<Place>& places() const { return places_; }
  // The number of the attribute variable; -1 if no condition compares it.
  int PlaceOfAttr(uint16_t variable) const;
  // True if a condition does not hold whose numbers are all known.
  bool Fails(const Values& values) const;
  // Changes open values until no condition fails. The values to try lie at the bounds that the
  // conditions set, inside each of them and between each two. Extents stay below kLargestWritten.
  // False if it finds none; `values` is as it was then.
  bool Seek(Values& values, const std::vector<bool>& open, std::mt19937_64& random) const;

 private:
  // A conjunct of a condition. Its arguments begin at args[first] of `code`.
  struct Part {
    const ConditionCode* code;
    const ConditionNode* node;
    size_t first;
  };
  struct Condition {
    Part part;
    std::vector<int> reads;  // places
    bool only_numbers;       // it reads nothing else
  };

  static bool IsCall(const TermNode& term, std::string_view word);
  int PlaceOf(const Place& place);
  // Adds the places that the condition or the term reads. False if it reads anything else.
  bool Reads(const Part& part, std::vector<int>& reads);
  bool Reads(const Part& part, const TermNode& term, std::vector<int>& reads);
  bool ReadsDim(uint16_t dim, std::vector<int>& reads);
  const ArgCode* Argument(const Part& part, const TermNode& term) const;
  // The place of `dim(x, i)`, of `lower_bound(x)` and of `upper_bound(x)`. Nothing for other terms.
  std::optional<Place> PlaceIn(const Part& part, const TermNode& term) const;
  // The bounds that the value of `magnitude(x)` follows from.
  std::vector<Place> BoundsIn(const Part& part, const TermNode& term) const;
  int Find(const Place& place) const;

  bool Fails(const Condition& condition, const Values& values) const;
  Truth TruthOf(const Part& part, const Values& values) const;
  TermValue ValueOf(const Part& part, const TermNode& term, const Values& values) const;
  TermValue ValueOfDim(uint16_t dim, const Values& values) const;

  // One search for a value of a place.
  struct Search;
  void AddBounds(const Part& part, Search& search) const;
  void AddBounds(const Part& part, const TermNode& term, Search& search) const;
  // Adds values of the place for which the term has this value, and values beside them.
  void Reach(const Part& part, const TermNode& term, double target, Search& search) const;
  void ReachDim(uint16_t dim, double target, Search& search) const;
  std::vector<AttrValue> ValuesToTry(int place, const Values& values,
                                     std::mt19937_64& random) const;

  const CompiledRule& rule_;
  std::vector<Place> places_;
  std::vector<Condition> conditions_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_SOUGHT_H_
