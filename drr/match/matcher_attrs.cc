// Attributes and numbers of a match.
#include <algorithm>
#include <cmath>
#include <optional>

#include "drr/match/matcher.h"
#include "drr/match/same_number.h"
#include "fmt/format.h"
#include "ir/core/constants/constant.h"

namespace tenon::drr {
namespace {

// Two numbers of one program that are the same but for a rounding to the type.
bool AreOneNumber(double a, double b, DType dtype) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!std::isfinite(a) || !std::isfinite(b) || !IsFloat(dtype)) return false;
  const int bits = dtype == DType::kF64    ? 52
                   : dtype == DType::kBF16 ? 7
                   : dtype == DType::kF16  ? 10
                                           : 23;
  return std::abs(a - b) <= std::ldexp(std::max(std::abs(a), std::abs(b)), -bits);
}

bool SameDims(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor() || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

// An attribute that the op does not have.
const AttrValue kAbsent;

std::optional<int64_t> IntegerOf(const BoundArg& arg) {
  if (arg.attr && arg.attr.kind() == Attribute::Kind::kInteger) return arg.attr.int_value();
  if (arg.attr && arg.attr.kind() == Attribute::Kind::kBool) return arg.attr.bool_value() ? 1 : 0;
  if (arg.literal == nullptr) return std::nullopt;
  if (const int64_t* integer = std::get_if<int64_t>(arg.literal)) return *integer;
  if (const bool* flag = std::get_if<bool>(arg.literal)) return *flag ? 1 : 0;
  return std::nullopt;
}

bool IsNumber(const BoundArg& arg) {
  if (arg.literal != nullptr) return IntegerOf(arg) || std::holds_alternative<double>(*arg.literal);
  return !arg.attr || arg.attr.kind() == Attribute::Kind::kFloat || IntegerOf(arg);
}

// Are they one value of an attribute variable? Integers, texts and lists are equal or not; numbers
// with a point may be rounded in different ways.
bool SameArg(const BoundArg& a, const BoundArg& b) {
  if (a.literal == nullptr && b.literal == nullptr && a.attr && a.attr == b.attr) return true;
  const std::optional<int64_t> i = IntegerOf(a), j = IntegerOf(b);
  if (i && j) return *i == *j;
  if (IsNumber(a) && IsNumber(b)) return AreOneNumber(ToNumber(a), ToNumber(b), DType::kF32);
  return !IsNumber(a) && !IsNumber(b) && ToAttrValue(a) == ToAttrValue(b);
}

// Does the constant leave the shape of the op's result to the other operands, as a scalar would?
bool BroadcastsLikeScalar(Value constant, const Operation& op) {
  Type type = constant.type(), result = op.result().type();
  if (!type.is_tensor() || !result.is_tensor()) return false;
  if (type.rank() == 0) return true;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    Value other = op.operand(i);
    if (other != constant && SameDims(other.type(), result)) return true;
  }
  return type.num_elements() == 1 && type.rank() <= result.rank() && op.num_operands() == 1;
}

}  // namespace

