// Folds of the core dialect.
#include <cstring>
#include <vector>

#include "ir/dialect/core_ops.h"
#include "ir/dialect/folds/fold_support.h"

namespace tenon {

bool FoldDims(Operation& op, std::span<const Attribute>, FoldResults& results) {
  std::vector<int64_t> numbers;
  for (DimExpr d : core::DimsOp(&op).dims()) {
    if (!d.is_constant()) return false;
    numbers.push_back(d.constant());
  }
  const Type type = op.result().type();
  if (!type.is_static()) return false;
  return FoldTo(Attribute::Elements(op.context(), type, std::as_bytes(std::span(numbers))),
                results);
}

}  // namespace tenon
