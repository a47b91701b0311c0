// fuse-elementwise: elementwise operations that read each other become one fused.group, which
// passes over memory once. So do reductions of large tensors with what they reduce and, with the
// option `rows`, all reductions, norms and softmax over rows with what is in front of them and
// behind. Runs after the rules of fusion, which must see the single operations.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/pointwise.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/fused_ops.h"
#include "pass/reports/pass_log.h"
#include "transforms/groups/elementwise_groups.h"
#include "transforms/groups/row_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// The group as data: its inputs in the order of their first use, and its body.
struct Description {
  PointwiseBody body;
  std::vector<Value> inputs;
  std::vector<Value> results;
};

// Makes the body of a group.
class Describer {
 public:
  explicit Describer(const std::vector<Operation*>& steps)
      : steps_(steps),
        members_(steps.begin(), steps.end()),
        rank_(steps.front()->result(0).type().rank()) {}

  Description Describe() {
    // Inputs and constants get their numbers first.
    for (const Operation* op : steps_) {
      for (const OpOperand& operand : op->operands()) Note(operand.get());
    }
    for (const Operation* op : steps_) {
      Add(*op);
      for (unsigned i = 0; i < op->num_results(); ++i) {
        const Value result = op->result(i);
        if (std::all_of(result.uses().begin(), result.uses().end(),
                        [&](const OpOperand& use) { return members_.contains(use.owner()); })) {
          continue;
        }
        made_.body.results.push_back(value_of_.at(result.impl()));
        made_.results.push_back(result);
      }
    }
    return std::move(made_);
  }

 private:
  void Note(Value value) {
    PointwiseConstant number;
    if (members_.contains(value.defining_op())) return;
    if (IsNumber(value, rank_, number)) {
      auto& constants = made_.body.constants;
      if (std::find(constants.begin(), constants.end(), number) == constants.end())
        constants.push_back(number);
    } else if (std::find(made_.inputs.begin(), made_.inputs.end(), value) == made_.inputs.end()) {
      made_.inputs.push_back(value);
      made_.body.inputs.push_back(value.type().dtype());
    }
  }

  int NumberOf(Value value) const {
    const auto& constants = made_.body.constants;
    PointwiseConstant number;
    if (const auto found = value_of_.find(value.impl()); found != value_of_.end())
      return found->second;
    if (IsNumber(value, rank_, number)) {
      return made_.body.first_constant() +
             static_cast<int>(std::find(constants.begin(), constants.end(), number) -
                              constants.begin());
    }
    return static_cast<int>(std::find(made_.inputs.begin(), made_.inputs.end(), value) -
                            made_.inputs.begin());
  }

  int AddStep(const PointwiseStep& step) {
    made_.body.steps.push_back(step);
    return made_.body.num_values() - 1;
  }

  void Add(const Operation& op) {
    if (const auto row = ReadRowOp(op)) return AddRow(op, *row);
    PointwiseStep step;
    FindPointwiseOp(op.name(), step.op);
    ReadStepParams(op, step.op, step.params);
    step.dtype = op.result().type().dtype();
    for (unsigned i = 0; i < op.num_operands(); ++i) step.operands[i] = NumberOf(op.operand(i));
    value_of_[op.result().impl()] = AddStep(step);
  }

  void AddRow(const Operation& op, const RowOp& row) {
    const auto binary = [&](PointwiseOp kind, int a, Value b) {
      return AddStep({.op = kind, .dtype = DType::kF32, .operands = {a, NumberOf(b), -1}});
    };
    int value = NumberOf(row.x);
    if (row.offset) value = binary(PointwiseOp::kAdd, value, row.offset);
    if (row.skip) {
      value = binary(PointwiseOp::kAdd, value, row.skip);
      value_of_[op.result(1).impl()] = value;
    }
    value = AddStep(
        {.op = row.kind, .dtype = DType::kF32, .operands = {value, -1, -1}, .params = row.params});
    if (row.scale) value = binary(PointwiseOp::kMul, value, row.scale);
    if (row.bias) value = binary(PointwiseOp::kAdd, value, row.bias);
    value_of_[op.result(0).impl()] = value;
  }

  const std::vector<Operation*>& steps_;
  const absl::flat_hash_set<const Operation*> members_;
  const int64_t rank_;
  Description made_;
  absl::flat_hash_map<const ValueImpl*, int> value_of_;  // looked up, never iterated
};

// Elements that do not fit into the caches of one core.
constexpr int64_t kLargeElements = int64_t{1} << 21;

// True for a reduction over the last axis of a large tensor.
bool ReducesLarge(const Operation& op) {
  const auto row = ReadRowOp(op);
  return row && InfoOf(row->kind).rows == PointwiseOpInfo::Rows::kReduces &&
         std::all_of(row->whole.dims().begin(), row->whole.dims().end(),
                     [](DimExpr d) { return d.is_constant(); }) &&
         row->whole.num_elements() >= kLargeElements;
}

// True if the group ends in reductions of what it computes of large tensors: it saves to write such
// a tensor and to read it again. Other groups with row ops are as fast as their parts, or slower
// (tests/bench/row_groups.py).
bool PaysWithRows(const ElementwiseGroup& group) {
  const absl::flat_hash_set<const Operation*> members(group.steps.begin(), group.steps.end());
  const auto leaves = [&](Value value) {
    return std::any_of(value.uses().begin(), value.uses().end(),
                       [&](const OpOperand& use) { return !members.contains(use.owner()); });
  };
  bool reduces_step = false;
  for (const Operation* op : group.steps) {
    const auto row = ReadRowOp(*op);
    if (row && !ReducesLarge(*op)) return false;
    reduces_step |= row && members.contains(row->x.defining_op());
    for (unsigned i = 0; i < op->num_results(); ++i) {
      const Value result = op->result(i);
      const bool column =
          !result.type().dims().empty() && result.type().dims().back().is_constant(1);
      if (!column && leaves(result)) return false;
    }
  }
  return reduces_step;
}

