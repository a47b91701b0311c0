// Operations that take a few slices of a value along an axis.
#ifndef TENON_TRANSFORMS_SLICES_TAKEN_SLICES_H_
#define TENON_TRANSFORMS_SLICES_TAKEN_SLICES_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/builder.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/operation.h"

namespace tenon {

// One of
// - a ten.slice of one axis, from start to end by steps of 1;
// - a ten.gather of one constant index, kept as bounds if the extent is known and as the index
//   otherwise;
// - one row of axis 1 for each element of axis 0, at positions that are known at run time only. It
//   is written as ten.gather_nd, or as ten.gather of a reshape that joins both axes.
struct Pick {
  int64_t axis = 0;
  DimExpr start, end;
  std::optional<int64_t> index;
  Value rows;                 // the positions
  DimExpr count;              // number of slices taken
  bool drops_axis = false;    // the result does not have the axis
  Operation* user = nullptr;  // its result is the taken part

  bool TakesSame(const Pick& o) const {
    return axis == o.axis && start == o.start && end == o.end && index == o.index && rows == o.rows;
  }
  // Extends this to everything between it and `o`. False if that is not known.
  bool Join(const Pick& o);
  // True if it takes the last slices, in order, of an axis of this extent.
  bool IsTail(DimExpr extent) const;

  // Equal for picks that take the same of the same value.
  using Key =
      std::tuple<ValueImpl*, int64_t, const void*, const void*, std::optional<int64_t>, ValueImpl*>;
  static constexpr size_t kRowsOfKey = 5;
  Key KeyOf(Value value) const {
    return {value.impl(), axis, start.storage(), end.storage(), index, rows.impl()};
  }
};

// Returns what a use takes of its value; nullopt if it takes no slices.
std::optional<Pick> PickOf(const OpOperand& use);

// Creates operations that take `pick` of `value`, keep the axis and are appended to `made`. `index`
// is the constant vector of pick.index, if there is one.
absl::StatusOr<Value> MakePick(OpBuilder& builder, Location location, Value value, const Pick& pick,
                               Value index, std::vector<Operation*>& made);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SLICES_TAKEN_SLICES_H_
