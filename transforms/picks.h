// What operations take of a value: a few slices along an axis.
#ifndef TENON_TRANSFORMS_PICKS_H_
#define TENON_TRANSFORMS_PICKS_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/builder.h"
#include "ir/core/dim_expr.h"
#include "ir/core/operation.h"

namespace tenon {

// One of
//  - ten.slice of one axis, from start to end by steps of 1;
//  - ten.gather of one constant index: as bounds where the extent is known, else as the index;
//  - rows of axes 0 and 1 together, as many as axis 0 has, at positions that only a run knows: they
//    count as one slice of axis 1 for each element of axis 0, wherever they are. Spelled
//    ten.gather_nd, or ten.gather of a reshape that makes one axis of the two.
struct Pick {
  int64_t axis = 0;
  DimExpr start, end;
  std::optional<int64_t> index;
  Value rows;                 // the positions
  DimExpr count;              // slices that are left
  bool drops_axis = false;    // the result does not have the axis
  Operation* user = nullptr;  // its result is what is taken

  bool TakesSame(const Pick& o) const {
    return axis == o.axis && start == o.start && end == o.end && index == o.index && rows == o.rows;
  }
  // Extends this to all that lies between it and `o`; false where that is not known.
  bool Join(const Pick& o);
  // Does it take the last slices of an axis of this extent, in order?
  bool IsTail(DimExpr extent) const;

  // Equal for what takes the same of the same value.
  using Key =
      std::tuple<ValueImpl*, int64_t, const void*, const void*, std::optional<int64_t>, ValueImpl*>;
  static constexpr size_t kRowsOfKey = 5;
  Key KeyOf(Value value) const {
    return {value.impl(), axis, start.storage(), end.storage(), index, rows.impl()};
  }
};

// What a use takes of the value, if it is one that takes slices.
std::optional<Pick> PickOf(const OpOperand& use);

// What `pick` takes, of `value` and with the axis, by new operations, which are added to `made`.
// `index` is the constant vector of pick.index where there is one.
absl::StatusOr<Value> MakePick(OpBuilder& builder, Location location, Value value, const Pick& pick,
                               Value index, std::vector<Operation*>& made);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_PICKS_H_
