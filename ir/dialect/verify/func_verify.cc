// Verification of the func dialect.
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/verify/verify_functions.h"

namespace tenon {

bool CompatibleTypes(Type from, Type to) {
  if (from == to) return true;
  if (!from.is_any_tensor() || !to.is_any_tensor() || from.dtype() != to.dtype()) return false;
  if (!from.is_tensor() || !to.is_tensor()) return true;
  if (from.rank() != to.rank()) return false;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (ProvablyDifferent(from.dim(i), to.dim(i))) return false;
  }
  return true;
}

namespace {

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

// The signature of a func.func; null if its attribute is not a function type.
Type FunctionType(const Operation& function) {
  const Attribute attr = function.attr("function_type");
  if (!attr || attr.kind() != Attribute::Kind::kType) return Type();
  return attr.type().kind() == Type::Kind::kFunction ? attr.type() : Type();
}

absl::Status CheckArrayLength(const Operation& op, std::string_view name, size_t expected) {
  const Attribute attr = op.attr(name);
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Attribute::Kind::kArray || attr.elements().size() != expected) {
    return Invalid(fmt::format("{} must be an array of {} dictionaries", name, expected));
  }
  for (Attribute element : attr.elements()) {
    if (!element || element.kind() != Attribute::Kind::kDictionary) {
      return Invalid(fmt::format("{} must hold dictionaries only", name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyFunc(Operation& op) {
  const Type type = FunctionType(op);
  if (!type) return Invalid("function_type must be a function type");
  if (absl::Status s = CheckArrayLength(op, "arg_attrs", type.inputs().size()); !s.ok()) return s;
  if (absl::Status s = CheckArrayLength(op, "res_attrs", type.results().size()); !s.ok()) return s;
  if (op.num_regions() == 0 || op.region().empty()) return absl::OkStatus();  // a declaration
  const Block& entry = op.region().front();
  if (entry.num_arguments() != type.inputs().size()) {
    return Invalid(fmt::format("entry block has {} arguments, but the function type has {} inputs",
                               entry.num_arguments(), type.inputs().size()));
  }
  for (unsigned i = 0; i < entry.num_arguments(); ++i) {
    if (entry.argument(i).type() != type.inputs()[i]) {
      return Invalid(
          fmt::format("entry block argument {} is of type {}, but the function type says {}", i,
                      entry.argument(i).type().text(), type.inputs()[i].text()));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyReturn(Operation& op) {
  const Operation* function = op.parent_op();
  if (function == nullptr || function->name() != "func.func") {
    return Invalid("expected to be directly inside a func.func");
  }
  const Type type = FunctionType(*function);
  if (!type) return absl::OkStatus();  // reported at the function
  if (op.num_operands() != type.results().size()) {
    return Invalid(fmt::format("returns {} values, but the function type has {} results",
                               op.num_operands(), type.results().size()));
  }
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (CompatibleTypes(op.operand(i).type(), type.results()[i])) continue;
    return Invalid(
        fmt::format("operand {} is of type {}, but the function's result {} is of type {}", i,
                    op.operand(i).type().text(), i, type.results()[i].text()));
  }
  return absl::OkStatus();
}

absl::Status CheckCall(const Operation& call, const Operation& function) {
  const Type type = FunctionType(function);
  if (!type) return absl::OkStatus();  // reported at the function
  const std::string_view name = CalleeOf(call);
  const OperandRange arguments = CallArguments(call);
  if (arguments.size() != type.inputs().size() || call.num_results() != type.results().size()) {
    return Invalid(fmt::format("has {} operands and {} results, but @{} has {} and {}",
                               arguments.size(), call.num_results(), name, type.inputs().size(),
                               type.results().size()));
  }
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (CompatibleTypes(arguments[i].type(), type.inputs()[i])) continue;
    return Invalid(fmt::format("operand {} is of type {}, but @{} takes {}", i,
                               arguments[i].type().text(), name, type.inputs()[i].text()));
  }
  for (unsigned i = 0; i < call.num_results(); ++i) {
    if (CompatibleTypes(type.results()[i], call.result(i).type())) continue;
    return Invalid(fmt::format("result {} is of type {}, but @{} returns {}", i,
                               call.result(i).type().text(), name, type.results()[i].text()));
  }
  return absl::OkStatus();
}

absl::Status VerifyCall(Operation& op) {
  const Attribute callee = op.attr("callee");
  if (!callee || callee.kind() != Attribute::Kind::kSymbolRef)
    return Invalid("callee must be a symbol");
  if (NearestSymbolTable(op) == nullptr) return absl::OkStatus();  // detached
  const Operation* function = LookupSymbolFrom(op, callee.str());
  if (function == nullptr || function->name() != "func.func") {
    return Invalid(fmt::format("callee @{} is not a function of this module", callee.str()));
  }
  return CheckCall(op, *function);
}

}  // namespace tenon
