// What small integer tensors hold, and floats on the way to them, as dimension expressions:
// exporters compute shapes with tensor ops, and this evaluates them.
#ifndef TENON_IR_DIALECT_SHAPE_DATA_H_
#define TENON_IR_DIALECT_SHAPE_DATA_H_

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "ir/core/operation.h"

namespace tenon {

// The elements of a tensor in row-major order; DimExpr::Unknown where nothing is known. Booleans
// are 0 and 1. Never all unknown.
using ShapeElements = absl::InlinedVector<DimExpr, 6>;

// Elements of the small integer and boolean tensors of a function, filled by visiting operations in
// an order in which definitions come before uses. Extents are taken to fit i32, and symbols to be
// >= 0.
class ShapeData {
 public:
  static constexpr int64_t kMaxElements = 64;

  // Derives what the results of `op` hold from what its operands hold.
  void Visit(Operation& op);
  // Null when nothing is known, and for floats.
  const ShapeElements* Find(Value value) const;
  // The same for floats too, which are kept as shape_floats.h says.
  const ShapeElements* FindWithFloats(Value value) const;
  // All elements, or null if one of them is unknown.
  const ShapeElements* FindKnown(Value value) const;
  // The numbers that `value` holds; nullopt unless all are known and constant.
  std::optional<absl::InlinedVector<int64_t, 6>> FindConstants(Value value) const;
  // To be called before `op` is destroyed or moves away from where it was visited.
  void Forget(const Operation& op);
  void Set(Value value, ShapeElements elements);

 private:
  absl::flat_hash_map<ValueImpl*, ShapeElements> elements_;
};

// True or false if a comparison holds for all, or for no, values of the symbols.
std::optional<bool> DecideEqual(DimExpr a, DimExpr b);
std::optional<bool> DecideLess(DimExpr a, DimExpr b);

// The number of elements of ten.range with these operands; Unknown if it cannot be said.
DimExpr RangeExtent(DimExpr start, DimExpr limit, DimExpr delta);

// Gives unknown extents of a function's values symbols named by provenance: the first model node of
// the op's location, or its name with a number, then ".d0", ".d1", …. The same IR gets the same
// names.
class DimNamer {
 public:
  // `function`: names used by its types are not given again. A null function reserves nothing.
  explicit DimNamer(Operation* function) : function_(function) {}
  // Replaces unknown extents of op's results; true if there were any.
  bool NameUnknownDims(Operation* op);
  // The same for one value.
  bool NameUnknownDims(Value value, std::string_view prefix);
  // Keeps a name from being given.
  void Reserve(std::string_view symbol) { used_.emplace(symbol); }

 private:
  void Scan();
  Operation* function_;
  bool scanned_ = false;
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int, std::less<>> ordinals_;  // by op name
};

// Replaces unknown extents of op's results by the symbols `<prefix>.d0`, `<prefix>.d1`, …. The
// caller answers for a prefix that is unique in the function.
void NameUnknownDims(Operation* op, std::string_view prefix);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_DATA_H_
