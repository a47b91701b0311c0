// Folds of ten's reductions, shape and data-movement operations.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ir/core/constants/deferred_blob.h"
#include "ir/dialect/folds/fold_support.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

bool AllEqual(std::span<const DimExpr> dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](DimExpr d) { return d.is_constant(value); });
}

// Extents that are equal but for one, of which the operand's is a broadcast with the result's: both
// have the same number of elements, so that it is equal too. Where another extent may be 0, equal
// numbers of elements say nothing of it.
bool EqualByCount(Type operand, Type result) {
  if (!operand.is_tensor() || !result.is_tensor() || operand.rank() != result.rank()) return false;
  int differ = 0;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const DimExpr a = operand.dim(i), b = result.dim(i);
    if (DimExpr::ProvablyEqual(a, b)) {
      if (!a.is_constant() || a.constant() == 0) return false;
      continue;
    }
    if (a.kind() != DimExpr::Kind::kBroadcast || !(Broadcast(a, b) == a)) return false;
    ++differ;
  }
  return differ == 1;
}

}  // namespace

// Nothing to reduce: no axes, or axes of one element.
bool FoldReduce(Operation& op, std::span<const Attribute>, FoldResults& results) {
  const Type x = op.operand(0).type();
  if (!x.is_tensor()) return false;
  for (int64_t axis : op.attr("axes").ints()) {
    if (axis < 0 || axis >= x.rank() || !x.dim(axis).is_constant(1)) return false;
  }
  return FoldTo(op, op.operand(0), results);
}

bool FoldShapeOf(Operation& op, std::span<const Attribute>, FoldResults& results) {
  const ten::ShapeOp shape(&op);
  const Type x = op.operand(0).type();
  if (!x.is_tensor() || shape.start() < 0 || shape.start() > shape.end() ||
      shape.end() > x.rank()) {
    return false;
  }
  std::vector<int64_t> numbers;
  for (int64_t i = shape.start(); i < shape.end(); ++i) {
    if (!x.dim(i).is_constant()) return false;
    numbers.push_back(x.dim(i).constant());
  }
  const int64_t extent[] = {static_cast<int64_t>(numbers.size())};
  const Type type = Type::Tensor(op.context(), DType::kI64, std::span<const int64_t>(extent));
  return FoldTo(Attribute::Elements(op.context(), type, std::as_bytes(std::span(numbers))),
                results);
}

// A reshaped constant shares its bytes.
bool FoldReshape(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (FoldTo(op, op.operand(0), results)) return true;
  if (EqualByCount(op.operand(0).type(), op.result().type())) {
    results.push_back({op.operand(0), Attribute()});
    return true;
  }
  const Type type = op.result().type();
  const Attribute value = constants[0];
  if (!value || !type.is_static() || value.type().num_elements() != type.num_elements())
    return false;
  if (FoldSplatTo(value, type, results)) return true;
  if (std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(value)) {
    return FoldTo(DeferredElements(op.context(), type, std::move(deferred)), results);
  }
  return FoldTo(value.blob() != nullptr
                    ? Attribute::Elements(op.context(), type, value.blob())
                    : Attribute::Elements(op.context(), type, value.raw_bytes()),
                results);
}

bool FoldExpand(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  return FoldTo(op, op.operand(0), results) ||
         FoldSplatTo(constants[0], op.result().type(), results);
}

bool FoldTranspose(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  const std::span<const int64_t> perm = ten::TransposeOp(&op).perm();
  if (std::is_sorted(perm.begin(), perm.end()) && FoldTo(op, op.operand(0), results)) return true;
  return FoldSplatTo(constants[0], op.result().type(), results);
}

bool FoldConcat(Operation& op, std::span<const Attribute>, FoldResults& results) {
  return op.num_operands() == 1 && FoldTo(op, op.operand(0), results);
}

// A window that is all of x, in order.
bool FoldSlice(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  const std::span<const int64_t> steps = ten::SliceOp(&op).steps();
  const bool forward = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  if (forward && FoldTo(op, op.operand(0), results)) return true;
  return FoldSplatTo(constants[0], op.result().type(), results);
}

bool FoldSplit(Operation& op, std::span<const Attribute>, FoldResults& results) {
  return op.num_results() == 1 && FoldTo(op, op.operand(0), results);
}

bool FoldPad(Operation& op, std::span<const Attribute>, FoldResults& results) {
  return AllEqual(ten::PadOp(&op).pads(), 0) && FoldTo(op, op.operand(0), results);
}

bool FoldTile(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (AllEqual(ten::TileOp(&op).repeats(), 1) && FoldTo(op, op.operand(0), results)) return true;
  return FoldSplatTo(constants[0], op.result().type(), results);
}

}  // namespace tenon
