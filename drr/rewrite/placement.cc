#include "drr/rewrite/placement.h"

#include <algorithm>

#include "ir/core/block.h"

namespace tenon::drr {
namespace {

// The op of `block` in which `op` lies; null if it lies elsewhere.
Operation* AncestorIn(const Block* block, Operation* op) {
  while (op != nullptr && op->block() != block) op = op->parent_op();
  return op;
}

constexpr size_t kMostMoved = 64;  // operations that a rewrite moves to its place

}  // namespace

// The matched operations that the rewrite leaves: the result reads them, or others outside do.
std::vector<Operation*> Placement::Staying() const {
  std::vector<Operation*> staying;
  auto stays = [&](const Operation* op) {
    return !match_.IsMatched(op) || std::find(staying.begin(), staying.end(), op) != staying.end();
  };
  auto read = [&](Value value) {
    Operation* op = value ? value.defining_op() : nullptr;
    if (op != nullptr && !stays(op)) staying.push_back(op);
  };
  for (uint16_t n : rule_.creation_order) {
    for (const auto& group : rule_.nodes[n].operands) {
      for (const Edge& edge : group) {
        const Node& node = rule_.nodes[edge.node];
        if (node.kind == ValNode::Kind::kEach && !node.in_source) continue;  // its parts are read
        if (node.kind == ValNode::Kind::kEach) {
          for (Value value : match_.EachOf(edge.node)) read(value);
        } else if (node.in_source) {
          for (Value value : match_.ValuesOf(edge)) read(value);
        }
      }
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (Operation* op : match_.matched_ops()) {
      if (stays(op)) continue;
      bool is_read = false;
      for (unsigned i = 0; i < op->num_results() && !is_read; ++i) {
        const Value value = op->result(i);
        if (IsReplaced(value)) continue;
        for (OpOperand& use : value.uses()) is_read = is_read || stays(use.owner());
      }
      if (is_read) staying.push_back(op);
      progress = progress || is_read;
    }
  }
  return staying;
}

// New operations go before the first user of a replaced value that stays, at the latest before the
// last root.
std::string Placement::Find() {
  Block* block = nullptr;
  for (const Edge& root : rule_.roots) {
    if (!match_.ValueOf(root)) continue;
    Operation* op = match_.ValueOf(root).defining_op();
    if (block != nullptr && op->block() != block)
      return "the matched values lie in different blocks";
    block = op->block();
    if (before_ == nullptr || before_->IsBeforeInBlock(op)) before_ = op;
  }
  if (rule_.roots.size() > 1) {
    const std::vector<Operation*> staying = Staying();
    std::vector<Value> replaced;
    for (const Edge& root : rule_.roots) {
      const std::vector<Value> values = match_.ValuesOf(root);
      replaced.insert(replaced.end(), values.begin(), values.end());
    }
    for (const Value value : replaced) {
      for (OpOperand& use : value.uses()) {
        Operation* user = AncestorIn(block, use.owner());
        if (user == nullptr) continue;
        if (match_.IsMatched(user) &&
            std::find(staying.begin(), staying.end(), user) == staying.end()) {
          continue;
        }
        if (user->IsBeforeInBlock(before_)) before_ = user;
      }
    }
  }
  return "";
}

bool Placement::IsReplaced(Value value) const {
  return std::any_of(rule_.roots.begin(), rule_.roots.end(), [&](const Edge& root) {
    if (!root.rest) return match_.ValueOf(root) == value;
    const std::vector<Value> values = match_.ValuesOf(root);
    return std::find(values.begin(), values.end(), value) != values.end();
  });
}

// Is the value computed before the place of insertion, or can it be? What computes it then moves
// there with the result: pure operations that need nothing of what is replaced. `depth`: the
// operations that are on their way to `moved_`.
bool Placement::MakeAvailable(Value value, size_t depth) {
  Operation* op = value.defining_op();
  if (op == nullptr || op->block() != before_->block() || op->IsBeforeInBlock(before_) ||
      std::find(moved_.begin(), moved_.end(), op) != moved_.end()) {
    return true;
  }
  if (op == before_ || moved_.size() + depth >= kMostMoved) return false;
  if (!op->Has(Trait::kConstantLike) && (match_.IsMatched(op) || op->num_regions() > 0 ||
                                         !op->info().is_registered() || !EffectsOf(*op).pure())) {
    return false;
  }
  for (OpOperand& operand : op->operands()) {
    if (IsReplaced(operand.get()) || !MakeAvailable(operand.get(), depth + 1)) return false;
  }
  moved_.push_back(op);
  return true;
}

std::string Placement::Provide(Value value) {
  if (IsReplaced(value)) return "a value that the result needs is replaced";
  return MakeAvailable(value) ? "" : "a value that the result needs is computed too late";
}

}  // namespace tenon::drr
