// The contents of small tensors as dimension expressions. Exporters compute shapes with tensor ops;
// this evaluates those ops. It covers integers, bools, and floats in between.
#ifndef TENON_IR_DIALECT_SHAPES_SHAPE_DATA_H_
#define TENON_IR_DIALECT_SHAPES_SHAPE_DATA_H_

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

// The elements of a tensor in row-major order, Unknown where nothing is known. Bools are 0 and 1.
// At least one element is known, unless there are none.
using ShapeElements = absl::InlinedVector<DimExpr, 6>;

// The elements of the small tensors of a function. Call Visit for each operation in an order in
// which definitions come before uses. Assumes that extents fit i32 and that symbols are >= 0. Not
// thread-safe.
class ShapeData {
 public:
  // Larger tensors are ignored.
  static constexpr int64_t kMaxElements = 64;

  // Derives the elements of the results of `op` from those of its operands.
  void Visit(Operation& op);
  // Returns the elements of `value`. Null if nothing is known, and for floats. Valid until the next
  // change.
  const ShapeElements* Find(Value value) const;
  // The same, also for floats, which are scaled (shape_floats.h).
  const ShapeElements* FindWithFloats(Value value) const;
  // The same, but null if any element is Unknown.
  const ShapeElements* FindKnown(Value value) const;
  // Returns the elements as numbers; nullopt unless all are constant.
  std::optional<absl::InlinedVector<int64_t, 6>> FindConstants(Value value) const;
  // Drops the results of `op`. Call it before `op` is destroyed, or moved to another place.
  void Forget(const Operation& op);
  // Sets the elements of `value`; drops them if all are Unknown.
  void Set(Value value, ShapeElements elements);

 private:
  absl::flat_hash_map<ValueImpl*, ShapeElements> elements_;
};

// True or false if the comparison holds for all, or for no, values of the symbols; nullopt
// otherwise.
std::optional<bool> DecideEqual(DimExpr a, DimExpr b);
std::optional<bool> DecideLess(DimExpr a, DimExpr b);

// Returns the number of elements of ten.range; Unknown if it does not follow.
DimExpr RangeExtent(DimExpr start, DimExpr limit, DimExpr delta);

// Gives symbols to Unknown extents of a function's values. The name is the first model node in the
// location of the op, or its op name with a number, then ".d0", ".d1", …. Equal IR gets equal
// names.
class DimNamer {
 public:
  // Symbols in the types of `function` are not given again. Null reserves none.
  explicit DimNamer(Operation* function) : function_(function) {}
  // Replaces Unknown extents of the results of `op`. True if there were any.
  bool NameUnknownDims(Operation* op);
  // The same for one value, with names that begin with `prefix`.
  bool NameUnknownDims(Value value, std::string_view prefix);
  // Keeps `symbol` from being given.
  void Reserve(std::string_view symbol) { used_.emplace(symbol); }

 private:
  void Scan();
  Operation* function_;
  bool scanned_ = false;
  std::set<std::string, std::less<>> used_;
  std::map<std::string, int, std::less<>> ordinals_;  // by op name
};

// Replaces Unknown extents of the results of `op` by the symbols `<prefix>.d0`, `<prefix>.d1`, ….
// No symbol of the function may begin with `prefix`.
void NameUnknownDims(Operation* op, std::string_view prefix);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_SHAPE_DATA_H_
