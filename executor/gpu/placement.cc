#include "executor/gpu/placement.h"

#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// An extent that is not known counts as so much.
constexpr int64_t kAssumedHostExtent = 128;
constexpr int64_t kMaxShapeBytes = 64 << 10;  // of a value that follows from shapes
constexpr int64_t kMaxIntegerElements = 64;   // of a value that is computed in each run

bool IsInteger(Type type) { return IsInt(type.dtype()) || type.dtype() == DType::kBool; }

bool AtMost(Type type, int64_t elements) {
  int64_t n = 1;
  for (DimExpr dim : type.dims()) {
    n *= dim.is_constant() ? dim.constant() : kAssumedHostExtent;
    if (n > elements) return false;
  }
  return true;
}

class HostOpChooser {
 public:
  absl::flat_hash_set<const Operation*> Run(Block& block) {
    for (Operation& op : block) Visit(op);
    return std::move(host_);
  }

 private:
  void Visit(Operation& op) {
    if (op.Has(Trait::kConstantLike) || IsStructuredControl(op) || op.Has(Trait::kTerminator)) {
      return;
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!op.result(i).type().is_tensor()) return;
    }
    if (FollowsFromShapes(op)) {
      shape_.insert(&op);
      host_.insert(&op);
    } else if (IsSmallIntegerWork(op)) {
      host_.insert(&op);
    }
  }

  bool FollowsFromShapes(const Operation& op) const {
    if (!Isa<core::DimsOp>(&op) && !Isa<ten::ShapeOp>(&op)) {
      if (op.num_operands() == 0) return false;
      for (unsigned i = 0; i < op.num_operands(); ++i) {
        const Operation* producer = op.operand(i).defining_op();
        if (producer == nullptr) return false;
        if (!producer->Has(Trait::kConstantLike) && !shape_.contains(producer)) return false;
      }
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Type type = op.result(i).type();
      if (!AtMost(type, kMaxShapeBytes / static_cast<int64_t>(SizeOf(type.dtype())))) return false;
    }
    return true;
  }

  // On values that are on the host anyway.
  bool IsSmallIntegerWork(const Operation& op) const {
    const auto small = [](Type type) {
      return type.is_tensor() && IsInteger(type) && type.rank() <= 1 &&
             AtMost(type, kMaxIntegerElements);
    };
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!small(op.result(i).type())) return false;
    }
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      const Operation* producer = op.operand(i).defining_op();
      if (producer != nullptr && producer->Has(Trait::kConstantLike)) continue;
      if (!small(op.operand(i).type())) return false;
      if (producer != nullptr && !host_.contains(producer) && !IsStructuredControl(*producer)) {
        return false;
      }
    }
    return op.num_operands() > 0;
  }

  absl::flat_hash_set<const Operation*> host_, shape_;
};

}  // namespace

absl::flat_hash_set<const Operation*> ChooseHostOps(Block& block) {
  return HostOpChooser().Run(block);
}

}  // namespace tenon
