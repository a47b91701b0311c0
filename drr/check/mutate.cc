#include "drr/check/mutate.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/constants/constant.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"

namespace tenon::drr {
namespace {

// Operations of one family have the same operands and attributes.
constexpr std::string_view kFamilies[][10] = {
    {"ten.neg", "ten.abs", "ten.exp", "ten.tanh", "ten.sigmoid", "ten.relu", "ten.sqrt", "ten.erf",
     "ten.log", "ten.reciprocal"},
    {"ten.add", "ten.sub", "ten.mul", "ten.div", "ten.max", "ten.min"},
    {"ten.less", "ten.less_equal", "ten.greater", "ten.greater_equal", "ten.equal"},
    {"ten.reduce_sum", "ten.reduce_mean", "ten.reduce_max", "ten.reduce_min", "ten.reduce_l2"},
    {"nn.softmax", "nn.log_softmax"},
    {"ten.and", "ten.or", "ten.xor"},
    {"ten.floor", "ten.ceil", "ten.round"},
    {"ten.argmax", "ten.argmin"},
};

class Mutator {
 public:
  Mutator(Instance& instance, uint64_t seed)
      : instance_(instance),
        block_(instance.function->region().front()),
        context_(instance.function->context()),
        random_(seed) {}

  bool Change() {
    for (Operation& op : block_) {
      if (op.Has(Trait::kTerminator)) {
        end_ = &op;
      } else if (op.Has(Trait::kConstantLike)) {
        constants_.push_back(&op);
      } else {
        ops_.push_back(&op);
      }
    }
    if (ops_.empty() || end_ == nullptr) return false;
    switch (Pick(0, 5)) {
      case 0:
        return SwapOperands();
      case 1:
        return ChangeAttribute();
      case 2:
        return ChangeOp();
      case 3:
        return ChangeConstant();
      case 4:
        return ReturnInner();
      default:
        return ReplaceOperand();
    }
  }

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <typename T>
  const T& One(const std::vector<T>& list) {
    return list[static_cast<size_t>(Pick(0, static_cast<int>(list.size()) - 1))];
  }

  bool SwapOperands() {
    Operation* op = One(ops_);
    if (op->num_operands() < 2) return false;
    const auto a = static_cast<unsigned>(Pick(0, static_cast<int>(op->num_operands()) - 2));
    const Value first = op->operand(a), second = op->operand(a + 1);
    if (first == second) return false;
    op->set_operand(a, second);
    op->set_operand(a + 1, first);
    return true;
  }

  bool ChangeAttribute() {
    Operation* op = One(ops_);
    const std::vector<AttrDef>& attrs = op->info().def().attrs;
    if (attrs.empty()) return false;
    const auto slot = static_cast<unsigned>(Pick(0, static_cast<int>(attrs.size()) - 1));
    const Attribute old = op->slot(slot);
    if (!old || op->info().segment_slot() == static_cast<int>(slot)) return false;
    Attribute changed;
    switch (attrs[slot].type) {
      case AttrType::kBool:
        changed = Attribute::Bool(context_, !old.bool_value());
        break;
      case AttrType::kI64:
        changed = Attribute::I64(context_, old.int_value() + (Pick(0, 1) == 0 ? 1 : -1));
        break;
      case AttrType::kF32:
        changed = Attribute::F32(context_, static_cast<float>(old.float_value()) * 1.5F + 0.25F);
        break;
      case AttrType::kEnum:
        changed = Attribute::Str(context_, One(attrs[slot].enums));
        break;
      case AttrType::kI64s: {
        I64s values(old.ints().begin(), old.ints().end());
        if (values.empty()) return false;
        const auto at = static_cast<size_t>(Pick(0, static_cast<int>(values.size()) - 1));
        if (Pick(0, 1) == 0) {
          std::swap(values[at], values.back());
        } else {
          values[at] += Pick(0, 1) == 0 ? 1 : -1;
        }
        changed = Attribute::I64s(context_, values);
        break;
      }
      default:
        return false;
    }
    if (changed == old) return false;
    op->set_slot(slot, changed);
    return true;
  }

