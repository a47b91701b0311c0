// Facts about extents, learned from the operations of a function.
#ifndef TENON_TRANSFORMS_SHAPES_DIM_FACTS_H_
#define TENON_TRANSFORMS_SHAPES_DIM_FACTS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Facts that hold in every run that succeeds, from three sources:
// - The value of a symbol that named an unknown extent, once the extent is computed. Nothing binds
//   such a symbol then, so all types and attributes that mention it must change.
// - Equalities that operations demand of their operands (extent_requirements.h), as values of
// symbols and
//   of min and broadcast terms.
// - Bounds that follow where two extents broadcast, and where a window must fit its axis.
class DimFacts {
 public:
  // Says that an input binds `symbol`: only expressions of such symbols may replace it.
  void Keep(std::string_view symbol) { kept_.emplace(symbol, kept_.size()); }
  // Says that the type of a value changed from `old` to `now`, which gives values to symbols.
  void Define(Type old, Type now);
  // Learns from an operation that every run reaches.
  void Learn(Operation& op);
  // True if anything was learned since the last call, so that earlier types can be resolved again.
  bool TakeLearned() { return std::exchange(learned_, false); }

  // True if nothing is known, so that Resolve changes nothing.
  bool empty() const { return values_.empty() && non_negative_.empty(); }

  // True if a <= b in every run that succeeds.
  bool Proves(DimExpr a, DimExpr b) const;
  // Returns the same expression in simpler terms.
  DimExpr Resolve(DimExpr e) const;
  Type Resolve(Type type) const;
  // Resolves the types of a block's arguments, or the attributes and result types of an op. True if
  // that changed something.
  bool Resolve(Block& block) const;
  bool Resolve(Operation& op) const;

 private:
  bool Resolve(Value value) const;
  bool Define(DimExpr term, DimExpr value);
  bool MayReplace(DimExpr term, DimExpr value) const;
  void Equate(DimExpr a, DimExpr b);
  void LearnBroadcast(DimExpr a, DimExpr b);
  void LearnPair(DimExpr a, DimExpr b);
  void LearnTails(Operation& op);
  void AssumeNonNegative(DimExpr e);

  std::map<std::string, size_t, std::less<>> kept_;  // in order
  // By the text of the term. Values mention no term that has a value.
  std::map<std::string, DimExpr, std::less<>> values_;
  std::vector<DimExpr> non_negative_;
  // Symbols that name the last n elements of a longer constant axis, with n.
  std::map<std::string, DimExpr, std::less<>> tails_;
  bool learned_ = false;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_DIM_FACTS_H_
