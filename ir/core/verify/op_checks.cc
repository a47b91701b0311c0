#include "ir/core/verify/op_checks.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/verify/verifier.h"

namespace tenon {
namespace {

using Kind = Attribute::Kind;

// ---- attributes

bool HasType(Attribute value, Kind kind, DType dtype) {
  return value.kind() == kind && value.type().dtype() == dtype;
}

const char* ExpectedAttribute(AttrType type) {
  switch (type) {
    case AttrType::kAny:
      return "an attribute";
    case AttrType::kUnit:
      return "unit";
    case AttrType::kBool:
      return "true or false";
    case AttrType::kI64:
      return "an integer such as 3 : i64";
    case AttrType::kF32:
      return "a number such as 1.0 : f32";
    case AttrType::kF64:
      return "a number such as 1.0 : f64";
    case AttrType::kStr:
      return "a string";
    case AttrType::kEnum:
      return "one of";
    case AttrType::kI64s:
      return "an array such as array<i64: 1, 2>";
    case AttrType::kF32s:
      return "an array such as array<f32: 1.0, 2.0>";
    case AttrType::kDims:
      return "dimensions such as #core.dims<\"B\", 768>";
    case AttrType::kType:
      return "an element type such as f32";
    case AttrType::kTypeAttr:
      return "a type";
    case AttrType::kElements:
      return "a constant such as dense<0.0> : tensor<2xf32>";
    case AttrType::kSymbol:
      return "a symbol such as @name";
  }
  return "an attribute";
}

bool Fits(const AttrDef& def, Attribute value) {
  switch (def.type) {
    case AttrType::kAny:
      return true;
    case AttrType::kUnit:
      return value.kind() == Kind::kUnit;
    case AttrType::kBool:
      return value.kind() == Kind::kBool;
    case AttrType::kI64:
      return HasType(value, Kind::kInteger, DType::kI64);
    case AttrType::kF32:
      return HasType(value, Kind::kFloat, DType::kF32);
    case AttrType::kF64:
      return HasType(value, Kind::kFloat, DType::kF64);
    case AttrType::kStr:
      return value.kind() == Kind::kString;
    case AttrType::kEnum:
      return value.kind() == Kind::kString &&
             std::find(def.enums.begin(), def.enums.end(), value.str()) != def.enums.end();
    case AttrType::kI64s:
      return HasType(value, Kind::kDenseArray, DType::kI64);
    case AttrType::kF32s:
      return HasType(value, Kind::kDenseArray, DType::kF32);
    case AttrType::kDims:
      return value.kind() == Kind::kDims;
    case AttrType::kType:
      return value.kind() == Kind::kType && value.type().kind() == Type::Kind::kScalar;
    case AttrType::kTypeAttr:
      return value.kind() == Kind::kType;
    case AttrType::kElements:
      return value.kind() == Kind::kElements;
    case AttrType::kSymbol:
      return value.kind() == Kind::kSymbolRef;
  }
  return false;
}

std::string CheckSlots(const Operation& op) {
  const OpInfo& info = op.info();
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    if (static_cast<int>(i) == info.segment_slot()) continue;  // CheckOperands
    const AttrDef& def = info.def().attrs[i];
    Attribute value = op.slot(i);
    if (!value) {
      if (def.required) return fmt::format("attribute '{}' is missing", def.name);
    } else if (!Fits(def, value)) {
      return CheckAttribute(def, value);
    }
  }
  return {};
}

// ---- operands and results

std::string CheckGroup(const OperandDef& def, Value value, const char* what) {
  if (!value) return fmt::format("{} '{}' is null", what, def.name);
  if (AcceptsType(def.constraint, value.type())) return {};
  return fmt::format("{} '{}' must be {}, got {}", what, def.name, def.constraint.description,
                     value.type().text());
}

// What is wrong with an operandSegmentSizes that does not fit: how many operands each group has.
std::string SegmentsMessage(const Operation& op, Attribute sizes) {
  const std::vector<OperandDef>& groups = op.info().def().operands;
  std::string names;
  for (const OperandDef& group : groups) {
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", group.name,
                         group.arity == Arity::kSingle     ? " (one)"
                         : group.arity == Arity::kOptional ? " (at most one)"
                                                           : "");
  }
  const std::string expected =
      fmt::format("(expected the number of operands of each group, which add up to {}: {})",
                  op.num_operands(), names);
  if (!sizes) return fmt::format("operandSegmentSizes is missing {}", expected);
  if (sizes.kind() != Attribute::Kind::kDenseArray || IsFloat(sizes.type().dtype())) {
    return fmt::format("operandSegmentSizes is {} {}", sizes.text(), expected);
  }
  int64_t sum = 0;
  for (int64_t size : sizes.ints()) sum += size;
  return fmt::format("operandSegmentSizes is {}, {} numbers with the sum {} {}", sizes.text(),
                     sizes.ints().size(), sum, expected);
}

