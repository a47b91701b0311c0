#include "tests/fuzz/near_miss.h"

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::fuzz {
namespace {

size_t Below(std::mt19937& random, size_t n) { return random() % n; }

struct Parts {
  std::vector<Operation*> users, constants;
  std::vector<Value> values;
};

Parts PartsOf(Operation* module) {
  Parts parts;
  module->Walk([&](Operation* op) {
    if (op->num_operands() > 0) parts.users.push_back(op);
    if (Isa<core::ConstantOp>(op)) parts.constants.push_back(op);
    for (unsigned i = 0; i < op->num_results(); ++i) parts.values.push_back(op->result(i));
    if (op->block() == nullptr) return;
    Block& block = *op->block();
    if (block.empty() || block.front() != op) return;
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      parts.values.push_back(block.argument(i));
    }
  });
  return parts;
}

void RewireOne(const Parts& parts, std::mt19937& random) {
  if (parts.users.empty()) return;
  Operation* op = parts.users[Below(random, parts.users.size())];
  const unsigned operand = random() % op->num_operands();
  std::vector<Value> others;
  for (Value value : parts.values) {
    const Operation* def = value.defining_op();
    if (op->operand(operand) && value.type() == op->operand(operand).type() &&
        value.parent_block() == op->block() && (def == nullptr || def->IsBeforeInBlock(op))) {
      others.push_back(value);
    }
  }
  if (!others.empty()) op->set_operand(operand, others[Below(random, others.size())]);
}

void SwapOperands(const Parts& parts, std::mt19937& random) {
  std::vector<Operation*> ops;
  for (Operation* op : parts.users) {
    if (op->num_operands() > 1 && op->operand(0) && op->operand(1) &&
        (op->operand(0).type() == op->operand(1).type() || op->Has(Trait::kElementwise))) {
      ops.push_back(op);
    }
  }
  if (ops.empty()) return;
  Operation* op = ops[Below(random, ops.size())];
  const Value first = op->operand(0);
  op->set_operand(0, op->operand(1));
  op->set_operand(1, first);
}

void ChangeConstant(const Parts& parts, std::mt19937& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<double, 15> kNumbers = {0,    1, -1,     2,   0.5, 3,          -0.5, 1e-5,
                                               -0.0, 4, -10000, 0.4, -2,  -kInfinity, kNaN};
  if (parts.constants.empty()) return;
  const auto op = Cast<core::ConstantOp>(parts.constants[Below(random, parts.constants.size())]);
  const Attribute value = op.value();
  const Type type = op.op()->result().type();
  if (!IsFloat(type.dtype())) return;
  const double number = kNumbers[Below(random, kNumbers.size())];
  const size_t size = SizeOf(type.dtype());
  std::vector<std::byte> bytes(value.raw_bytes().begin(), value.raw_bytes().end());
  if (bytes.empty()) return;
  StoreFromDouble(type.dtype(), number, bytes.data() + Below(random, bytes.size() / size) * size);
  OpBuilder builder = OpBuilder::Before(op.op());
  const Attribute changed = value.is_splat() ? Attribute::Splat(builder.context(), type, bytes)
                                             : Attribute::Elements(builder.context(), type, bytes);
  const auto made = core::ConstantOp::Create(builder, op.op()->location(), {.value = changed});
  if (!made.ok()) return;
  Value old = op.op()->result();
  old.ReplaceAllUsesWith(made->op()->result());
}

absl::StatusOr<Value> Between(OpBuilder& builder, Value x, std::mt19937& random) {
  const Location location;
  const int64_t rank = x.type().rank();
  const auto result = [](const auto& op) -> absl::StatusOr<Value> {
    if (!op.ok()) return op.status();
    return op->op()->result();
  };
  switch (Below(random, 5)) {
    case 0:
      return result(ten::NegOp::Create(builder, location, x));
    case 1:
      return result(ten::AbsOp::Create(builder, location, x));
    case 2:
      return result(ten::MulOp::Create(builder, location, x, x));
    case 3: {  // two axes change places, of as many elements maybe
      if (rank < 2) return x;
      std::vector<int64_t> perm(static_cast<size_t>(rank));
      for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
      std::swap(perm[Below(random, perm.size())], perm[Below(random, perm.size())]);
      return result(ten::TransposeOp::Create(builder, location, x, {.perm = perm}));
    }
    default: {  // a factor for each element of one axis
      std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
      int64_t count = 1;
      if (rank > 0) {
        const size_t axis = Below(random, shape.size());
        const DimExpr dim = x.type().dim(static_cast<int64_t>(axis));
        if (dim.is_constant()) count = shape[axis] = dim.constant();
      }
      if (count > 1'000'000) return x;
      std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(float));
      for (int64_t i = 0; i < count; ++i) {
        StoreFromDouble(DType::kF32, 0.5 + static_cast<double>(i % 7) / 4,
                        bytes.data() + static_cast<size_t>(i) * sizeof(float));
      }
      const Type type = Type::Tensor(builder.context(), DType::kF32, shape);
      const auto factor = result(core::ConstantOp::Create(
          builder, location, {.value = Attribute::Elements(builder.context(), type, bytes)}));
      if (!factor.ok()) return factor;
      return result(ten::MulOp::Create(builder, location, x, *factor));
    }
  }
}

void InsertOne(const Parts& parts, std::mt19937& random) {
  if (parts.users.empty()) return;
  Operation* op = parts.users[Below(random, parts.users.size())];
  const unsigned operand = random() % op->num_operands();
  const Value x = op->operand(operand);
  if (!x || !x.type().is_tensor() || x.type().dtype() != DType::kF32) return;
  OpBuilder builder = OpBuilder::Before(op);
  const absl::StatusOr<Value> made = Between(builder, x, random);
  if (made.ok() && made->type() == x.type()) op->set_operand(operand, *made);
}

}  // namespace

void Rewire(Operation* module, std::mt19937& random) {
  const Parts parts = PartsOf(module);
  for (int change = 0; change < 3; ++change) RewireOne(parts, random);
}

std::string ChangeAttributes(std::string text, std::mt19937& random) {
  const auto is_digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  std::vector<size_t> digits;
  bool inside = false;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.compare(i, 2, "<{") == 0) inside = true;
    if (text.compare(i, 2, "}>") == 0) inside = false;
    if (!is_digit(i)) continue;
    // Longer numbers stay: extents of millions are no test.
    size_t end = i;
    while (end + 1 < text.size() && is_digit(end)) ++end;
    for (size_t at = i; inside && end - i <= 2 && at < end; ++at) digits.push_back(at);
    i = end - 1;
  }
  if (!digits.empty()) {
    text[digits[Below(random, digits.size())]] = static_cast<char>('0' + Below(random, 10));
  }
  return text;
}

void MakeNearMiss(Operation* module, std::mt19937& random) {
  for (size_t changes = 1 + Below(random, 3); changes > 0; --changes) {
    const Parts parts = PartsOf(module);
    switch (Below(random, 5)) {
      case 0:
        RewireOne(parts, random);
        break;
      case 1:
        SwapOperands(parts, random);
        break;
      case 2:
        ChangeConstant(parts, random);
        break;
      default:
        InsertOne(parts, random);
    }
  }
}

}  // namespace tenon::fuzz
