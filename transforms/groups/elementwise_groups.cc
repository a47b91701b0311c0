#include "transforms/groups/elementwise_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/core/builder.h"
#include "ir/core/clone.h"
#include "ir/dialect/core_ops.h"
#include "pass/reports/pass_log.h"
#include "transforms/groups/contraction_order.h"
#include "transforms/groups/row_ops.h"

namespace tenon {
namespace {

// Limits of one group: what a kernel keeps in registers and in the first-level cache.
constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxInputs = 16;
constexpr size_t kMaxResults = 8;

// Can the operation be a step of a group? Its single result then has the group's shape.
bool IsStep(const Operation& op) {
  PointwiseOp kind;
  if (!op.info().is_registered() || op.num_results() != 1 || !HasShape(op.result().type()) ||
      !FindPointwiseOp(op.name(), kind) || InfoOf(kind).rows != PointwiseOpInfo::Rows::kNone) {
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

bool IsReadOutside(Value value, const absl::flat_hash_set<const Operation*>& members) {
  return std::any_of(value.uses().begin(), value.uses().end(),
                     [&](const OpOperand& use) { return !members.contains(use.owner()); });
}

// What the steps need more of than a group has; empty if it has enough.
std::string OverLimits(const Steps& steps) {
  size_t num_steps = steps.size();
  absl::flat_hash_set<const Operation*> members(steps.begin(), steps.end());
  absl::flat_hash_set<const ValueImpl*> inputs;
  size_t results = 0;
  PointwiseConstant number;
  for (Operation* op : steps) {
    for (const OpOperand& operand : op->operands()) {
      const Value value = operand.get();
      if (members.contains(value.defining_op())) continue;
      if (!IsNumber(value, op->result(0).type().rank(), number)) inputs.insert(value.impl());
    }
    for (unsigned i = 0; i < op->num_results(); ++i)
      results += IsReadOutside(op->result(i), members);
    if (const auto row = ReadRowOp(*op)) num_steps += row->num_steps() - 1;
  }
  const auto over = [](size_t count, std::string_view what, size_t most) {
    return fmt::format("the group would have {} {}, at most {} are allowed", count, what, most);
  };
  if (num_steps > kMaxSteps) return over(num_steps, "steps", kMaxSteps);
  if (inputs.size() > kMaxInputs) return over(inputs.size(), "inputs", kMaxInputs);
  return results > kMaxResults ? over(results, "results", kMaxResults) : "";
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
  Grouping(Block& block, std::vector<GroupMiss>* misses)
      : block_(block), order_(block), misses_(misses) {}

  std::vector<ElementwiseGroup> Find(bool rows) {
    for (Operation& op : block_) {
      if (!op.Has(Trait::kTerminator) && !EffectsOf(op).pure()) {
        // What has effects keeps its place: nothing moves across it.
        first_ = op.position_after_renumbering() + 1;
        effects_.push_back(first_);
        effect_ = &op;
      } else if (IsConstant(op)) {
        constant_.insert(&op);
      } else if (IsStep(op)) {
        Join(&op);
      } else if (rows && ReadRowOp(op)) {
        row_ops_.insert(&op);
        groups_.push_back(order_.NodeOf(&op));
      } else if (misses_ != nullptr) {
        NoteNoStep(&op);
      }
    }
    std::vector<Steps> parts;
    for (const size_t group : groups_) {
      if (order_.OpsOf(group).size() > 1) parts.push_back(order_.OpsOf(group));
    }
    if (!row_ops_.empty()) JoinRows();
    if (misses_ != nullptr) {
      std::erase_if(*misses_, [&](const GroupMiss& miss) {
        return order_.NodeOf(miss.steps.front()) == order_.NodeOf(miss.reader);
      });
    }
    std::vector<ElementwiseGroup> kept;
    absl::flat_hash_map<size_t, size_t> kept_of;  // by node; looked up, never iterated
    for (const size_t group : groups_) {
      if (order_.OpsOf(group).size() <= 1) continue;
      kept_of[group] = kept.size();
      kept.push_back({order_.OpsOf(group)});
    }
    for (Steps& part : parts) {
      const size_t node = order_.NodeOf(part.front());
      if (HasRowOp(node)) kept[kept_of.at(node)].parts.push_back(std::move(part));
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
      if (std::find(candidates.begin(), candidates.end(), group) != candidates.end()) continue;
      if (Fits(group, op)) {
        candidates.push_back(group);
      } else if (misses_ != nullptr) {
        NoteApart(group, op);
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
      } else if (misses_ != nullptr) {
        NoteApart(candidates[i], op);
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
    return OverLimits(together).empty() && order_.CanContract(group, node);
  }

  // An operation that works per element and cannot be a step, although it reads some. One that
  // works on rows is none: what reads the group beside it says that it is in the way.
  void NoteNoStep(Operation* op) {
    PointwiseOp kind;
    const bool is_known = FindPointwiseOp(op->name(), kind);
    if (is_known ? InfoOf(kind).rows != PointwiseOpInfo::Rows::kNone
                 : !op->Has(Trait::kElementwise)) {
      return;
    }
    for (const OpOperand& operand : op->operands()) {
      const Operation* producer = operand.get().defining_op();
      if (!grouped_.contains(producer)) continue;
      misses_->push_back({order_.OpsOf(order_.NodeOf(producer)), op, op,
                          fmt::format("{} of {} cannot be a step of a group", OpAndNode(op),
                                      op->result(0).type().text())});
      return;
    }
  }

  // Says why `op`, which reads the group, is not in it.
  void NoteApart(size_t group, Operation* op) {
    const Steps& steps = order_.OpsOf(group);
    const auto note = [&](Operation* at, std::string reason) {
      misses_->push_back({steps, op, at, std::move(reason)});
    };
    Operation* const front = steps.front();
    if (front->position_after_renumbering() < first_) {
      return note(effect_, fmt::format("{} has effects and stands between the group and {}",
                                       OpAndNode(effect_), OpAndNode(op)));
    }
    if (!SameShape(front->result(0).type(), op->result().type())) {
      return note(op, fmt::format("{} computes {}, the group {}", OpAndNode(op),
                                  op->result().type().text(), front->result(0).type().text()));
    }
    Steps together = steps;
    const Steps& own = order_.OpsOf(order_.NodeOf(op));
    together.insert(together.end(), own.begin(), own.end());
    if (std::string over = OverLimits(together); !over.empty()) return note(op, std::move(over));
    Operation* const between = BetweenOf(group, op);
    note(between != nullptr ? between : op,
         between != nullptr
             ? fmt::format("{} reads the group and {} needs it: it would stand inside of the group",
                           OpAndNode(between), OpAndNode(op))
             : "one of them needs the other through operations that are no part of the group");
  }

  // An operation that reads the group, is no part of it, and that `op` depends on. Null if a short
  // search finds none.
  Operation* BetweenOf(size_t group, const Operation* op) const {
    constexpr size_t kMostLookedAt = 256;
    absl::flat_hash_set<const Operation*> seen;
    std::vector<const Operation*> work = {op};
    for (size_t i = 0; i < work.size() && i < kMostLookedAt; ++i) {
      for (const OpOperand& operand : work[i]->operands()) {
        Operation* const producer = operand.get().defining_op();
        if (producer == nullptr || producer->block() != &block_) continue;
        if (order_.NodeOf(producer) == group) {
          if (work[i] != op) return const_cast<Operation*>(work[i]);
        } else if (seen.insert(producer).second) {
          work.push_back(producer);
        }
      }
    }
    return nullptr;
  }

  bool HasRowOp(size_t node) const {
    const Steps& ops = order_.OpsOf(node);
    return std::any_of(ops.begin(), ops.end(),
                       [&](Operation* op) { return row_ops_.contains(op); });
  }

  // The type of the whole rows of a node.
  Type WholeOf(size_t node) const {
    const Steps& ops = order_.OpsOf(node);
    for (const Operation* op : ops) {
      if (row_ops_.contains(op)) return ReadRowOp(*op)->whole;
    }
    return ops.front()->result().type();
  }

  // Row ops join the groups that they read and that read them. So do groups that read one element
  // for each row.
  void JoinRows() {
    for (Operation& op : block_) {
      if (!grouped_.contains(&op) && !row_ops_.contains(&op)) continue;
      for (const OpOperand& operand : op.operands()) {
        const Operation* producer = operand.get().defining_op();
        if (!grouped_.contains(producer) && !row_ops_.contains(producer)) continue;
        const size_t into = order_.NodeOf(producer), node = order_.NodeOf(&op);
        if (into != node && FitRows(into, node) && CanJoin(into, order_.OpsOf(node), node)) {
          order_.Contract(into, node);
        }
      }
    }
  }

  bool FitRows(size_t from, size_t to) const {
    if (!HasRowOp(from) && !HasRowOp(to)) return false;
    if (SectionOf(from) != SectionOf(to)) return false;
    const Type whole = WholeOf(from), reader = WholeOf(to);
    if (SameShape(whole, reader)) return true;
    // One element for each row, of nothing else.
    return !HasRowOp(to) && IsColumnOf(reader, whole) && ReadsOnly(order_.OpsOf(to), from);
  }

  // True if the steps read only each other, numbers and values of a node.
  bool ReadsOnly(const Steps& steps, size_t node) const {
    const absl::flat_hash_set<const Operation*> members(steps.begin(), steps.end());
    PointwiseConstant number;
    for (const Operation* op : steps) {
      for (const OpOperand& operand : op->operands()) {
        const Value value = operand.get();
        const Operation* producer = value.defining_op();
        if (members.contains(producer)) continue;
        const bool known = grouped_.contains(producer) || row_ops_.contains(producer);
        if (!(known && order_.NodeOf(producer) == node) &&
            !IsNumber(value, op->result().type().rank(), number)) {
          return false;
        }
      }
    }
    return true;
  }

  // The number of operations with effects in front of a node.
  size_t SectionOf(size_t node) const {
    const size_t at = order_.OpsOf(node).front()->position_after_renumbering();
    return static_cast<size_t>(std::upper_bound(effects_.begin(), effects_.end(), at) -
                               effects_.begin());
  }

  Block& block_;
  ContractionOrder order_;
  size_t first_ = 0;             // groups begin at this position or later
  std::vector<size_t> effects_;  // the values of first_
  Operation* effect_ = nullptr;  // the last operation with effects
  std::vector<GroupMiss>* const misses_;
  absl::flat_hash_set<const Operation*> constant_, grouped_, row_ops_;
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
  if (!OverLimits(together).empty()) {
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

std::vector<ElementwiseGroup> FindElementwiseGroups(Block& block, bool rows,
                                                    std::vector<GroupMiss>* misses) {
  return Grouping(block, misses).Find(rows);
}

bool ReadBytesAgain(std::vector<ElementwiseGroup>& groups) {
  GroupOf group_of;
  for (ElementwiseGroup& group : groups) {
    if (!group.parts.empty()) continue;  // parts would have to change with the whole
    for (Operation* op : group.steps) group_of[op] = &group;
  }
  bool changed = false;
  for (ElementwiseGroup& group : groups) {
    if (!group.parts.empty()) continue;
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