std::string CountMessage(const Operation& op) {
  const std::vector<OperandDef>& groups = op.info().def().operands;
  if (op.info().segment_slot() >= 0) {
    return SegmentsMessage(op, op.slot(static_cast<unsigned>(op.info().segment_slot())));
  }
  size_t least = 0;
  bool variadic = false, optional = false;
  for (const OperandDef& group : groups) {
    least += group.arity == Arity::kSingle;
    variadic |= group.arity == Arity::kVariadic;
    optional |= group.arity == Arity::kOptional;
  }
  std::string expected = variadic   ? fmt::format("at least {}", least)
                         : optional ? fmt::format("{} or {}", least, least + 1)
                                    : fmt::format("{}", least);
  return fmt::format("expects {} operand{}, got {}", expected, expected == "1" ? "" : "s",
                     op.num_operands());
}

std::string CheckOperands(const Operation& op, absl::InlinedVector<int32_t, 6>& segments) {
  const OpInfo& info = op.info();
  if (!info.OperandSegments(static_cast<int>(op.num_operands()), op.slots(), segments))
    return CountMessage(op);
  if (info.segment_slot() >= 0 &&
      op.slot(static_cast<unsigned>(info.segment_slot())).type().dtype() != DType::kI32) {
    return "operandSegmentSizes must be an array of i32";
  }
  unsigned at = 0;
  const std::vector<OperandDef>& groups = info.def().operands;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int32_t n = 0; n < segments[g]; ++n) {
      if (std::string message = CheckGroup(groups[g], op.operand(at++), "operand");
          !message.empty())
        return message;
    }
  }
  return {};
}

std::string CheckResults(const Operation& op) {
  const std::vector<OperandDef>& groups = op.info().def().results;
  bool flexible = !groups.empty() && groups.back().arity != Arity::kSingle;
  size_t least = groups.size() - (flexible ? 1 : 0);
  bool optional = flexible && groups.back().arity == Arity::kOptional;
  if (op.num_results() < least || (!flexible && op.num_results() > least) ||
      (optional && op.num_results() > least + 1)) {
    return fmt::format("has {} results, expects {}{}", op.num_results(),
                       flexible ? "at least " : "", least);
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const OperandDef& group = groups[std::min<size_t>(i, groups.size() - 1)];
    if (std::string message = CheckGroup(group, op.result(i), "result"); !message.empty())
      return message;
  }
  return {};
}

// Are all operand types one type, and the result's dimensions its own? Then nothing about shapes
// can be wrong with an elementwise op, and its element types have been checked by constraints and
// traits.
bool IsPlainElementwise(const Operation& op) {
  if (!op.Has(Trait::kElementwise) || op.num_operands() == 0 || op.num_results() != 1) return false;
  Type type = op.operand(0).type();
  for (OpOperand& operand : op.operands()) {
    if (operand.get().type() != type) return false;
  }
  return op.result().type() == type;
}

// ---- result types

bool Contradict(Type inferred, Type given) {
  if (inferred == given) return false;
  if (inferred.is_any_tensor() != given.is_any_tensor()) return true;
  if (!inferred.is_any_tensor()) return true;
  if (inferred.dtype() != given.dtype()) return true;
  if (!inferred.is_tensor() || !given.is_tensor()) return false;
  if (inferred.rank() != given.rank()) return true;
  for (int64_t i = 0; i < inferred.rank(); ++i) {
    DimExpr a = inferred.dim(i), b = given.dim(i);
    if (a.is_constant() && b.is_constant() && a != b) return true;
  }
  return false;
}

std::string CheckInferred(const Operation& op, std::span<const int32_t> segments) {
  const OpInfo& info = op.info();
  if (info.def().infer == nullptr || IsPlainElementwise(op)) return {};
  absl::InlinedVector<Type, 8> types;
  bool ranked = true;
  for (OpOperand& operand : op.operands()) {
    types.push_back(operand.get().type());
    ranked &= types.back().kind() != Type::Kind::kUnranked;
  }
  InferContext infer{info.context(), info, types, segments, op.slots(), op.location()};
  ResultTypes results;
  if (absl::Status status = RunShapeFunction(infer, results); !status.ok()) {
    if (!ranked) return {};
    std::string prefix = fmt::format("{}: ", info.name());
    std::string message(status.message());
    if (message.compare(0, prefix.size(), prefix) == 0) message.erase(0, prefix.size());
    return message;
  }
  if (results.size() != op.num_results()) {
    return fmt::format("has {} results, its shape function gives {}", op.num_results(),
                       results.size());
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!Contradict(results[i], op.result(i).type())) continue;
    return fmt::format("result {} must have type {}, got {}", i, results[i].text(),
                       op.result(i).type().text());
  }
  return {};
}

