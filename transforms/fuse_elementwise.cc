// fuse-elementwise: elementwise operations that read each other become one fused.group, which
// passes over memory once. Runs after the rules of fusion, which must see the single operations.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/core/pointwise.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/fused_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// Limits of one group: what a kernel keeps in registers and in the first-level cache.
constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxInputs = 16;
constexpr size_t kMaxResults = 8;
// Operations looked at to prove that two of them may become one; beyond that they stay two.
constexpr size_t kMaxVisited = 4096;

// The parameters of a step from the op's attributes; false if one has no place in a body.
bool ReadParams(const Operation& op, PointwiseOp kind, std::array<double, 2>& params) {
  const PointwiseOpInfo& info = InfoOf(kind);
  for (size_t i = 0; i < params.size() && info.params[i] != nullptr; ++i) {
    const Attribute value = op.attr(info.params[i]);
    if (!value) return false;
    switch (value.kind()) {
      case Attribute::Kind::kFloat:
        params[i] = value.float_value();
        break;
      case Attribute::Kind::kString:
        if (!PointwiseWord(kind, value.str(), params[i])) return false;
        break;
      case Attribute::Kind::kType:
        params[i] = static_cast<double>(value.type().dtype());
        break;
      default:
        return false;
    }
  }
  return true;
}

bool HasShape(Type type) {
  return type.is_tensor() && std::none_of(type.dims().begin(), type.dims().end(),
                                          [](DimExpr d) { return d.is_unknown(); });
}

bool SameShape(Type a, Type b) {
  return a.rank() == b.rank() &&
         std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), DimExpr::ProvablyEqual);
}

// Can the operation be a step of a group? Its single result then has the group's shape.
bool IsStep(const Operation& op) {
  PointwiseOp kind;
  if (!op.info().is_registered() || op.num_results() != 1 || !HasShape(op.result().type()) ||
      !FindPointwiseOp(op.name(), kind)) {
    return false;
  }
  absl::InlinedVector<DType, 3> dtypes;
  for (const OpOperand& operand : op.operands()) {
    if (!HasShape(operand.get().type())) return false;
    dtypes.push_back(operand.get().type().dtype());
  }
  std::array<double, 2> params = {};
  return ReadParams(op, kind, params) && PointwiseResult(kind, {dtypes.data(), dtypes.size()},
                                                         params) == op.result().type().dtype();
}

// A constant of one element that becomes a number in the body. Its rank must not add axes.
bool IsNumber(Value value, int64_t rank, PointwiseConstant& number) {
  const auto constant = DefinedBy<core::ConstantOp>(value);
  if (!constant || value.type().rank() > rank || value.type().num_elements() != 1) return false;
  number.dtype = value.type().dtype();
  const bool real = number.dtype == DType::kF32;
  number.real = real ? constant.value().ElementAsDouble(0) : 0;
  number.integer = real ? 0 : constant.value().ElementAsInt(0);
  return true;
}

struct Group {
  std::vector<Operation*> steps;  // in the order of the block
};

// The groups of one stretch of a block without effects on memory.
class Grouping {
 public:
  explicit Grouping(Block& block) : block_(block) {
    size_t position = 0;
    for (Operation& op : block_) position_[&op] = position++;
  }

  std::vector<Group> Find() {
    for (Operation& op : block_) {
      if (!EffectsOf(op).pure() && !op.Has(Trait::kTerminator) && op.num_regions() == 0) {
        // What has effects keeps its place: nothing moves across it.
        first_ = position_.at(&op) + 1;
        continue;
      }
      if (IsConstant(op)) {
        constant_.insert(&op);
      } else if (IsStep(op)) {
        Join(&op);
      }
    }
    std::vector<Group> kept;
    for (Group& group : groups_) {
      if (group.steps.size() > 1) kept.push_back(std::move(group));
    }
    return kept;
  }

 private:
  // Computed from constants alone: lowering evaluates it once, a group would in every run.
  bool IsConstant(const Operation& op) const {
    if (op.Has(Trait::kConstantLike)) return true;
    return op.num_operands() > 0 && op.num_regions() == 0 && EffectsOf(op).pure() &&
           std::all_of(op.operands().begin(), op.operands().end(), [this](const OpOperand& o) {
             return constant_.contains(o.get().defining_op());
           });
  }

  // Into the group of an operand if that is allowed: the one whose tensor is read, largest first.
  void Join(Operation* op) {
    std::vector<int> candidates;
    for (const OpOperand& operand : op->operands()) {
      const auto found = group_of_.find(operand.get().defining_op());
      if (found == group_of_.end()) continue;
      const int group = found->second;
      if (std::find(candidates.begin(), candidates.end(), group) == candidates.end() &&
          Fits(groups_[group], op)) {
        candidates.push_back(group);
      }
    }
    if (candidates.empty()) {
      group_of_[op] = static_cast<int>(groups_.size());
      groups_.push_back({{op}});
      return;
    }
    const int into = candidates.front();
    group_of_[op] = into;
    groups_[into].steps.push_back(op);
    // Two groups that meet in the operation become one.
    for (size_t i = 1; i < candidates.size(); ++i) {
      if (CanMerge(into, candidates[i])) Merge(into, candidates[i]);
    }
  }

