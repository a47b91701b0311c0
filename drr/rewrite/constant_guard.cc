#include "drr/rewrite/constant_guard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "ir/core/constants/constant.h"

namespace tenon::drr {
namespace {

// Results of these are as large as some operand, bit by bit.
bool MovesNumbers(std::string_view op) {
  return op == "ten.neg" || op == "ten.abs" || op == "ten.max" || op == "ten.min" ||
         op == "ten.relu" || op == "ten.where" || op == "ten.sign";
}

// Results of these have more of a number than some operand: sums, means, products of elements.
bool Reduces(std::string_view op) {
  return op.starts_with("ten.reduce_") && op != "ten.reduce_max" && op != "ten.reduce_min";
}

bool DoesArithmetic(const Operation& op) {
  if (op.num_results() != 1 || op.num_operands() == 0) return false;
  const Type type = op.result(0).type();
  if (!type.is_any_tensor() || !IsFloat(type.dtype()) || !EffectsOf(op).pure()) return false;
  if (op.name() == "ten.cast" || Reduces(op.name())) return true;
  return op.Has(Trait::kElementwise) && !MovesNumbers(op.name());
}

bool HasSubnormal(DType dtype, const NumberRange& range) {
  return IsFloat(dtype) && range.smallest < SmallestNormal(dtype);
}

bool IsSubnormal(DType dtype, double value) {
  return value != 0 && std::abs(value) < SmallestNormal(dtype);
}
bool IsInfiniteOrNan(DType /*dtype*/, double value) { return !std::isfinite(value); }

// Finds the elements of an operand that an element of the result is made of.
class Broadcast {
 public:
  // Not valid if the shapes do not broadcast.
  Broadcast(Type operand, Type result) : steps_(static_cast<size_t>(result.rank()), 0) {
    const int64_t missing = result.rank() - operand.rank();
    valid_ = missing >= 0;
    int64_t step = 1;
    for (int64_t axis = operand.rank() - 1; valid_ && axis >= 0; --axis) {
      const int64_t own = operand.dim(axis).constant(), all = result.dim(axis + missing).constant();
      valid_ = own == all || own == 1;
      if (own != 1) steps_[static_cast<size_t>(axis + missing)] = step;
      step *= own;
    }
    for (int64_t axis = 0; axis < result.rank(); ++axis)
      extents_.push_back(result.dim(axis).constant());
  }
  bool valid() const { return valid_; }
  int64_t At(int64_t i) const {
    int64_t at = 0;
    for (size_t axis = extents_.size(); axis-- > 0; i /= extents_[axis])
      at += i % extents_[axis] * steps_[axis];
    return at;
  }

