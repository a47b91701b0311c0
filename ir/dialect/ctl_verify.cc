// Verification of the ctl dialect: what flows into, around and out of its regions.
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/check.h"
#include "ir/dialect/verify_functions.h"

namespace tenon {
namespace {

// A list of values or of types.
using TypeList = absl::InlinedVector<Type, 4>;

TypeList OperandTypes(const Operation& op, unsigned first) {
  TypeList types;
  for (unsigned i = first; i < op.num_operands(); ++i) types.push_back(op.operand(i).type());
  return types;
}

TypeList ResultTypesOf(const Operation& op) {
  TypeList types;
  for (unsigned i = 0; i < op.num_results(); ++i) types.push_back(op.result(i).type());
  return types;
}

TypeList ArgumentTypes(const Block& block, unsigned first) {
  TypeList types;
  for (unsigned i = first; i < block.num_arguments(); ++i)
    types.push_back(block.argument(i).type());
  return types;
}

absl::Status CheckFlow(std::string_view from_name, const TypeList& from, std::string_view to_name,
                       const TypeList& to) {
  if (from.size() != to.size()) {
    return absl::InvalidArgumentError(
        fmt::format("has {} {}, but {} {}", from.size(), from_name, to.size(), to_name));
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (CompatibleTypes(from[i], to[i])) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: number {} is of type {}, but of type {} among {}", from_name, i,
                    from[i].text(), to[i].text(), to_name));
  }
  return absl::OkStatus();
}

// The terminator of a region of one block, which must be a `name`.
absl::StatusOr<Operation*> TerminatorOf(Operation& op, unsigned region, std::string_view name) {
  const Region& body = op.region(region);
  const std::string& region_name = op.info().def().regions[region];
  if (body.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("region {} is empty, expected a block", region_name));
  }
  Operation* last = body.front().back();
  if (last == nullptr || last->name() != name) {
    return absl::InvalidArgumentError(fmt::format("region {} must end with {}", region_name, name));
  }
  return last;
}

absl::Status CheckNoArguments(const Region& region, std::string_view name) {
  if (region.front().num_arguments() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("region {} must have no arguments", name));
}

}  // namespace

absl::Status VerifyIf(Operation& op) {
  for (unsigned r = 0; r < 2; ++r) {
    TENON_ASSIGN_OR_RETURN(Operation * yield, TerminatorOf(op, r, "ctl.yield"));
    TENON_RETURN_IF_ERROR(CheckNoArguments(op.region(r), op.info().def().regions[r]));
    TENON_RETURN_IF_ERROR(CheckFlow(r == 0 ? "values yielded by then" : "values yielded by else",
                                    OperandTypes(*yield, 0), "results", ResultTypesOf(op)));
  }
  return absl::OkStatus();
}

absl::Status VerifyFor(Operation& op) {
  TENON_ASSIGN_OR_RETURN(Operation * yield, TerminatorOf(op, 0, "ctl.yield"));
  const Block& body = op.region().front();
  if (body.num_arguments() == 0) {
    return absl::InvalidArgumentError("body must have the counter as its first argument");
  }
  const Type counter = body.argument(0).type();
  if (!counter.is_tensor() || counter.rank() != 0 || counter.dtype() != DType::kI64) {
    return absl::InvalidArgumentError(
        fmt::format("the counter must be of type tensor<i64>, not {}", counter.text()));
  }
  const TypeList carried = ArgumentTypes(body, 1);
  TENON_RETURN_IF_ERROR(
      CheckFlow("initial values", OperandTypes(op, 3), "carried arguments", carried));
  TENON_RETURN_IF_ERROR(
      CheckFlow("values yielded by body", OperandTypes(*yield, 0), "carried arguments", carried));
  return CheckFlow("values yielded by body", OperandTypes(*yield, 0), "results", ResultTypesOf(op));
}

absl::Status VerifyWhile(Operation& op) {
  TENON_ASSIGN_OR_RETURN(Operation * condition, TerminatorOf(op, 0, "ctl.condition"));
  TENON_ASSIGN_OR_RETURN(Operation * yield, TerminatorOf(op, 1, "ctl.yield"));
  const TypeList before = ArgumentTypes(op.region(0).front(), 0);
  const TypeList passed = OperandTypes(*condition, 1);
  TENON_RETURN_IF_ERROR(
      CheckFlow("initial values", OperandTypes(op, 0), "arguments of before", before));
  TENON_RETURN_IF_ERROR(CheckFlow("values passed on by ctl.condition", passed, "arguments of after",
                                  ArgumentTypes(op.region(1).front(), 0)));
  TENON_RETURN_IF_ERROR(
      CheckFlow("values yielded by after", OperandTypes(*yield, 0), "arguments of before", before));
  return CheckFlow("values passed on by ctl.condition", passed, "results", ResultTypesOf(op));
}

absl::Status VerifyCondition(Operation& op) {
  const Operation* parent = op.parent_op();
  if (parent == nullptr || parent->name() != "ctl.while" ||
      op.parent_region() != &parent->region(0)) {
    return absl::InvalidArgumentError("expected to be in the before region of a ctl.while");
  }
  return absl::OkStatus();
}

}  // namespace tenon
