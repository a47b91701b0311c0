#include "ir/dialect/folds/fold_support.h"

namespace tenon {

bool ProvablySameType(Type a, Type b) {
  if (a != b || !a.is_tensor()) return false;
  for (DimExpr d : a.dims()) {
    if (d.is_unknown()) return false;
  }
  return true;
}

bool FoldTo(const Operation& op, Value value, FoldResults& results) {
  if (!ProvablySameType(value.type(), op.result().type())) return false;
  results.push_back({value, Attribute()});
  return true;
}

bool FoldTo(Attribute constant, FoldResults& results) {
  results.push_back({Value(), constant});
  return true;
}

bool IsSplat(Attribute constant, double value) {
  return constant && constant.is_splat() && constant.type().num_elements() > 0 &&
         constant.ElementAsDouble(0) == value;
}

bool FoldSplatTo(Attribute constant, Type type, FoldResults& results) {
  if (!constant || !constant.is_splat() || constant.raw_bytes().empty() || !type.is_static())
    return false;
  return FoldTo(Attribute::Splat(type.context(), type, constant.raw_bytes()), results);
}

}  // namespace tenon
