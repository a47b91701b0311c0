#include "pass/conversion/conversion_target.h"

namespace tenon {

Legality ConversionTarget::Of(const Operation& op) const {
  if (const auto rule = ops_.find(op.id()); rule != ops_.end()) return rule->second.Of(op);
  if (const auto rule = dialects_.find(op.info().dialect()); rule != dialects_.end())
    return rule->second.Of(op);
  return unknown_.Of(op);
}

bool ConversionTarget::IsRecursivelyLegal(const Operation& op) const {
  const auto rule = recursive_.find(op.id());
  if (rule == recursive_.end() || Of(op) != Legality::kLegal) return false;
  return rule->second == nullptr || rule->second(op);
}

bool ConversionTarget::IsInsideLegal(const Operation& op, const Operation* top) const {
  if (recursive_.empty()) return false;
  for (const Operation* at = op.parent_op(); at != nullptr && at != top; at = at->parent_op())
    if (IsRecursivelyLegal(*at)) return true;
  return false;
}

}  // namespace tenon
