#include "transforms/shapes/control_types.h"

#include "ir/core/block.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon {

Type CarriedType(const Operation& loop, unsigned i) {
  const LoopParts parts = PartsOfLoop(loop);
  const Block& first = loop.region(0).front();
  const Block& last = loop.region(loop.num_regions() - 1).front();
  const bool is_for = Isa<ctl::ForOp>(loop);
  const Type type = first.argument(is_for ? i + 1 : i).type();
  const Type init = loop.operand(parts.first_init + i).type();
  // All the types that the value goes through in a run.
  absl::InlinedVector<Type, 3> passed = {last.back()->operand(i).type()};
  if (!is_for) {
    passed.push_back(first.back()->operand(1 + i).type());
    passed.push_back(last.argument(i).type());
  }
  if (!type.is_tensor() || !init.is_tensor() || init.rank() != type.rank()) return type;
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  for (int64_t d = 0; d < type.rank(); ++d) {
    bool kept = type.dim(d).kind() == DimExpr::Kind::kSymbol && !init.dim(d).is_unknown();
    for (Type other : passed) {
      kept = kept && other.is_tensor() && other.rank() == type.rank() &&
             DimExpr::ProvablyEqual(other.dim(d), type.dim(d));
    }
    if (kept) dims[d] = init.dim(d);
  }
  return Type::Tensor(type.context(), type.dtype(), std::span<const DimExpr>(dims));
}

}  // namespace tenon
