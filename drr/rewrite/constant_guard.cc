#include "drr/rewrite/constant_guard.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon::drr {
namespace {

// Results of these are as large as some operand, bit by bit.
bool MovesNumbers(std::string_view op) {
  return op == "ten.neg" || op == "ten.abs" || op == "ten.max" || op == "ten.min" ||
         op == "ten.relu" || op == "ten.where" || op == "ten.sign";
}

bool DoesArithmetic(const Operation& op) {
  if (op.num_results() != 1 || op.num_operands() == 0) return false;
  const Type type = op.result(0).type();
  if (!type.is_any_tensor() || !IsFloat(type.dtype()) || !EffectsOf(op).pure()) return false;
  if (op.name() == "ten.cast") return true;
  return op.Has(Trait::kElementwise) && !MovesNumbers(op.name());
}

bool HasSubnormal(DType dtype, const NumberRange& range) {
  return IsFloat(dtype) && range.smallest < SmallestNormal(dtype);
}

Attribute Ones(Attribute like) {
  const DType dtype = like.type().dtype();
  std::byte one[8];
  StoreFromDouble(dtype, 1, one);
  return Attribute::Splat(like.context(), like.type(), {one, SizeOf(dtype)});
}

// One for every element that is not zero.
Attribute Indicator(Attribute elements) {
  if (!RangeOf(elements).has_zero) return Ones(elements);
  const Type type = elements.type();
  const size_t size = SizeOf(type.dtype());
  std::vector<std::byte> bytes(size * static_cast<size_t>(type.num_elements()));
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    StoreFromDouble(type.dtype(), elements.ElementAsDouble(i) != 0 ? 1 : 0,
                    bytes.data() + static_cast<size_t>(i) * size);
  }
  return Attribute::Elements(elements.context(), type, bytes);
}

int64_t ZerosIn(Attribute elements) {
  if (!RangeOf(elements).has_zero) return 0;
  int64_t zeros = 0;
  for (int64_t i = 0; i < elements.type().num_elements(); ++i)
    zeros += elements.ElementAsDouble(i) == 0;
  return zeros;
}

std::string Says(const Operation& op, const char* what) {
  return fmt::format("the constant that {} would compute is {}", op.name(), what);
}

}  // namespace

bool ConstantGuard::OperandsOf(const Operation& op, Operands& operands) {
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    operands.push_back(ValueOf(op.operand(i)));
    if (!operands.back()) return false;
  }
  return true;
}

Attribute ConstantGuard::Compute(const Operation& op, const Operands& operands) {
  const absl::StatusOr<std::vector<Attribute>> made = evaluator_->Evaluate(op, operands);
  return made.ok() && made->size() == 1 ? (*made)[0] : Attribute();
}

Attribute ConstantGuard::ValueOf(Value value) {
  const Operation* op = value.defining_op();
  if (op == nullptr) return Attribute();
  if (op->Has(Trait::kConstantLike)) {
    const Attribute elements = op->slot(0);
    return elements && elements.kind() == Attribute::Kind::kElements ? elements : Attribute();
  }
  for (const Known& known : known_)
    if (known.op == op) return known.value;
  Operands operands;
  Attribute result;
  if (op->num_results() == 1 && op->num_operands() > 0 && EffectsOf(*op).pure() &&
      op->num_regions() == 0 && OperandsOf(*op, operands)) {
    result = Compute(*op, operands);
  }
  known_.push_back({op, result});
  return result;
}

// A value with as many zeros as the result has if no number is lost; null if the op makes zeros of
// other numbers in any case, as a difference does.
Attribute ConstantGuard::WithExpectedZeros(const Operation& op, const Operands& operands) {
  const std::string_view name = op.name();
  if (name == "ten.cast" && IsFloat(operands[0].type().dtype())) return operands[0];
  if (name == "ten.mul") return Compute(op, {Indicator(operands[0]), Indicator(operands[1])});
  if (name == "ten.div") return Compute(op, {Indicator(operands[0]), Ones(operands[1])});
  if (name == "ten.reciprocal") return Compute(op, {Ones(operands[0])});
  return Attribute();
}

// Most products are of numbers so far from the ends of the type that none needs to be computed.
bool ConstantGuard::IsHarmlessProduct(const Operation& op, const Operands& operands) {
  if (op.name() != "ten.mul") return false;
  const DType dtype = op.result(0).type().dtype();
  const NumberRange a = RangeOf(operands[0]), b = RangeOf(operands[1]);
  return a.is_finite() && b.is_finite() && a.largest() * b.largest() <= LargestFinite(dtype) &&
         a.smallest * b.smallest >= SmallestNormal(dtype);
}

std::string ConstantGuard::Check(const Operation& op) {
  if (evaluator_ == nullptr || !DoesArithmetic(op)) return "";
  Operands operands;
  if (!OperandsOf(op, operands)) return "";
  if (IsHarmlessProduct(op, operands)) return "";
  const Attribute result = Compute(op, operands);
  if (!result) return "";
  known_.push_back({&op, result});
  const DType dtype = result.type().dtype();
  bool special = false, subnormal = false;
  for (Attribute operand : operands) {
    const NumberRange range = RangeOf(operand);
    special |= !range.is_finite();
    subnormal |= HasSubnormal(operand.type().dtype(), range);
  }
  const NumberRange range = RangeOf(result);
  if (!special && !range.is_finite()) return Says(op, "infinite or NaN");
  if (!subnormal && HasSubnormal(dtype, range)) return Says(op, "subnormal");
  if (!range.has_zero) return "";
  const Attribute expected = WithExpectedZeros(op, operands);
  if (expected && ZerosIn(expected) != ZerosIn(result)) return Says(op, "too small for its type");
  return "";
}

std::string WhyNotHeld(DType dtype, double number, const std::vector<double>& read) {
  if (!IsFloat(dtype) || HoldsNormally(dtype, number)) return "";
  const auto reads = [&](const auto& is) { return std::any_of(read.begin(), read.end(), is); };
  if (!std::isfinite(number)) {
    if (reads([](double x) { return !std::isfinite(x); })) return "";
    return fmt::format("the number that the rule computes is {}", number);
  }
  const auto is_subnormal = [&](double x) { return x != 0 && std::abs(x) < SmallestNormal(dtype); };
  std::byte stored[8];
  StoreFromDouble(dtype, number, stored);
  const bool held = is_subnormal(number) && LoadAsDouble(dtype, stored) != 0;
  if (held && reads(is_subnormal)) return "";
  return fmt::format("{} does not hold the number that the rule computes, {}", Name(dtype), number);
}

}  // namespace tenon::drr