  bool ChangeOp() {
    Operation* op = One(ops_);
    for (const auto& family : kFamilies) {
      if (std::find(std::begin(family), std::end(family), op->name()) == std::end(family)) continue;
      const std::string_view name = family[Pick(0, 9)];
      if (name.empty() || name == op->name()) return false;
      const OpInfo* info = context_.FindOp(name);
      if (info == nullptr || info->num_slots() != op->info().num_slots()) return false;
      const std::vector<Value> operands = OperandsOf(op);
      const std::vector<Attribute> slots(op->slots().begin(), op->slots().end());
      const Type type = op->result().type();
      Operation* other =
          Operation::Create(*info, op->location(), std::span(&type, 1), operands, slots);
      OpBuilder::Before(op).Insert(other);
      op->result().ReplaceAllUsesWith(other->result());
      if (instance_.anchor == op) instance_.anchor = other;
      op->Erase();
      return true;
    }
    return false;
  }

  bool ChangeConstant() {
    if (constants_.empty()) return false;
    Operation* op = One(constants_);
    const Attribute old = ConstantValueOf(op);
    const Type type = op->result().type();
    const int64_t size = type.num_elements();
    const size_t width = SizeOf(type.dtype());
    if (size == 0 || size > 4096) return false;
    const int64_t one = Pick(0, 1) == 0 ? -1 : Pick(0, static_cast<int>(size) - 1);
    std::vector<std::byte> bytes(static_cast<size_t>(size) * width);
    for (int64_t i = 0; i < size; ++i) {
      double value = old.ElementAsDouble(i);
      if (one < 0 || one == i) value = IsFloat(type.dtype()) ? value * 1.25 + 0.125 : value + 1;
      StoreFromDouble(type.dtype(), value, bytes.data() + static_cast<size_t>(i) * width);
    }
    op->set_slot(0, Attribute::Elements(context_, type, bytes));
    return true;
  }

  // A value between is a result of the program as well.
  bool ReturnInner() {
    Operation* op = One(ops_);
    std::vector<Value> results = OperandsOf(end_);
    results.push_back(
        op->result(static_cast<unsigned>(Pick(0, static_cast<int>(op->num_results()) - 1))));
    Operation* end = Operation::Create(end_->info(), end_->location(), {}, results, end_->slots());
    OpBuilder::Before(end_).Insert(end);
    end_->Erase();
    std::vector<Type> inputs, outputs;
    for (unsigned i = 0; i < block_.num_arguments(); ++i)
      inputs.push_back(block_.argument(i).type());
    for (const Value& value : results) outputs.push_back(value.type());
    instance_.function->SetAttr(
        "function_type", Attribute::TypeAttr(context_, Type::Function(context_, inputs, outputs)));
    return true;
  }

  bool ReplaceOperand() {
    Operation* op = One(ops_);
    if (op->num_operands() == 0) return false;
    const auto at = static_cast<unsigned>(Pick(0, static_cast<int>(op->num_operands()) - 1));
    std::vector<Value> others;
    for (unsigned i = 0; i < block_.num_arguments(); ++i) others.push_back(block_.argument(i));
    for (Operation* before : ops_) {
      if (before == op) break;
      others.push_back(before->result());
    }
    if (others.empty()) return false;
    const Value other = One(others);
    if (other == op->operand(at)) return false;
    op->set_operand(at, other);
    return true;
  }

  static std::vector<Value> OperandsOf(Operation* op) {
    std::vector<Value> operands;
    for (OpOperand& operand : op->operands()) operands.push_back(operand.get());
    return operands;
  }

  Instance& instance_;
  Block& block_;
  Context& context_;
  // Its state is one number: each program with a change begins a sequence of its own.
  std::linear_congruential_engine<uint64_t, 6364136223846793005, 1442695040888963407, 0> random_;
  std::vector<Operation*> ops_, constants_;
  Operation* end_ = nullptr;
};

}  // namespace

bool Mutate(Instance& instance, uint64_t seed) {
  if (!Mutator(instance, seed).Change()) return false;
  const ScopedDiagnosticHandler quiet(instance.function->context(), [](const Diagnostic&) {});
  return Verify(instance.module.get()).ok();
}

}  // namespace tenon::drr
