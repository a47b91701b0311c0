#include "transforms/shapes/branch_facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/builder.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/shapes/dim_facts.h"

namespace tenon {
namespace {

// The blocks of a branch and of all regions in it, to tell what operands it captures. To ask each
// operand whether its definition lies in the branch takes time in the depth of nesting.
class InsideOfBranch {
 public:
  explicit InsideOfBranch(Region& branch) {
    Add(branch);
    for (Block& block : branch) {
      for (Operation& op : block) {
        op.Walk([this](Operation* inner) {
          for (unsigned r = 0; r < inner->num_regions(); ++r) Add(inner->region(r));
        });
      }
    }
  }

  bool Captures(const OpOperand& operand) const {
    return !blocks_.contains(operand.get().parent_block());
  }

 private:
  void Add(Region& region) {
    for (const Block& block : region) blocks_.insert(&block);
  }

  absl::flat_hash_set<const Block*> blocks_;
};

// Do the facts give one extent of `type`, a symbol, another name? Then a reshape, which counts
// elements, checks it; with two, another shape of as many elements would pass.
bool ChangesOneExtent(const DimFacts& facts, Type type) {
  if (!type.is_tensor()) return false;
  int changed = 0;
  for (DimExpr d : type.dims()) {
    if (facts.Resolve(d) != d) changed += d.kind() == DimExpr::Kind::kSymbol ? 1 : 2;
  }
  return changed == 1;
}

// Operations of the block, in its order, that stay when what only computes shapes is gone.
std::vector<Operation*> ReadersOfElements(Block& block, const ShapeData& data) {
  std::set<const Operation*> needed;
  std::vector<Operation*> found;
  for (Operation* op = block.back(); op != nullptr; op = op->prev()) {
    const bool stays = op == block.back() || !op->Has(Trait::kPure) || needed.count(op) > 0;
    if (!stays || Isa<ten::ShapeOp>(op)) continue;
    found.push_back(op);
    op->Walk([&](Operation* inner) {
      for (OpOperand& operand : inner->operands()) {
        if (data.FindKnown(operand.get()) == nullptr) needed.insert(operand.get().defining_op());
      }
    });
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

RefinedBranch RefineBranch(Region& branch, std::span<const std::string> kept,
                           const ShapeData& data) {
  DimFacts demanded, checked;
  for (const std::string& symbol : kept) demanded.Keep(symbol);
  for (Operation& op : branch.front()) demanded.Learn(op);
  // Most branches demand nothing. The walks below would make nested branches cost their depth each.
  if (demanded.empty()) return {};
  const InsideOfBranch inside(branch);
  for (Operation* op : ReadersOfElements(branch.front(), data)) {
    for (OpOperand& operand : op->operands()) {
      const Type type = operand.get().type();
      if (inside.Captures(operand) && ChangesOneExtent(demanded, type))
        checked.Define(type, demanded.Resolve(type));
    }
  }
  RefinedBranch result;
  if (checked.empty()) return result;
  std::vector<OpOperand*> captured;
  const auto visit = [&](Operation* op) {
    result.changed |= checked.Resolve(*op);
    for (OpOperand& operand : op->operands()) {
      if (inside.Captures(operand) && ChangesOneExtent(checked, operand.get().type()))
        captured.push_back(&operand);
    }
  };
  for (Operation& op : branch.front()) op.Walk(visit);
  std::map<ValueImpl*, Value> refined;
  for (OpOperand* operand : captured) {
    const Value value = operand->get();
    Value& made = refined[value.impl()];
    if (!made) {
      const Type type = checked.Resolve(value.type());
      OpBuilder builder = OpBuilder::Before(branch.front().front());
      const absl::StatusOr<ten::ReshapeOp> reshape =
          ten::ReshapeOp::Create(builder, operand->owner()->location(), value,
                                 {.shape = {type.dims().begin(), type.dims().end()}});
      if (!reshape.ok()) continue;
      made = reshape->out();
      ++result.captures;
    }
    operand->set(made);
  }
  result.changed |= !refined.empty();
  return result;
}

}  // namespace tenon