bool Matcher::MatchAttr(const AttrCode& code, Operation* op, Causes causes) {
  Attribute actual = op->slot(code.slot);
  auto differs = [&](const std::string& want) {
    return fmt::format("attribute '{}' is {}, the rule wants {}",
                       op->info().slot_name(code.slot).str(), actual ? actual.text() : "absent",
                       want);
  };
  switch (code.kind) {
    case AttrCode::Kind::kAny:
      return true;
    case AttrCode::Kind::kLiteral:
      return actual == code.literal ||
             Fail(op, [&] { return differs(code.literal ? code.literal.text() : "none"); });
    case AttrCode::Kind::kAxis:
    case AttrCode::Kind::kAxes: {
      // A variadic op may have no operands, and an axis counts from no end then.
      const Type type = op->num_operands() > 0 ? op->operand(0).type() : Type();
      const bool ranked = type && type.is_tensor();
      bool same = false;
      if (ranked && actual && code.kind == AttrCode::Kind::kAxis) {
        same = actual.int_value() == std::get<int64_t>(code.source->literal) + type.rank();
      } else if (ranked && actual) {
        const I64s& want = std::get<I64s>(code.source->literal);
        std::span<const int64_t> have = actual.ints();
        same = want.size() == have.size();
        for (size_t i = 0; same && i < want.size(); ++i) {
          same = have[i] == (want[i] < 0 ? want[i] + type.rank() : want[i]);
        }
      }
      return same || Fail(op, [&] { return differs(drr::ToString(code.source->literal)); });
    }
    case AttrCode::Kind::kVariable: {
      BoundArg arg;
      arg.attr = actual;
      if (!actual) arg.literal = &kAbsent;
      return BindAttr(code.variable, arg, op, causes);
    }
    case AttrCode::Kind::kCompute:
      lets_.push_back({kNone, op, &code, actual, causes});
      return true;
    case AttrCode::Kind::kDim:
      if (!actual || actual.kind() != Attribute::Kind::kInteger)
        return Fail(op, [&] { return differs("a number"); });
      equations_.push_back(
          {code.dims[0], DimExpr::Constant(*context_, actual.int_value()), op, {}, {}, causes});
      return true;
    case AttrCode::Kind::kDims: {
      // The integers of a list are dimensions too.
      const bool integers = actual && actual.kind() == Attribute::Kind::kDenseArray &&
                            !tenon::IsFloat(actual.type().dtype());
      const bool dims = actual && actual.kind() == Attribute::Kind::kDims;
      const size_t size = integers ? actual.ints().size() : dims ? actual.dims().size() : 0;
      if ((!integers && !dims) || size != code.dims.size()) {
        return Fail(op, [&] { return differs(fmt::format("{} dimensions", code.dims.size())); });
      }
      for (size_t i = 0; i < size; ++i) {
        const DimExpr extent =
            dims ? actual.dims()[i] : DimExpr::Constant(*context_, actual.ints()[i]);
        equations_.push_back({code.dims[i], extent, op, {}, {}, causes});
      }
      return true;
    }
  }
  return false;
}

bool Matcher::MatchSplat(const Node& node, const Goal& goal) {
  Operation* op = goal.value.defining_op();
  auto wanted = [&] {
    const AttrNode& number = *node.splat.source;
    return fmt::format(
        "{} is {}, the rule wants {} {}", OperandOf(goal), Describe(goal.value),
        number.kind == AttrNode::Kind::kVariable ? "a constant number as its" : "a constant of",
        drr::ToString(number));
  };
  const Attribute elements = ConstantElementsOf(op);
  if (!elements) return Fail(goal.parent, wanted);
  if (!elements.is_splat() && elements.type().num_elements() != 1) return Fail(goal.parent, wanted);
  if (goal.parent->Has(Trait::kElementwise) && !BroadcastsLikeScalar(goal.value, *goal.parent)) {
    return Fail(goal.parent, [&] {
      return fmt::format("{} is {}, which does not broadcast like a scalar", OperandOf(goal),
                         Describe(goal.value));
    });
  }
  double number = elements.ElementAsDouble(0);
  DType dtype = elements.type().dtype();
  switch (node.splat.kind) {
    case AttrCode::Kind::kLiteral:
      return SameNumber(node.splat.literal.float_value(), number, dtype) ||
             Fail(goal.parent, wanted);
    case AttrCode::Kind::kVariable: {
      AttrBinding& binding = attrs_[node.splat.variable];
      if (binding.bound) {
        failed_ |= binding.causes;
        return AreOneNumber(ToNumber(binding.arg), number, dtype) || Fail(goal.parent, wanted);
      }
      BoundArg arg;
      arg.number = number;
      return BindAttr(node.splat.variable, arg, goal.parent, goal.causes);
    }
    case AttrCode::Kind::kAny:
      return true;
    default: {
      lets_.push_back(
          {kNone, goal.parent, &node.splat, Attribute::F64(*context_, number), goal.causes});
      return true;
    }
  }
}

bool Matcher::BindAttr(uint16_t variable, const BoundArg& arg, Operation* op, Causes causes) {
  AttrBinding& binding = attrs_[variable];
  if (!binding.bound) {
    binding.bound = true;
    binding.arg = arg;
    binding.causes = causes;
    trail_.push_back(variable | kAttrBit);
    return true;
  }
  failed_ |= binding.causes;
  return SameArg(binding.arg, arg) || Fail(op, [&] {
           return fmt::format("'{}' is {} here and {} before", rule_->attr_names[variable],
                              drr::ToString(ToAttrValue(arg)),
                              drr::ToString(ToAttrValue(binding.arg)));
         });
}

}  // namespace tenon::drr