class FuseElementwise : public Pass {
 public:
  explicit FuseElementwise(bool rows) : rows_(rows) {}

  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    PassResult result;
    PassLog log(context, "fuse-elementwise", function);
    log_ = &log;
    std::vector<Block*> blocks;
    function->WalkPreOrder([&](Operation* op) {
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) blocks.push_back(&block);
      }
      return true;
    });
    for (Block* block : blocks) {
      if (!rows_) {
        TENON_ASSIGN_OR_RETURN(const bool large, ReplaceLarge(*block, context));
        result.changed |= large;
      }
      std::vector<GroupMiss> misses;
      std::vector<ElementwiseGroup> groups =
          FindElementwiseGroups(*block, rows_, log.wanted() ? &misses : nullptr);
      for (GroupMiss& miss : misses) log.Miss(miss.steps, miss.at, std::move(miss.reason));
      bool made = ReadBytesAgain(groups);
      for (const ElementwiseGroup& group : groups) {
        TENON_ASSIGN_OR_RETURN(const bool replaced, Replace(group.steps, context));
        made |= replaced;
        if (replaced) continue;
        // A target may have kernels for the elementwise parts alone.
        for (const std::vector<Operation*>& part : group.parts) {
          TENON_ASSIGN_OR_RETURN(const bool part_replaced, Replace(part, context));
          made |= part_replaced;
        }
      }
      if (made) Order(*block);
      result.changed |= made;
    }
    return result;
  }

 private:
  // Replaces the groups with row ops that pay, before groups without them take their steps.
  absl::StatusOr<bool> ReplaceLarge(Block& block, PassContext& context) {
    if (std::none_of(block.begin(), block.end(), ReducesLarge)) return false;
    bool made = false;
    for (const ElementwiseGroup& group : FindElementwiseGroups(block, true)) {
      if (!PaysWithRows(group)) continue;
      TENON_ASSIGN_OR_RETURN(const bool replaced, Replace(group.steps, context));
      made |= replaced;
    }
    if (made) Order(block);
    return made;
  }

  // Puts fused.group in the place of the last step. Operands of other steps may be defined later:
  // Order puts that right.
  absl::StatusOr<bool> Replace(const std::vector<Operation*>& steps, PassContext& context) {
    const Description made = Describer(steps).Describe();
    // A group of numbers alone is for constant-fold; one without users for dce.
    if (made.inputs.empty() || made.results.empty()) return false;
    std::vector<Location> parts;
    for (const Operation* op : steps) parts.push_back(op->location());
    Operation* last = steps.back();
    OpBuilder builder = OpBuilder::Before(last);
    TENON_ASSIGN_OR_RETURN(const fused::GroupOp fused,
                           fused::GroupOp::Create(builder, Location::Fused(last->context(), parts),
                                                  made.inputs, {.body = PointwiseText(made.body)}));
    std::string why =
        context.target == nullptr ? std::string() : context.target->WhyNoKernel(*fused.op());
    for (size_t i = 0; i < made.results.size() && why.empty(); ++i) {
      if (fused->result(i).type() != made.results[i].type()) {
        why = fmt::format("the group would compute {} instead of {}",
                          fused->result(i).type().text(), made.results[i].type().text());
      }
    }
    if (!why.empty()) {
      fused.op()->Erase();
      log_->Miss(steps, last, std::move(why));
      return false;
    }
    log_->Hit(steps, fused.op());
    for (size_t i = 0; i < made.results.size(); ++i) {
      Value from = made.results[i];
      from.ReplaceAllUsesWith(fused->result(i));
    }
    for (auto it = steps.rbegin(); it != steps.rend(); ++it) (*it)->Erase();
    context.statistics->Add("groups");
    context.statistics->Add("ops-grouped", static_cast<int64_t>(steps.size()));
    if (made.body.has_row_ops()) context.statistics->Add("groups-with-rows");
    return true;
  }

  // Moves operations that read what comes later behind it, and leaves all others where they are.
  static void Order(Block& block) {
    std::vector<Operation*> ops;
    for (Operation& op : block) ops.push_back(&op);
    const CapturesByOp captures = CapturedInBlock(block);  // looked up, never iterated
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
      if (const auto of_op = captures.find(op); of_op != captures.end()) {
        for (const Value captured : of_op->second) need(captured);
      }
    }
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i - 1]->next() != order[i]) order[i]->MoveAfter(order[i - 1]);
    }
  }

  const bool rows_;
  PassLog* log_ = nullptr;  // of the run
};

}  // namespace

PassInfo FuseElementwisePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.explains = true;
  info.statistics = {{"groups", "groups that were made"},
                     {"groups-with-rows", "groups that reduce rows"},
                     {"ops-grouped", "operations in groups"}};
  info.options = {{"rows", PassOption::Type::kBool, "false",
                   "all reductions, norms and softmax over the last axis join groups"}};
  info.create = [](const PassOptionValues& options) {
    return std::make_unique<FuseElementwise>(options.GetBool("rows"));
  };
  return info;
}

}  // namespace tenon
