// Verification of ops of core and cf that need more than their definitions say.
#include "fmt/format.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/verify/verify_functions.h"

namespace tenon {

absl::Status VerifyCondBr(Operation& op) {
  const Type type = op.operand(0).type();
  if (type.dtype() == DType::kBool &&
      (type.kind() == Type::Kind::kScalar || (type.is_tensor() && type.rank() == 0))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("the condition is of type {} (expected i1 or tensor<i1>)", type.text()));
}

absl::Status VerifyGetParameter(Operation& op) {
  const Attribute name = op.attr("name");
  if (!name || name.kind() != Attribute::Kind::kSymbolRef) {
    return absl::InvalidArgumentError("name must be a symbol");
  }
  if (NearestSymbolTable(op) == nullptr) return absl::OkStatus();  // detached
  const Operation* const parameter = LookupSymbolFrom(op, name.str());
  if (parameter != nullptr && parameter->name() == "core.parameter") return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("@{} is not a core.parameter of this module", name.str()));
}

}  // namespace tenon
