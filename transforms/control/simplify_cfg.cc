// simplify-cfg: fewer blocks and fewer block arguments. Jumps whose condition is known lose it,
// blocks that only pass values on are skipped, a block is joined with its only predecessor, and
// arguments go that nothing reads or that always get one value.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/verify/dominance.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/cf_ops.h"
#include "ir/dialect/core_ops.h"
#include "pass/analysis_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

std::vector<Value> Passed(const Operation& jump, unsigned successor) {
  const auto [first, count] = jump.successor_operands(successor);
  std::vector<Value> values;
  for (unsigned i = 0; i < count; ++i) values.push_back(jump.operand(first + i));
  return values;
}

// Do all terminators that lead to `block` belong to cf?
bool HasKnownPredecessors(const Block& block) {
  for (const BlockOperand* at = block.first_predecessor(); at != nullptr; at = at->next_use()) {
    if (!IsJump(*at->owner())) return false;
  }
  return true;
}

class CfgSimplifier {
 public:
  CfgSimplifier(Operation* top, Region& region, PassContext& context)
      : top_(top), region_(region), context_(context) {}

  bool Run() {
    bool changed = false;
    for (bool again = true; again; changed |= again) {
      again = false;
      if (const int removed = RemoveUnreachableBlocks(region_); removed > 0) {
        context_.statistics->Add("blocks-removed", removed);
        again = true;
      }
      for (Block& block : region_) again |= SimplifyJump(block);
      for (Block *block = &region_.front(), *next; block != nullptr; block = next) {
        next = block->next();
        again |= JoinWithPredecessor(block);
      }
      if (again) context_.analyses->Invalidate(top_);
      // No block changes from here on.
      DominanceInfo& dominance = context_.analyses->Get<DominanceInfo>(top_);
      for (Block& block : region_) again |= DropArguments(block, dominance);
    }
    return changed;
  }

 private:
  // A jump that can go to one block alone, or past blocks that only pass values on.
  bool SimplifyJump(Block& block) {
    Operation* const last = block.back();
    if (last == nullptr || !IsJump(*last)) return false;
    if (auto cond = DynCast<cf::CondBrOp>(last)) {
      std::optional<unsigned> taken;
      const core::ConstantOp constant = DefinedBy<core::ConstantOp>(cond.condition());
      if (constant && constant.value().type().num_elements() == 1) {
        if (const std::optional<int64_t> known = constant.value().ElementAsInt(0)) {
          taken = *known != 0 ? 0 : 1;
        }
      }
      if (cond.true_dest() == cond.false_dest() &&
          std::ranges::equal(cond.true_args(), cond.false_args()))
        taken = 0;
      if (taken) {
        JumpInstead(block, last->successor(*taken), Passed(*last, *taken));
        context_.statistics->Add("conditions-known");
        return true;
      }
    }
    bool changed = false;
    for (unsigned s = 0; s < block.back()->num_successors(); ++s) changed |= SkipPassing(block, s);
    return changed;
  }

  static void JumpInstead(Block& block, Block* to, std::vector<Value> values) {
    Operation* const last = block.back();
    const Location location = last->location();
    last->Erase();
    JumpTo(&block, to, values, location);
  }

  // Successor `s` has nothing but a jump to another block.
  bool SkipPassing(Block& block, unsigned s) {
    Operation* const jump = block.back();
    Block* const passing = jump->successor(s);
    auto onward = DynCast<cf::BrOp>(passing->front());
    if (!onward || passing == &block || onward.dest() == passing || passing == &region_.front()) {
      return false;
    }
    // A chain is shortened from its end on; blocks that only jump in a circle stay.
    if (Isa<cf::BrOp>(onward.dest()->front())) return false;
    // Others may read its arguments where it dominates them.
    const std::vector<Value> given = Passed(*jump, s);
    for (unsigned i = 0; i < passing->num_arguments(); ++i) {
      for (OpOperand& use : passing->argument(i).uses()) {
        if (use.owner() != onward.op()) return false;
      }
    }
    std::vector<Value> values = onward.args();
    for (Value& value : values) {
      if (value.is_block_argument() && value.argument_owner() == passing) {
        value = given[value.argument_index()];
      }
    }
    Block* const to = onward.dest();
    if (Isa<cf::BrOp>(jump)) {
      JumpInstead(block, to, std::move(values));
    } else {
      auto cond = Cast<cf::CondBrOp>(jump);
      OpBuilder builder = OpBuilder::Before(jump);
      const absl::StatusOr<cf::CondBrOp> made = cf::CondBrOp::Create(
          builder, jump->location(), cond.condition(), s == 0 ? values : cond.true_args(),
          s == 1 ? values : cond.false_args(), s == 0 ? to : cond.true_dest(),
          s == 1 ? to : cond.false_dest());
      TENON_CHECK(made.ok());
      jump->Erase();
    }
    context_.statistics->Add("jumps-shortened");
    return true;
  }

  bool JoinWithPredecessor(Block* block) {
    const BlockOperand* const only = block->first_predecessor();
    if (only == nullptr || only->next_use() != nullptr || !Isa<cf::BrOp>(only->owner())) {
      return false;
    }
    Operation* const jump = only->owner();
    Block* const before = jump->block();
    if (before == block || before->back() != jump) return false;
    for (unsigned i = 0; i < block->num_arguments(); ++i) {
      block->argument(i).ReplaceAllUsesWith(jump->operand(i));
    }
    jump->Erase();
    while (!block->empty()) {
      Operation* const op = block->front();
      op->RemoveFromBlock();
      before->Append(op);
    }
    region_.Remove(block);
    context_.statistics->Add("blocks-joined");
    return true;
  }

