// Operations over rows (the last axis) that can be steps of fused.group.
#ifndef TENON_TRANSFORMS_GROUPS_ROW_OPS_H_
#define TENON_TRANSFORMS_GROUPS_ROW_OPS_H_

#include <array>
#include <optional>

#include "ir/base/pointwise.h"
#include "ir/core/operation.h"

namespace tenon {

// A reduction, softmax or norm as steps of a body: sum = x + offset + skip, row = kind(sum) * scale
// + bias.
struct RowOp {
  PointwiseOp kind = PointwiseOp::kSoftmax;  // the row op
  std::array<double, 3> params = {};         // its parameters
  Value x;                          // f32, with the shape of the group unless there is a skip
  Value offset, skip, scale, bias;  // null: absent; an offset only beside a skip
  Type whole;                       // the type of the rows that `kind` reads

  // The steps that it takes.
  size_t num_steps() const {
    return 1 + (offset ? 1 : 0) + (skip ? 1 : 0) + (scale ? 1 : 0) + (bias ? 1 : 0);
  }
};

// Reads `op` if it works on the last axis of f32 tensors whose extents are known, and keeps that
// axis. nullopt for all other operations.
std::optional<RowOp> ReadRowOp(const Operation& op);

// True for a fused.group with a step that works on whole rows, or with a body that cannot be read.
bool IsGroupWithRows(const Operation& op);

// True for a tensor whose extents are numbers or expressions.
bool HasShape(Type type);
// True for tensors of provably equal extents.
bool SameShape(Type a, Type b);
// True if `column` has the shape of `whole` with one element in the place of each row.
bool IsColumnOf(Type column, Type whole);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_GROUPS_ROW_OPS_H_
