// Jumps, blocks, and ops that run their regions.
#include <utility>

#include "frontends/debug/reduce/step.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/rewrite/edit.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon::reduce {
namespace {

// Takes one way of a jump that has several.
class TakeOneWay : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    const auto [jump, way] = Places(edit)[first];
    Block* const block = jump->block();
    const std::vector<Value> values = SuccessorOperands(*jump, way).vec();
    Block* const next = jump->successor(way);
    const Location location = jump->location();
    edit.Erase(jump);
    JumpTo(block, next, values, location);
    edit.EraseUnreachable(*block->parent());
    return true;
  }
  bool in_groups() const override { return false; }

 private:
  static std::vector<std::pair<Operation*, unsigned>> Places(const ProgramEdit& edit) {
    std::vector<std::pair<Operation*, unsigned>> places;
    for (Operation* op : edit.ops()) {
      for (unsigned i = 0; IsJump(*op) && op->num_successors() > 1 && i < op->num_successors(); ++i)
        places.emplace_back(op, i);
    }
    return places;
  }
};

// Appends a block to the only one that jumps to it.
class JoinBlocks : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    Operation* const jump = Places(edit)[first];
    Block* const block = jump->block();
    Block* const next = jump->successor(0);
    const std::vector<Value> values = SuccessorOperands(*jump, 0).vec();
    edit.Erase(jump);
    MergeBlocks(next, block, values);
    return true;
  }
  bool in_groups() const override { return false; }

 private:
  static std::vector<Operation*> Places(const ProgramEdit& edit) {
    std::vector<Operation*> places;
    for (Operation* op : edit.ops()) {
      if (!IsJump(*op) || op->num_successors() != 1) continue;
      const Block* const next = op->successor(0);
      if (next != op->block() && next->prev() != nullptr &&
          next->first_predecessor()->next_use() == nullptr) {
        places.push_back(op);
      }
    }
    return places;
  }
};

// Puts the body of a region in the place of its op.
class InlineRegions : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    const auto [op, r] = Places(edit)[first];
    Block& body = op->region(r).front();
    Operation* const last = EndsBlock(*body.back()) ? body.back() : nullptr;
    for (unsigned i = 0; i < body.num_arguments(); ++i) {
      if (!body.argument(i).has_uses()) continue;
      Value value = PassedTo(*op, r, i);
      if (!value) value = edit.StandIn(body.argument(i));
      if (!value || value == body.argument(i)) return false;
      body.argument(i).ReplaceAllUsesWith(value);
    }
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (!op->result(i).has_uses()) continue;
      Value value;
      if (last != nullptr && last->num_operands() >= op->num_results()) {
        // A loop may pass more than it returns: a condition comes first.
        value = last->operand(last->num_operands() - op->num_results() + i);
      }
      if (!value || value.type() != op->result(i).type()) value = edit.StandIn(op->result(i));
      if (!value) return false;
      op->result(i).ReplaceAllUsesWith(value);
    }
    if (last != nullptr) edit.Erase(last);
    if (!body.empty()) SpliceOps(body.front(), nullptr, op->block(), op);
    edit.Erase(op);
    return true;
  }
  bool in_groups() const override { return false; }

 private:
  static Value PassedTo(const Operation& op, unsigned region, unsigned argument) {
    const auto* const control = op.info().Find<RegionBranchInterface>();
    if (control == nullptr) return Value();
    for (const RegionEdge& edge : control->EdgesFrom(op, RegionEdge::kParent)) {
      if (edge.to == static_cast<int>(region) && argument >= edge.first &&
          argument - edge.first < edge.values.size()) {
        return edge.values[argument - edge.first];
      }
    }
    return Value();
  }

  static std::vector<std::pair<Operation*, unsigned>> Places(const ProgramEdit& edit) {
    std::vector<std::pair<Operation*, unsigned>> places;
    for (Operation* op : edit.ops()) {
      if (!Computes(*op) || op->Has(Trait::kIsolatedFromAbove)) continue;
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        const Region& region = op->region(r);
        if (!region.empty() && region.front().next() == nullptr && !region.front().empty())
          places.emplace_back(op, r);
      }
    }
    return places;
  }
};

}  // namespace

void AddControlSteps(Steps& steps) {
  steps.push_back(std::make_unique<TakeOneWay>());
  steps.push_back(std::make_unique<JoinBlocks>());
  steps.push_back(std::make_unique<InlineRegions>());
}

}  // namespace tenon::reduce