  // The value that every jump passes for an argument, the argument itself aside; null if several.
  Value OnlyValue(const Block& block, unsigned argument) {
    Value only;
    for (const BlockOperand* at = block.first_predecessor(); at != nullptr; at = at->next_use()) {
      const Operation* const jump = at->owner();
      for (unsigned s = 0; s < jump->num_successors(); ++s) {
        if (jump->successor(s) != &block) continue;
        const Value value = jump->operand(jump->successor_operands(s).first + argument);
        if (value == block.argument(argument) || value == only) continue;
        if (only) return Value();
        only = value;
      }
    }
    return only;
  }

  bool DropArguments(Block& block, DominanceInfo& dominance) {
    if (&block == &region_.front() || block.num_arguments() == 0 || !HasKnownPredecessors(block) ||
        block.first_predecessor() == nullptr || block.empty()) {
      return false;
    }
    bool changed = false;
    for (unsigned i = block.num_arguments(); i-- > 0;) {
      Value argument = block.argument(i);
      if (HasExtentsOfItsOwn(argument.type())) continue;
      if (argument.has_uses() && !IsPassedToItself(block, i)) {
        const Value only = OnlyValue(block, i);
        if (!only || only.type() != argument.type() ||
            !dominance.ValueDominates(only, block.front())) {
          continue;
        }
        argument.ReplaceAllUsesWith(only);
      }
      RemoveArgument(block, i);
      context_.statistics->Add("arguments-removed");
      changed = true;
    }
    return changed;
  }

  // Has the type a named extent that no argument of the function has? A block that names it in an
  // attribute may know it from this argument alone.
  bool HasExtentsOfItsOwn(Type type) const {
    if (!type.is_tensor()) return false;
    std::vector<std::string_view> symbols;
    for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
    const Block& entry = region_.front();
    for (unsigned i = 0; i < entry.num_arguments() && !symbols.empty(); ++i) {
      const Type given = entry.argument(i).type();
      if (!given.is_tensor()) continue;
      for (DimExpr d : given.dims()) {
        if (d.kind() == DimExpr::Kind::kSymbol) std::erase(symbols, d.symbol());
      }
    }
    return !symbols.empty();
  }

  // Do only jumps back to the block read the argument, to pass it to itself?
  static bool IsPassedToItself(const Block& block, unsigned argument) {
    for (OpOperand& use : block.argument(argument).uses()) {
      const Operation* const jump = use.owner();
      bool itself = false;
      for (unsigned s = 0; s < jump->num_successors() && IsJump(*jump); ++s) {
        itself |= jump->successor(s) == &block &&
                  use.index() == jump->successor_operands(s).first + argument;
      }
      if (!itself) return false;
    }
    return true;
  }

  static void RemoveArgument(Block& block, unsigned argument) {
    std::vector<Operation*> jumps;
    for (const BlockOperand* at = block.first_predecessor(); at != nullptr; at = at->next_use()) {
      bool known = false;
      for (const Operation* jump : jumps) known |= jump == at->owner();
      if (!known) jumps.push_back(at->owner());
    }
    for (Operation* jump : jumps) {
      OpBuilder builder = OpBuilder::Before(jump);
      std::vector<std::vector<Value>> values;
      for (unsigned s = 0; s < jump->num_successors(); ++s) {
        values.push_back(Passed(*jump, s));
        if (jump->successor(s) == &block) {
          values.back().erase(values.back().begin() + static_cast<std::ptrdiff_t>(argument));
        }
      }
      if (auto cond = DynCast<cf::CondBrOp>(jump)) {
        TENON_CHECK(cf::CondBrOp::Create(builder, jump->location(), cond.condition(), values[0],
                                         values[1], cond.true_dest(), cond.false_dest())
                        .ok());
      } else {
        TENON_CHECK(
            cf::BrOp::Create(builder, jump->location(), values[0], jump->successor(0)).ok());
      }
      jump->Erase();
    }
    block.EraseArgument(argument);
  }

  Operation* top_;  // that of the pass
  Region& region_;
  PassContext& context_;
};

class SimplifyCfg : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    bool changed = false;
    std::vector<Region*> regions;
    op->WalkPreOrder([&](Operation* inner) {
      for (unsigned r = 0; r < inner->num_regions(); ++r) {
        Region& region = inner->region(r);
        if (!region.empty() && region.front().next() != nullptr) regions.push_back(&region);
      }
      return true;
    });
    // From the inside out: blocks that are removed may hold regions.
    for (auto it = regions.rbegin(); it != regions.rend(); ++it) {
      changed |= CfgSimplifier(op, **it, context).Run();
    }
    // It was computed when the last block had changed.
    return PassResult{.changed = changed, .preserved = PreservedAnalyses::Of<DominanceInfo>()};
  }
};

}  // namespace

PassInfo SimplifyCfgPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"arguments-removed", "block arguments that are not needed"},
                     {"blocks-joined", "blocks joined with the one in front"},
                     {"blocks-removed", "blocks that are never reached"},
                     {"conditions-known", "branches whose condition is known"},
                     {"jumps-shortened", "jumps past blocks that only jump"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<SimplifyCfg>(); };
  return info;
}

}  // namespace tenon