  bool Fits(const Group& group, Operation* op) {
    Group together = group;
    together.steps.push_back(op);
    return position_.at(group.steps.front()) >= first_ &&
           SameShape(group.steps.front()->result().type(), op->result().type()) &&
           WithinLimits(together) && !ReadsThroughOthers(together);
  }

  bool CanMerge(int a, int b) {
    Group together = groups_[a];
    together.steps.insert(together.steps.end(), groups_[b].steps.begin(), groups_[b].steps.end());
    return WithinLimits(together) && !ReadsThroughOthers(together);
  }

  void Merge(int into, int from) {
    std::vector<Operation*>& steps = groups_[into].steps;
    for (Operation* op : groups_[from].steps) group_of_[op] = into;
    steps.insert(steps.end(), groups_[from].steps.begin(), groups_[from].steps.end());
    std::sort(steps.begin(), steps.end(),
              [this](Operation* a, Operation* b) { return position_.at(a) < position_.at(b); });
    groups_[from].steps.clear();
  }

  static bool WithinLimits(const Group& group) {
    if (group.steps.size() > kMaxSteps) return false;
    absl::flat_hash_set<const Operation*> members(group.steps.begin(), group.steps.end());
    absl::flat_hash_set<const ValueImpl*> inputs;
    size_t results = 0;
    PointwiseConstant number;
    for (Operation* op : group.steps) {
      for (const OpOperand& operand : op->operands()) {
        const Value value = operand.get();
        if (members.contains(value.defining_op())) continue;
        if (!IsNumber(value, op->result().type().rank(), number)) inputs.insert(value.impl());
      }
      results += std::any_of(op->result().uses().begin(), op->result().uses().end(),
                             [&](const OpOperand& use) { return !members.contains(use.owner()); });
    }
    return inputs.size() <= kMaxInputs && results <= kMaxResults;
  }

  // Would the group, run at once, need a value that is computed from its own results? Groups so far
  // count as run at once too.
  bool ReadsThroughOthers(const Group& group) {
    absl::flat_hash_set<const Operation*> members(group.steps.begin(), group.steps.end());
    absl::flat_hash_set<const Operation*> seen;
    std::vector<Operation*> work;
    size_t first = std::numeric_limits<size_t>::max();
    for (const Operation* op : group.steps) first = std::min(first, position_.at(op));
    bool reached = false;
    const auto visit = [&](Value value) {
      Operation* op = value.defining_op();
      if (op == nullptr || op->block() != &block_) return;
      if (members.contains(op)) {
        reached = true;
      } else if (seen.insert(op).second) {
        work.push_back(op);
      }
    };
    for (Operation* op : group.steps) {
      for (const OpOperand& operand : op->operands()) {
        if (!members.contains(operand.get().defining_op())) visit(operand.get());
      }
    }
    while (!work.empty() && !reached) {
      if (seen.size() > kMaxVisited) return true;
      Operation* op = work.back();
      work.pop_back();
      const auto found = group_of_.find(op);
      if (found == group_of_.end()) {
        if (position_.at(op) < first) continue;  // comes before all of the group
        VisitReads(op, visit);
        continue;
      }
      for (Operation* member : groups_[found->second].steps) {
        seen.insert(member);
        VisitReads(member, visit);
      }
    }
    return reached;
  }

  template <typename Visit>
  static void VisitReads(Operation* op, Visit visit) {
    for (const OpOperand& operand : op->operands()) visit(operand.get());
    if (op->num_regions() == 0) return;
    for (const Value captured : CapturedValues(*op)) visit(captured);
  }

  Block& block_;
  size_t first_ = 0;  // groups begin at this position or later
  absl::flat_hash_map<const Operation*, size_t> position_;  // looked up, never iterated
  absl::flat_hash_map<const Operation*, int> group_of_;     // the same
  absl::flat_hash_set<const Operation*> constant_;
  std::vector<Group> groups_;
};

// The group as data: its inputs in the order of their first use, and its body.
struct Description {
  PointwiseBody body;
  std::vector<Value> inputs;
  std::vector<Value> results;
};

Description Describe(const Group& group) {
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
    ReadParams(*op, step.op, step.params);
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
      bool made = false;
      for (const Group& group : Grouping(*block).Find()) {
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
  static absl::StatusOr<bool> Replace(const Group& group, PassContext& context) {
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
