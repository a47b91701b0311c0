// What an operation that ran tells about the extents that types of the function mention.
#ifndef TENON_TRANSFORMS_DIM_FACTS_H_
#define TENON_TRANSFORMS_DIM_FACTS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Facts about extents, all of which hold in every run that succeeds:
//  - the value of a symbol that named an extent, once the extent is computed: nobody binds the
//    symbol any more, and types and attributes that mention it must change with it;
//  - equalities that operations demand of their operands (dim_demands.h), as values of symbols and
//    of min and broadcast terms;
//  - bounds that follow where two extents broadcast (both are equal or one is 1), and where a
//    window must fit its axis.
class DimFacts {
 public:
  // `symbol` is bound by an input: only what inputs bind may replace it.
  void Keep(std::string_view symbol) { kept_.emplace(symbol, kept_.size()); }
  // A value's type changes from `old` to `now`: symbols that stood for an extent have a value.
  void Define(Type old, Type now);
  // Learns from an operation that every run reaches.
  void Learn(Operation& op);
  // Was anything learned since the last call, so that what came before can be resolved again?
  bool TakeLearned() { return std::exchange(learned_, false); }

  // Is a <= b in every run that succeeds?
  bool Proves(DimExpr a, DimExpr b) const;
  // The same expression, in simpler terms.
  DimExpr Resolve(DimExpr e) const;
  Type Resolve(Type type) const;
  // The same in the types of a block's arguments, and in op's attributes and the types of its
  // results; true if that changed something.
  bool Resolve(Block& block) const;
  bool Resolve(Operation& op) const;

 private:
  bool Resolve(Value value) const;
  bool Define(DimExpr term, DimExpr value);
  bool MayReplace(DimExpr term, DimExpr value) const;
  void Equate(DimExpr a, DimExpr b);
  void LearnBroadcast(DimExpr a, DimExpr b);
  void LearnTails(Operation& op);
  void AssumeNonNegative(DimExpr e);

  std::map<std::string, size_t, std::less<>> kept_;  // in order
  // By the text of the term. Values mention no term that has one.
  std::map<std::string, DimExpr, std::less<>> values_;
  std::vector<DimExpr> non_negative_;
  // Symbols that name the extent of the last n elements of a longer constant axis, and n.
  std::map<std::string, DimExpr, std::less<>> tails_;
  bool learned_ = false;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_DIM_FACTS_H_
