// Verification of the ctl dialect: what flows into, around and out of its regions.
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/verify/verify_functions.h"

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

// The same around a loop: a symbol in the type of a carried argument stands for another extent in
// each run, so that only numbers can contradict each other.
absl::Status CheckLoopFlow(std::string_view from_name, const TypeList& from,
                           std::string_view to_name, const TypeList& to) {
  if (from.size() != to.size()) return CheckFlow(from_name, from, to_name, to);
  for (size_t i = 0; i < from.size(); ++i) {
    bool fits = CompatibleTypes(from[i], to[i]);
    if (!fits && from[i].is_tensor() && to[i].is_tensor() && from[i].dtype() == to[i].dtype() &&
        from[i].rank() == to[i].rank()) {
      fits = true;
      for (int64_t d = 0; d < from[i].rank(); ++d) {
        const DimExpr a = from[i].dim(d), b = to[i].dim(d);
        fits &= !a.is_constant() || !b.is_constant() || a == b;
      }
    }
    if (!fits) return CheckFlow(from_name, {from[i]}, to_name, {to[i]});
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

// What the last region of a loop yields: the next carried values, then one for each stacked result.
absl::Status CheckYield(const Operation& loop, const LoopParts& parts, std::string_view region,
                        const TypeList& yielded, const TypeList& carried, const TypeList& results) {
  const std::string from = fmt::format("values yielded by {}", region);
  const size_t n = parts.num_carried;
  if (yielded.size() != n + parts.scans.size()) {
    return absl::InvalidArgumentError(fmt::format("has {} {}, expected {} to carry and {} to stack",
                                                  yielded.size(), from, n, parts.scans.size()));
  }
  if (results.size() != yielded.size()) {
    return absl::InvalidArgumentError(
        fmt::format("has {} results, expected {}", results.size(), yielded.size()));
  }
  TENON_RETURN_IF_ERROR(CheckLoopFlow(from, TypeList(yielded.begin(), yielded.begin() + n),
                                      "carried arguments", carried));
  for (size_t i = 0; i < parts.scans.size(); ++i) {
    const Type element = yielded[n + i], result = results[n + i];
    const Type stacked =
        StackedType(element, DimExpr::Unknown(loop.context()), parts.scans[i].axis);
    if (stacked && CompatibleTypes(stacked, result) &&
        (!element.is_tensor() || stacked.is_tensor())) {
      continue;
    }
    return absl::InvalidArgumentError(
        fmt::format("result {} of type {} cannot be values of type {} stacked along axis {}", n + i,
                    result.text(), element.text(), parts.scans[i].axis));
  }
  return absl::OkStatus();
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
  const TypeList carried = ArgumentTypes(body, 1), results = ResultTypesOf(op);
  const LoopParts parts = PartsOfLoop(op);
  TENON_RETURN_IF_ERROR(
      CheckLoopFlow("initial values", OperandTypes(op, 3), "carried arguments", carried));
  TENON_RETURN_IF_ERROR(CheckYield(op, parts, "body", OperandTypes(*yield, 0), carried, results));
  return CheckLoopFlow("carried arguments", carried, "results",
                       TypeList(results.begin(), results.begin() + parts.num_carried));
}

absl::Status VerifyWhile(Operation& op) {
  TENON_ASSIGN_OR_RETURN(Operation * condition, TerminatorOf(op, 0, "ctl.condition"));
  TENON_ASSIGN_OR_RETURN(Operation * yield, TerminatorOf(op, 1, "ctl.yield"));
  const TypeList before = ArgumentTypes(op.region(0).front(), 0);
  const TypeList passed = OperandTypes(*condition, 1);
  TENON_RETURN_IF_ERROR(
      CheckLoopFlow("initial values", OperandTypes(op, 0), "arguments of before", before));
  TENON_RETURN_IF_ERROR(CheckLoopFlow("values passed on by ctl.condition", passed,
                                      "arguments of after",
                                      ArgumentTypes(op.region(1).front(), 0)));
  const LoopParts parts = PartsOfLoop(op);
  const TypeList results = ResultTypesOf(op);
  TENON_RETURN_IF_ERROR(CheckYield(op, parts, "after", OperandTypes(*yield, 0), before, results));
  return CheckLoopFlow("values passed on by ctl.condition", passed, "results",
                       TypeList(results.begin(), results.begin() + parts.num_carried));
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