// ---- structure

std::string CheckShape(const Operation& op) {
  const OpDef& def = op.info().def();
  if (op.num_regions() != def.regions.size()) {
    return fmt::format("has {} regions, expects {}", op.num_regions(), def.regions.size());
  }
  if (op.num_successors() != def.successors.size()) {
    return fmt::format("has {} successors, expects {}", op.num_successors(), def.successors.size());
  }
  if (op.Has(Trait::kTerminator) && op.block() != nullptr && op.next() != nullptr) {
    return "is a terminator and must be the last op of its block";
  }
  if (op.Has(Trait::kSingleBlock)) {
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      const Region& region = op.region(i);
      if (!region.empty() && region.front().next() != nullptr) {
        return fmt::format("region '{}' must have one block", def.regions[i]);
      }
    }
  }
  return {};
}

std::string CheckSuccessorArguments(const Operation& op) {
  const OpDef& def = op.info().def();
  for (unsigned i = 0; i < op.num_successors(); ++i) {
    if (def.successors[i].operand_group < 0) continue;
    auto [first, count] = op.successor_operands(i);
    const Block* block = op.successor(i);
    if (block == nullptr) return fmt::format("successor '{}' is null", def.successors[i].name);
    if (block->num_arguments() != count) {
      return fmt::format("passes {} values to successor '{}', whose block has {} arguments", count,
                         def.successors[i].name, block->num_arguments());
    }
    for (unsigned j = 0; j < count; ++j) {
      Type given = op.operand(first + j).type(), wanted = block->argument(j).type();
      if (given == wanted) continue;
      return fmt::format("passes {} as argument {} of successor '{}', which has type {}",
                         given.text(), j, def.successors[i].name, wanted.text());
    }
  }
  return {};
}

}  // namespace

std::string CheckElementTypes(const Operation& op) {
  bool results = op.Has(Trait::kSameDtype);
  if (!results && !op.Has(Trait::kSameOperandDtype)) return {};
  DType first = DType::kInvalid;
  auto differs = [&](Type type) {
    if (first == DType::kInvalid) first = type.dtype();
    return type.dtype() != first;
  };
  for (OpOperand& operand : op.operands()) {
    if (!differs(operand.get().type())) continue;
    return fmt::format("operands must have one element type, got {} and {}", Name(first),
                       Name(operand.get().type().dtype()));
  }
  for (unsigned i = 0; results && i < op.num_results(); ++i) {
    if (!differs(op.result(i).type())) continue;
    return fmt::format("results must have the operands' element type {}, got {}", Name(first),
                       Name(op.result(i).type().dtype()));
  }
  return {};
}

std::string CheckAttribute(const AttrDef& def, Attribute value) {
  if (Fits(def, value)) return {};
  std::string expected = ExpectedAttribute(def.type);
  if (def.type == AttrType::kEnum) {
    for (size_t i = 0; i < def.enums.size(); ++i) {
      expected += fmt::format("{}\"{}\"", i == 0 ? " " : ", ", def.enums[i]);
    }
  }
  return fmt::format("attribute '{}' must be {}, got {}", def.name, expected, value.text());
}

absl::Status RunShapeFunction(const InferContext& context, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(context.info.def().infer(context, results));
  const std::vector<OperandDef>& groups = context.info.def().results;
  const bool counted = groups.empty() || groups.back().arity == Arity::kSingle;
  if (counted && results.size() != groups.size()) {
    return context.Error(fmt::format("its shape function gives {} types for {} results",
                                     results.size(), groups.size()));
  }
  const auto missing = std::find(results.begin(), results.end(), Type());
  if (missing == results.end()) return absl::OkStatus();
  return context.Error(
      fmt::format("its shape function gives no type for result {}", missing - results.begin()));
}

std::string CheckOperation(Operation& op, bool own_rules) {
  absl::InlinedVector<int32_t, 6> segments;
  std::string message = CheckShape(op);
  if (message.empty()) message = CheckOperands(op, segments);
  if (message.empty()) message = CheckResults(op);
  if (message.empty()) message = CheckSlots(op);
  if (message.empty()) message = CheckElementTypes(op);
  if (message.empty()) message = CheckInferred(op, segments);
  if (message.empty() && op.num_successors() > 0) message = CheckSuccessorArguments(op);
  if (message.empty() && own_rules && op.info().def().verify != nullptr) {
    if (absl::Status status = op.info().def().verify(op); !status.ok())
      message = std::string(status.message());
  }
  return message;
}

}  // namespace tenon
