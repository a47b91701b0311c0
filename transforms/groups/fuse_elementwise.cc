// fuse-elementwise: elementwise operations that read each other become one fused.group, which
// passes over memory once. Runs after the rules of fusion, which must see the single operations.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/base/pointwise.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/fused_ops.h"
#include "transforms/groups/elementwise_groups.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// The group as data: its inputs in the order of their first use, and its body.
struct Description {
  PointwiseBody body;
  std::vector<Value> inputs;
  std::vector<Value> results;
};

Description Describe(const ElementwiseGroup& group) {
  Description made;
  const int64_t rank = group.steps.front()->result().type().rank();
  absl::flat_hash_set<const Operation*> members(group.steps.begin(), group.steps.end());
  PointwiseConstant number;
  // Inputs and constants get their numbers first.
  for (Operation* op : group.steps) {
    for (const OpOperand& operand : op->operands()) {
      const Value value = operand.get();
      if (members.contains(value.defining_op())) continue;
      if (IsNumber(value, rank, number)) {
        auto& constants = made.body.constants;
        if (std::find(constants.begin(), constants.end(), number) == constants.end()) {
          constants.push_back(number);
        }
      } else if (std::find(made.inputs.begin(), made.inputs.end(), value) == made.inputs.end()) {
        made.inputs.push_back(value);
        made.body.inputs.push_back(value.type().dtype());
      }
    }
  }
  absl::flat_hash_map<const Operation*, int> value_of;
  for (Operation* op : group.steps) {
    PointwiseStep step;
    FindPointwiseOp(op->name(), step.op);
    ReadStepParams(*op, step.op, step.params);
    step.dtype = op->result().type().dtype();
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      const Value value = op->operand(i);
      const auto& constants = made.body.constants;
      if (const auto found = value_of.find(value.defining_op()); found != value_of.end()) {
        step.operands[i] = found->second;
      } else if (IsNumber(value, rank, number)) {
        step.operands[i] = made.body.first_constant() +
                           static_cast<int>(std::find(constants.begin(), constants.end(), number) -
                                            constants.begin());
      } else {
        step.operands[i] = static_cast<int>(
            std::find(made.inputs.begin(), made.inputs.end(), value) - made.inputs.begin());
      }
    }
    value_of[op] = made.body.num_values();
    made.body.steps.push_back(step);
    if (std::any_of(op->result().uses().begin(), op->result().uses().end(),
                    [&](const OpOperand& use) { return !members.contains(use.owner()); })) {
      made.body.results.push_back(value_of[op]);
      made.results.push_back(op->result());
    }
  }
  return made;
}

class FuseElementwise : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    PassResult result;
    std::vector<Block*> blocks;
    function->WalkPreOrder([&](Operation* op) {
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) blocks.push_back(&block);
      }
      return true;
    });
    for (Block* block : blocks) {
      std::vector<ElementwiseGroup> groups = FindElementwiseGroups(*block);
      bool made = ReadBytesAgain(groups);
      for (const ElementwiseGroup& group : groups) {
        TENON_ASSIGN_OR_RETURN(const bool replaced, Replace(group, context));
        made |= replaced;
      }
      if (made) Order(*block);
      result.changed |= made;
    }
    return result;
  }

 private:
  // Puts fused.group in the place of the last step. Operands of other steps may be defined later:
  // Order puts that right.
  static absl::StatusOr<bool> Replace(const ElementwiseGroup& group, PassContext& context) {
    const Description made = Describe(group);
    // A group of numbers alone is for constant-fold; one without users for dce.
    if (made.inputs.empty() || made.results.empty()) return false;
    std::vector<Location> parts;
    for (const Operation* op : group.steps) parts.push_back(op->location());
    Operation* last = group.steps.back();
    OpBuilder builder = OpBuilder::Before(last);
    TENON_ASSIGN_OR_RETURN(const fused::GroupOp fused,
                           fused::GroupOp::Create(builder, Location::Fused(last->context(), parts),
                                                  made.inputs, {.body = PointwiseText(made.body)}));
    bool fits = context.target == nullptr || context.target->WhyNoKernel(*fused.op()).empty();
    for (size_t i = 0; i < made.results.size(); ++i) {
      fits = fits && fused->result(i).type() == made.results[i].type();
    }
    if (!fits) {
      fused.op()->Erase();
      return false;
    }
    for (size_t i = 0; i < made.results.size(); ++i) {
      Value from = made.results[i];
      from.ReplaceAllUsesWith(fused->result(i));
    }
    for (auto it = group.steps.rbegin(); it != group.steps.rend(); ++it) (*it)->Erase();
    context.statistics->Add("groups");
    context.statistics->Add("ops-grouped", static_cast<int64_t>(group.steps.size()));
    return true;
  }

  // Moves operations that read what comes later behind it, and leaves all others where they are.
  static void Order(Block& block) {
    std::vector<Operation*> ops;
    for (Operation& op : block) ops.push_back(&op);
    absl::flat_hash_set<const Operation*> placed;
    std::vector<Operation*> order;
    // Depth first, with a stack of its own: programs may be long chains.
    std::vector<std::pair<Operation*, bool>> work;
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) work.emplace_back(*it, false);
    while (!work.empty()) {
      const auto [op, visited] = work.back();
      work.pop_back();
      if (placed.contains(op)) continue;
      if (visited) {
        placed.insert(op);
        order.push_back(op);
        continue;
      }
      work.emplace_back(op, true);
      const auto need = [&](Value value) {
        Operation* producer = value.defining_op();
        if (producer != nullptr && producer->block() == &block && !placed.contains(producer)) {
          work.emplace_back(producer, false);
        }
      };
      for (unsigned i = op->num_operands(); i-- > 0;) need(op->operand(i));
      if (op->num_regions() > 0) {
        for (const Value captured : CapturedValues(*op)) need(captured);
      }
    }
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i - 1]->next() != order[i]) order[i]->MoveAfter(order[i - 1]);
    }
  }
};

}  // namespace

PassInfo FuseElementwisePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<FuseElementwise>(); };
  return info;
}

}  // namespace tenon
