// Operands, and arguments of functions.
#include <utility>

#include "frontends/debug/reduce/step.h"
#include "ir/core/rewrite/edit.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon::reduce {
namespace {

struct OperandPlace {
  Operation* op;
  unsigned operand;
};

// The optional or variadic group of an operand; -1 if it is in none.
int LooseGroup(const Operation& op, unsigned operand) {
  const std::vector<OperandDef>& groups = op.info().def().operands;
  for (unsigned g = 0; g < groups.size(); ++g) {
    const auto [first, count] = op.operand_group(g);
    if (operand >= first && operand - first < count)
      return groups[g].arity == Arity::kSingle ? -1 : static_cast<int>(g);
  }
  return -1;
}

// Drops operands that need not be there.
class DropOperands : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<OperandPlace> places = Places(edit);
    for (size_t i = first + count; i-- > first;) {
      const auto [op, operand] = places[i];
      if (!op->info().is_registered()) {
        op->EraseOperand(operand);
        continue;
      }
      const auto group = static_cast<unsigned>(LooseGroup(*op, operand));
      const auto [start, size] = op->operand_group(group);
      std::vector<Value> values;
      for (unsigned k = start; k < start + size; ++k) {
        if (k != operand) values.push_back(op->operand(k));
      }
      SetOperandGroup(op, group, values);
    }
    return true;
  }

 private:
  static std::vector<OperandPlace> Places(const ProgramEdit& edit) {
    std::vector<OperandPlace> places;
    for (Operation* op : edit.ops()) {
      // ReturnFewer changes all returns of a function together.
      if (IsReturn(*op) || op->num_successors() > 0) continue;
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        if (!op->info().is_registered() || LooseGroup(*op, i) >= 0) places.push_back({op, i});
      }
    }
    return places;
  }
};

// Uses an argument of the function in place of what is computed, or comes later.
class UseArguments : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<OperandPlace> places = Places(edit);
    for (size_t i = first; i < first + count; ++i) {
      const auto [op, operand] = places[i];
      op->set_operand(operand, Argument(op, op->operand(operand)));
    }
    return true;
  }

 private:
  // The first argument of the type; null if `value` is that one, or there is none.
  static Value Argument(const Operation* op, Value value) {
    const Operation* around = op->parent_op();
    while (around != nullptr && !around->Has(Trait::kIsolatedFromAbove))
      around = around->parent_op();
    if (around == nullptr || around->num_regions() != 1) return Value();
    const Block& entry = around->region().front();
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      if (entry.argument(i) == value) return Value();
      if (entry.argument(i).type() == value.type()) return entry.argument(i);
    }
    return Value();
  }

  static std::vector<OperandPlace> Places(const ProgramEdit& edit) {
    std::vector<OperandPlace> places;
    for (Operation* op : edit.ops()) {
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        if (op->operand(i) && Argument(op, op->operand(i))) places.push_back({op, i});
      }
    }
    return places;
  }
};

// Drops arguments of functions that are not used.
class DropArguments : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const auto places = Places(edit);
    for (size_t i = first + count; i-- > first;) places[i].first->EraseArgument(places[i].second);
    return true;
  }

 private:
  static std::vector<std::pair<Block*, unsigned>> Places(const ProgramEdit& edit) {
    std::vector<std::pair<Block*, unsigned>> places;
    for (const Operation* function : edit.FreeFunctions()) {
      Block& entry = function->region().front();
      for (unsigned i = 0; i < entry.num_arguments(); ++i) {
        if (!entry.argument(i).has_uses()) places.emplace_back(&entry, i);
      }
    }
    return places;
  }
};

}  // namespace

void AddOperandSteps(Steps& steps) {
  steps.push_back(std::make_unique<DropOperands>());
  steps.push_back(std::make_unique<UseArguments>());
  steps.push_back(std::make_unique<DropArguments>());
}

}  // namespace tenon::reduce
