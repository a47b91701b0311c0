#include "transforms/movement/movement_ops.h"

#include <algorithm>

#include "ir/core/constants/constant.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// Is everything but the outermost extent a number, and is there anything to move?
bool IsStaticInside(Type type) {
  if (!type.is_tensor() || type.rank() == 0 || type.dim(0).is_unknown()) return false;
  if (type.dim(0).is_constant(0)) return false;
  return std::all_of(type.dims().begin() + 1, type.dims().end(),
                     [](DimExpr d) { return d.is_constant() && d.constant() > 0; });
}

// Does a constant vector say which slices the gather picks?
bool PicksByConstant(const Operation& op) {
  const Value indices = op.operand(1);
  return indices.type().is_tensor() && indices.type().rank() == 1 && ConstantElementsOf(indices);
}

}  // namespace

bool IsCopy(const Operation& op) {
  return op.id() == ten::TransposeOp::kId || op.id() == ten::SliceOp::kId ||
         op.id() == ten::SplitOp::kId || op.id() == ten::ConcatOp::kId ||
         (op.id() == ten::GatherOp::kId && PicksByConstant(op));
}

std::vector<int64_t> PickedPlaces(const Operation& op, int64_t extent) {
  std::vector<int64_t> places;
  const Attribute elements = ConstantElementsOf(op.operand(1));
  for (int64_t i = 0; i < op.operand(1).type().dim(0).constant(); ++i) {
    const int64_t place = elements.ElementAsInt(i);
    places.push_back(place < 0 ? place + extent : place);
    if (places.back() < 0 || places.back() >= extent) return {};
  }
  return places;
}

std::span<const OpOperand> MovedOperands(const Operation& op) {
  return op.id() == ten::GatherOp::kId ? op.operands().first(1) : op.operands();
}

bool IsMovement(Operation& op) {
  if (!IsCopy(op) && op.id() != ten::ReshapeOp::kId) return false;
  for (const OpOperand& operand : MovedOperands(op)) {
    if (!IsStaticInside(operand.get().type())) return false;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!IsStaticInside(op.result(i).type())) return false;
  }
  const bool outer_moves = op.operand(0).type().dim(0).is_constant();
  switch (op.id()) {
    case ten::TransposeOp::kId:
      return outer_moves || ten::TransposeOp(&op).perm()[0] == 0;
    case ten::SliceOp::kId: {
      const ten::SliceOp slice(&op);
      if (slice.axes().size() != 1 || slice.steps()[0] < 1) return false;
      return (slice.axes()[0] > 0 || outer_moves) && slice.starts()[0].is_constant();
    }
    case ten::SplitOp::kId: {
      const ten::SplitOp split(&op);
      return split.axis() > 0 || outer_moves;
    }
    case ten::ConcatOp::kId:
      return ten::ConcatOp(&op).axis() > 0 || outer_moves;
    case ten::GatherOp::kId: {
      const int64_t axis = ten::GatherOp(&op).axis();
      return (axis > 0 || outer_moves) &&
             !PickedPlaces(op, op.operand(0).type().dim(axis).constant()).empty();
    }
    default:
      return true;
  }
}

}  // namespace tenon
