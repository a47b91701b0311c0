// Operations, and what functions return.
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "frontends/debug/reduce/step.h"
#include "ir/core/builder.h"
#include "ir/core/rewrite/edit.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/func_ops.h"

namespace tenon::reduce {
namespace {

std::vector<Operation*> ComputingOps(const ProgramEdit& edit) {
  std::vector<Operation*> ops;
  for (Operation* op : edit.ops()) {
    if (Computes(*op)) ops.push_back(op);
  }
  return ops;
}

// Drops operations. Others stand for the results that are in use.
class DropOperations : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return ComputingOps(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<Operation*> ops = ComputingOps(edit);
    bool changed = false;
    // Users, and ops in regions, come behind: they are erased first.
    for (size_t i = first + count; i-- > first;) changed |= Drop(edit, ops[i]);
    return changed;
  }

 private:
  static bool Drop(ProgramEdit& edit, Operation* op) {
    for (unsigned r = 0; r < op->num_results(); ++r) {
      if (!op->result(r).has_uses()) continue;
      const Value value = edit.StandIn(op->result(r));
      if (!value) return false;
      op->result(r).ReplaceAllUsesWith(value);
    }
    edit.Erase(op);
    return true;
  }
};

// Gives the uses of a result to an operand.
class Bypass : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    const auto [op, i] = Places(edit)[first];
    const Value value = op->operand(i);
    op->result().ReplaceAllUsesWith(value);
    edit.Erase(op);
    return true;
  }
  bool in_groups() const override { return false; }

 private:
  static std::vector<std::pair<Operation*, unsigned>> Places(const ProgramEdit& edit) {
    std::vector<std::pair<Operation*, unsigned>> places;
    for (Operation* op : edit.ops()) {
      if (!Computes(*op) || op->num_results() != 1) continue;
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        if (op->operand(i).type() == op->result().type() && op->operand(i) != op->result())
          places.emplace_back(op, i);
      }
    }
    return places;
  }
};

std::vector<Operation*> Returns(const Operation& function) {
  std::vector<Operation*> returns;
  for (const Block& block : function.region()) {
    if (block.back() != nullptr && IsReturn(*block.back())) returns.push_back(block.back());
  }
  return returns;
}

// Returns fewer values.
class ReturnFewer : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const auto places = Places(edit);
    for (size_t i = first + count; i-- > first;) {
      for (Operation* op : Returns(*places[i].first)) {
        if (places[i].second < op->num_operands()) op->EraseOperand(places[i].second);
      }
    }
    return true;
  }

 private:
  static std::vector<std::pair<Operation*, unsigned>> Places(const ProgramEdit& edit) {
    std::vector<std::pair<Operation*, unsigned>> places;
    for (Operation* function : edit.FreeFunctions()) {
      const std::vector<Operation*> returns = Returns(*function);
      const unsigned values = returns.empty() ? 0 : returns.front()->num_operands();
      for (unsigned i = 0; i < values; ++i) places.emplace_back(function, i);
    }
    return places;
  }
};

// Returns the results of an op that comes earlier.
class ReturnEarlier : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    Operation* const op = Places(edit)[first];
    Operation* const old = op->block()->back();
    std::vector<Value> values;
    for (unsigned r = 0; r < op->num_results(); ++r) values.push_back(op->result(r));
    OpBuilder builder = OpBuilder::Before(old);
    if (!func::ReturnOp::Create(builder, old->location(), values).ok()) return false;
    edit.Erase(old);
    return true;
  }
  bool in_groups() const override { return false; }

 private:
  static std::vector<Operation*> Places(const ProgramEdit& edit) {
    std::vector<Operation*> places;
    for (const Operation* function : edit.FreeFunctions()) {
      const Region& body = function->region();
      if (body.front().next() != nullptr || body.front().empty()) continue;
      const Operation* const last = body.front().back();
      if (!IsReturn(*last)) continue;
      for (Operation& op : body.front()) {
        if (!Computes(op) || op.num_results() == 0 || op.Has(Trait::kConstantLike)) continue;
        // The op whose results are returned already is the last one that helps.
        if (last->num_operands() > 0 && last->operand(0).defining_op() == &op) break;
        places.push_back(&op);
      }
    }
    return places;
  }
};

}  // namespace

void AddOperationSteps(Steps& steps) {
  steps.push_back(std::make_unique<ReturnFewer>());
  steps.push_back(std::make_unique<DropOperations>());
  steps.push_back(std::make_unique<ReturnEarlier>());
  steps.push_back(std::make_unique<Bypass>());
}

}  // namespace tenon::reduce
