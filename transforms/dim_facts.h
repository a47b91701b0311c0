// What an operation that ran tells about the extents that other types of the function mention.
#ifndef TENON_TRANSFORMS_DIM_FACTS_H_
#define TENON_TRANSFORMS_DIM_FACTS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Symbols that name the extents of an operation's result, and what they turned out to be: once an
// extent is computed, nobody binds its symbol any more, and types and attributes that mention it
// must change with it. All facts hold in every run that succeeds.
class DimFacts {
 public:
  // `symbol` is bound by an input: it stays, unless other inputs tell it.
  void Keep(std::string_view symbol) { kept_.emplace(symbol); }
  // A value's type changes from `old` to `now`: symbols that stood for an extent have a value.
  void Define(Type old, Type now);
  // Equal extents that `op` demands of its operands: what came before it can be resolved again.
  void Learn(const Operation& op);
  // Was anything learned since the last call?
  bool TakeLearned() { return std::exchange(learned_, false); }
  // `e` without the symbols that have a value.
  DimExpr Resolve(DimExpr e) const;
  Type Resolve(Type type) const;
  // The same in the types of a block's arguments, and in op's attributes and the types of its
  // results; true if that changed something.
  bool Resolve(Block& block) const;
  bool Resolve(Operation& op) const;

 private:
  bool Define(DimExpr symbol, DimExpr value);
  // The same for an input's extent, which the extents of other inputs tell.
  bool DefineInput(DimExpr symbol, DimExpr value);
  bool Store(DimExpr symbol, DimExpr value);
  bool Resolve(Value value) const;
  void Equate(DimExpr a, DimExpr b);

  std::set<std::string, std::less<>> kept_;
  // Values mention no symbol that is a key.
  std::map<std::string, DimExpr, std::less<>> values_;
  bool learned_ = false;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_DIM_FACTS_H_
