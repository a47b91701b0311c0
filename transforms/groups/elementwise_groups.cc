#include "transforms/groups/elementwise_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/builder.h"
#include "ir/core/clone.h"
#include "ir/dialect/core_ops.h"
#include "transforms/groups/contraction_order.h"

namespace tenon {
namespace {

// Limits of one group: what a kernel keeps in registers and in the first-level cache.
constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxInputs = 16;
constexpr size_t kMaxResults = 8;

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
  std::array<double, 3> params = {};
  return ReadStepParams(op, kind, params) && PointwiseResult(kind, {dtypes.data(), dtypes.size()},
                                                             params) == op.result().type().dtype();
}

using Steps = std::vector<Operation*>;

bool WithinLimits(const Steps& steps) {
  if (steps.size() > kMaxSteps) return false;
  absl::flat_hash_set<const Operation*> members(steps.begin(), steps.end());
  absl::flat_hash_set<const ValueImpl*> inputs;
  size_t results = 0;
  PointwiseConstant number;
  for (Operation* op : steps) {
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

// The steps that make a float of a byte by sums and products with numbers, from the cast on; empty
// if `op` is the end of no such chain.
Steps ChainFromBytes(Operation* op) {
  constexpr size_t kLongestChain = 3;  // as zero points and scales make it
  Steps chain;
  while (op != nullptr && op->name() != "ten.cast") {
    const bool is_affine =
        op->name() == "ten.add" || op->name() == "ten.sub" || op->name() == "ten.mul";
    PointwiseConstant number;
    if (!is_affine || !IsStep(*op) || chain.size() + 1 == kLongestChain ||
        !IsNumber(op->operand(1), op->result().type().rank(), number)) {
      return {};
    }
    chain.push_back(op);
    op = op->operand(0).defining_op();
  }
  if (op == nullptr || !IsStep(*op) || op->result().type().dtype() != DType::kF32) return {};
  const DType from = op->operand(0).type().dtype();
  if (from != DType::kI8 && from != DType::kU8) return {};
  chain.push_back(op);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// The groups of a block: nodes of an order of its operations that hold steps.
class Grouping {
 public:
  explicit Grouping(Block& block) : block_(block), order_(block) {}

  std::vector<ElementwiseGroup> Find() {
    for (Operation& op : block_) {
      if (!op.Has(Trait::kTerminator) && !EffectsOf(op).pure()) {
        // What has effects keeps its place: nothing moves across it.
        first_ = op.position_after_renumbering() + 1;
      } else if (IsConstant(op)) {
        constant_.insert(&op);
      } else if (IsStep(op)) {
        Join(&op);
      }
    }
    std::vector<ElementwiseGroup> kept;
    for (const size_t group : groups_) {
      if (order_.OpsOf(group).size() > 1) kept.push_back({order_.OpsOf(group)});
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

  // Into the group of an operand if that is allowed: the one whose tensor is read, first operand
  // first.
  void Join(Operation* op) {
    std::vector<size_t> candidates;
    for (const OpOperand& operand : op->operands()) {
      const Operation* producer = operand.get().defining_op();
      if (!grouped_.contains(producer)) continue;
      const size_t group = order_.NodeOf(producer);
      if (std::find(candidates.begin(), candidates.end(), group) == candidates.end() &&
          Fits(group, op)) {
        candidates.push_back(group);
      }
    }
    grouped_.insert(op);
    if (candidates.empty()) {
      groups_.push_back(order_.NodeOf(op));
      return;
    }
    const size_t into = candidates.front();
    order_.Contract(into, order_.NodeOf(op));
    // Groups that meet in the operation become one.
    for (size_t i = 1; i < candidates.size(); ++i) {
      if (CanJoin(into, order_.OpsOf(candidates[i]), candidates[i])) {
        order_.Contract(into, candidates[i]);
      }
    }
  }

  bool Fits(size_t group, Operation* op) {
    const Operation* front = order_.OpsOf(group).front();
    return front->position_after_renumbering() >= first_ &&
           SameShape(front->result().type(), op->result().type()) &&
           CanJoin(group, {op}, order_.NodeOf(op));
  }

  bool CanJoin(size_t group, const Steps& more, size_t node) {
    Steps together = order_.OpsOf(group);
    together.insert(together.end(), more.begin(), more.end());
    return WithinLimits(together) && order_.CanContract(group, node);
  }

  Block& block_;
  ContractionOrder order_;
  size_t first_ = 0;  // groups begin at this position or later
  absl::flat_hash_set<const Operation*> constant_, grouped_;
  std::vector<size_t> groups_;  // nodes of the order
};

using GroupOf = absl::flat_hash_map<const Operation*, ElementwiseGroup*>;

// Gives a group that reads the end of the chain a copy of it, if it can have as many steps.
bool ReadAgain(const Steps& chain, ElementwiseGroup& group) {
  const Value last = chain.back()->result();
  const auto at = std::find_if(group.steps.begin(), group.steps.end(), [&](const Operation* step) {
    return std::any_of(step->operands().begin(), step->operands().end(),
                       [&](const OpOperand& operand) { return operand.get() == last; });
  });
  Operation* reader = *at;
  IrMapping mapping;
  Steps copies;
  OpBuilder builder = OpBuilder::Before(reader);
  for (const Operation* op : chain) {
    copies.push_back(Clone(*op, mapping));
    builder.Insert(copies.back());
  }
  const Value copy = copies.back()->result();
  const auto exchange = [&](Value from, Value to) {
    for (Operation* step : group.steps) {
      for (OpOperand& operand : step->operands()) {
        if (operand.get() == from) operand.set(to);
      }
    }
  };
  exchange(last, copy);
  Steps together = group.steps;
  together.insert(together.begin() + (at - group.steps.begin()), copies.begin(), copies.end());
  if (!WithinLimits(together)) {
    exchange(copy, last);
    for (auto it = copies.rbegin(); it != copies.rend(); ++it) (*it)->Erase();
    return false;
  }
  group.steps = std::move(together);
  return true;
}

// Of the steps of the chain that the group has, those at its end without users.
void EraseUnused(const Steps& chain, ElementwiseGroup& group, GroupOf& group_of) {
  for (auto it = chain.rbegin(); it != chain.rend() && !(*it)->result().has_uses(); ++it) {
    const auto at = std::find(group.steps.begin(), group.steps.end(), *it);
    if (at == group.steps.end()) return;
    group.steps.erase(at);
    group_of.erase(*it);
    (*it)->Erase();
  }
}

}  // namespace

bool ReadStepParams(const Operation& op, PointwiseOp kind, std::array<double, 3>& params) {
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

bool IsNumber(Value value, int64_t rank, PointwiseConstant& number) {
  const auto constant = DefinedBy<core::ConstantOp>(value);
  if (!constant || value.type().rank() > rank || value.type().num_elements() != 1) return false;
  number.dtype = value.type().dtype();
  const bool real = number.dtype == DType::kF32;
  number.real = real ? constant.value().ElementAsDouble(0) : 0;
  number.integer = real ? 0 : constant.value().ElementAsInt(0);
  return true;
}

std::vector<ElementwiseGroup> FindElementwiseGroups(Block& block) { return Grouping(block).Find(); }

bool ReadBytesAgain(std::vector<ElementwiseGroup>& groups) {
  GroupOf group_of;
  for (ElementwiseGroup& group : groups) {
    for (Operation* op : group.steps) group_of[op] = &group;
  }
  bool changed = false;
  for (ElementwiseGroup& group : groups) {
    const Steps steps = group.steps;
    for (Operation* op : steps) {
      const Steps chain = ChainFromBytes(op);
      if (chain.empty()) continue;
      std::vector<ElementwiseGroup*> readers;
      for (const OpOperand& use : op->result().uses()) {
        const auto found = group_of.find(use.owner());
        if (found == group_of.end() || found->second == &group) continue;
        ElementwiseGroup* reader = found->second;
        if (std::find(readers.begin(), readers.end(), reader) == readers.end() &&
            SameShape(reader->steps.front()->result().type(), op->result().type())) {
          readers.push_back(reader);
        }
      }
      for (ElementwiseGroup* reader : readers) changed |= ReadAgain(chain, *reader);
      if (!readers.empty()) EraseUnused(chain, group, group_of);
    }
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const ElementwiseGroup& group) { return group.steps.size() < 2; }),
               groups.end());
  return changed;
}

}  // namespace tenon