 private:
  absl::InlinedVector<int64_t, 6> steps_, extents_;
  bool valid_ = true;
};

// Does `holds` hold for an element of `result`, and for none of those that it is made of?
template <typename Holds>
bool IsNew(const Operation& op, std::span<const Attribute> operands, Attribute result,
           Holds holds) {
  const auto holds_at = [&](Attribute elements, int64_t i) {
    const DType dtype = elements.type().dtype();
    return IsFloat(dtype) && holds(dtype, elements.ElementAsDouble(i));
  };
  const auto holds_somewhere = [&](Attribute elements) {
    const int64_t count = elements.type().num_elements();
    for (int64_t i = 0; i < count; ++i)
      if (holds_at(elements, i)) return true;
    return false;
  };
  absl::InlinedVector<std::pair<Attribute, Broadcast>, 4> causes;
  for (const Attribute operand : operands) {
    if (!holds_somewhere(operand)) continue;
    const Broadcast broadcast(operand.type(), result.type());
    if (!(op.Has(Trait::kElementwise) || op.name() == "ten.cast") || !broadcast.valid())
      return false;
    causes.emplace_back(operand, broadcast);
  }
  for (int64_t i = 0; i < result.type().num_elements(); ++i) {
    if (!holds_at(result, i)) continue;
    const bool caused = std::any_of(causes.begin(), causes.end(), [&](const auto& cause) {
      return holds_at(cause.first, cause.second.At(i));
    });
    if (!caused) return true;
  }
  return false;
}

// The one number of a splat, as a scalar.
Attribute OneOf(Attribute splat) {
  const DType dtype = splat.type().dtype();
  const Type scalar = Type::Tensor(splat.context(), dtype, std::span<const int64_t>());
  return Attribute::Splat(splat.context(), scalar, splat.raw_bytes().first(SizeOf(dtype)));
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

bool MayFollowFromConstants(const Operation& op) {
  return op.num_results() == 1 && op.num_operands() > 0 && EffectsOf(op).pure() &&
         op.num_regions() == 0;
}

bool IsConstant(const Operation& op) { return op.Has(Trait::kConstantLike); }

// Finishes `op` behind the operations that `next` names, which gives an operation that must be
// finished before its argument, or null. Chains may be longer than the stack is deep.
template <typename Next, typename Finish>
void FinishInOrder(const Operation& op, const Next& next, const Finish& finish) {
  std::vector<const Operation*> waiting = {&op};
  while (!waiting.empty()) {
    const Operation* last = waiting.back();
    if (const Operation* before = next(*last)) {
      waiting.push_back(before);
      continue;
    }
    finish(*last);
    waiting.pop_back();
  }
}

}  // namespace

bool ConstantGuard::Varies(Value value) {
  const Operation* op = value ? value.defining_op() : nullptr;
  return op == nullptr || (!IsConstant(*op) && Varies(*op));
}

bool ConstantGuard::Varies(const Operation& op) {
  const auto known = varies_.find(&op);
  if (known != varies_.end()) return known->second;
  // Where one operand varies the other ones do not matter.
  const auto varies_surely = [&](Value value) {
    const Operation* from = value ? value.defining_op() : nullptr;
    if (from == nullptr) return true;
    const auto found = varies_.find(from);
    return found != varies_.end() && found->second;
  };
  const auto surely = [&](const Operation& of) {
    if (!MayFollowFromConstants(of)) return true;
    for (unsigned i = 0; i < of.num_operands(); ++i)
      if (varies_surely(of.operand(i))) return true;
    return false;
  };
  const auto next = [&](const Operation& of) -> const Operation* {
    if (surely(of)) return nullptr;
    for (unsigned i = 0; i < of.num_operands(); ++i) {
      const Operation* from = of.operand(i).defining_op();
      if (!IsConstant(*from) && !varies_.contains(from)) return from;
    }
    return nullptr;
  };
  FinishInOrder(op, next, [&](const Operation& of) { varies_[&of] = surely(of); });
  return varies_.at(&op);
}

bool ConstantGuard::OperandsOf(const Operation& op, Operands& operands) {
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const Operation* from = op.operand(i).defining_op();
    operands.push_back(IsConstant(*from) ? ConstantElementsOf(from) : ValueOf(*from));
    if (!operands.back()) return false;
  }
  return true;
}

Attribute ConstantGuard::Compute(const Operation& op, const Operands& operands) {
  const absl::StatusOr<std::vector<Attribute>> made = evaluator_->Evaluate(op, operands);
  return made.ok() && made->size() == 1 ? (*made)[0] : Attribute();
}

Attribute ConstantGuard::ValueOf(const Operation& op) {
  const auto known = values_.find(&op);
  if (known != values_.end()) return known->second;
  const auto next = [&](const Operation& of) -> const Operation* {
    for (unsigned i = 0; i < of.num_operands(); ++i) {
      const Operation* from = of.operand(i).defining_op();
      if (!IsConstant(*from) && !values_.contains(from)) return from;
    }
    return nullptr;
  };
  FinishInOrder(op, next, [&](const Operation& of) {
    Operands operands;
    Attribute result;
    if (OperandsOf(of, operands)) {
      result = Compute(of, operands);
      // Of one number that is repeated an unknown number of times it is enough to know it once.
      if (!result && (of.name() == "ten.expand" || of.name() == "ten.reshape") &&
          operands[0].is_splat())
        result = OneOf(operands[0]);
    }
    values_[&of] = result;
  });
  return values_.at(&op);
}

void ConstantGuard::Forget() {
  varies_.clear();
  values_.clear();
}

void ConstantGuard::Erasing(const Operation* op) {
  if (op->num_regions() > 0) return Forget();
  varies_.erase(op);
  values_.erase(op);
}

// What varies hardly ever becomes a constant, as x * 0 does, and then everything behind it may.
void ConstantGuard::Replaced(Value was, Value now) {
  const auto known = varies_.find(was ? was.defining_op() : nullptr);
  if (known == varies_.end()) return;
  const bool varied = known->second;
  if (Varies(now) != varied) Forget();
}

void ConstantGuard::Modified(const Operation* op) {
  const auto known = varies_.find(op);
  if (known == varies_.end()) return;
  const bool varied = known->second;
  varies_.erase(known);
  if (!varied || !Varies(*op)) Forget();
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
  if (evaluator_ == nullptr || !DoesArithmetic(op) || Varies(op)) return "";
  Operands operands;
  if (!OperandsOf(op, operands)) return "";
  if (IsHarmlessProduct(op, operands)) return "";
  const Attribute result = Compute(op, operands);
  if (!result) return "";
  values_[&op] = result;
  if (const char* why = WhyNotMadeOfSuch(op, operands, result)) return Says(op, why);
  if (!RangeOf(result).has_zero) return "";
  const Attribute expected = WithExpectedZeros(op, operands);
  if (expected && ZerosIn(expected) != ZerosIn(result)) return Says(op, "too small for its type");
  return "";
}

const char* WhyNotMadeOfSuch(const Operation& op, std::span<const Attribute> operands,
                             Attribute result) {
  const NumberRange range = RangeOf(result);
  if (!range.is_finite() && IsNew(op, operands, result, IsInfiniteOrNan)) return "infinite or NaN";
  if (HasSubnormal(result.type().dtype(), range) && IsNew(op, operands, result, IsSubnormal))
    return "subnormal";
  return nullptr;
}

std::string WhyNotHeld(DType dtype, double number, const std::vector<double>& read) {
  if (!IsFloat(dtype) || HoldsNormally(dtype, number)) return "";
  const auto reads = [&](const auto& is) { return std::any_of(read.begin(), read.end(), is); };
  if (!std::isfinite(number)) {
    if (reads([](double x) { return !std::isfinite(x); })) return "";
    return fmt::format("the number that the rule computes is {}", number);
  }
  const auto is_subnormal = [&](double x) { return IsSubnormal(dtype, x); };
  std::byte stored[8];
  StoreFromDouble(dtype, number, stored);
  const bool held = is_subnormal(number) && LoadAsDouble(dtype, stored) != 0;
  if (held && reads(is_subnormal)) return "";
  return fmt::format("{} does not hold the number that the rule computes, {}", Name(dtype), number);
}

}  // namespace tenon::drr
