// dce: removes operations without uses that at most read, and blocks that control flow never
// reaches. An operation stays whose value alone has an extent that an attribute names.
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/defined_dims.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/dialect/calls_and_jumps.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class Dce : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    root_ = op;
    int64_t blocks = 0, ops = 0;
    for (unsigned r = 0; r < op->num_regions(); ++r) blocks += RemoveUnreachable(op->region(r));
    if (HasSeveralBlocks(*op)) ops += RemoveDead(*op);
    // What an operation names in its attributes may go with it, so one sweep may not be enough.
    for (int64_t before = -1; before != ops;) {
      before = ops;
      named_.reset();
      for (unsigned r = 0; r < op->num_regions(); ++r) ops += Sweep(op->region(r));
    }
    if (ops > 0) context.statistics->Add("ops-removed", ops);
    if (blocks > 0) context.statistics->Add("blocks-removed", blocks);
    return PassResult{ops > 0 || blocks > 0};
  }

 private:
  // True if `op` stays, whatever becomes of its results.
  static bool IsRoot(const Operation& op) {
    if (op.Has(Trait::kTerminator) || op.Has(Trait::kSymbol)) return true;
    if (op.num_regions() > 0 && !RunsItsRegions(op)) return true;
    const Effects effects = EffectsOf(op);
    return effects.writes || effects.random;
  }

  static void DropReferences(Operation& op) {
    for (OpOperand& operand : op.operands()) operand.set(Value());
    for (unsigned r = 0; r < op.num_regions(); ++r) op.region(r).DropAllReferences();
  }

  static bool HasSeveralBlocks(Operation& root) {
    bool several = false;
    root.WalkPreOrder([&](Operation* op) {
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        several |= !op->region(r).empty() && &op->region(r).front() != &op->region(r).back();
      }
      return !several;
    });
    return several;
  }

  // Removes what no root of `root` needs, in one pass however the blocks are ordered: in regions of
  // several blocks a value may be defined behind its uses, where a sweep from the end finds one
  // link of a chain at a time.
  int64_t RemoveDead(Operation& root) {
    absl::flat_hash_set<const Operation*> live;  // looked up, never iterated
    std::vector<const Operation*> work;
    auto mark = [&](const Operation* op) {
      if (op != nullptr && op != &root && live.insert(op).second) work.push_back(op);
    };
    auto propagate = [&] {
      while (!work.empty()) {
        const Operation* op = work.back();
        work.pop_back();
        for (unsigned i = 0; i < op->num_operands(); ++i) mark(op->operand(i).defining_op());
        mark(op->parent_op());
        for (unsigned r = 0; r < op->num_regions(); ++r) {
          for (const Block& block : op->region(r)) mark(block.back());
        }
      }
    };
    root.WalkPreOrder([&](Operation* op) {
      // The end of a block is needed where what it is in is.
      if (op->Has(Trait::kTerminator) ? op->parent_op() == &root : IsRoot(*op)) mark(op);
      return true;
    });
    propagate();
    root.WalkPreOrder([&](Operation* op) {
      if (op != &root && live.count(op) == 0 && IsNamed(*op)) mark(op);
      return true;
    });
    propagate();
    std::vector<Operation*> dead;
    root.WalkPreOrder([&](Operation* op) {
      const Operation* around = op->parent_op();
      if (op != &root && live.count(op) == 0 && (around == &root || live.count(around) != 0)) {
        dead.push_back(op);
      }
      return true;
    });
    // Their uses are all in dead operations, which may stand before them.
    for (Operation* op : dead) DropReferences(*op);
    for (Operation* op : dead) op->Erase();
    return static_cast<int64_t>(dead.size());
  }

  int64_t Sweep(Region& region) {
    std::vector<Block*> blocks;
    for (Block& block : region) blocks.push_back(&block);
    int64_t removed = 0;
    for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {
      for (Operation *op = (*it)->back(), *previous; op != nullptr; op = previous) {
        previous = op->prev();
        for (unsigned r = 0; r < op->num_regions(); ++r) removed += Sweep(op->region(r));
        if (op->has_uses() || IsRoot(*op) || IsNamed(*op)) continue;
        op->Erase();
        ++removed;
      }
    }
    return removed;
  }

  // True if an attribute names an extent that a result of `op` alone has.
  bool IsNamed(const Operation& op) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      for (const std::string_view symbol : DefinedDims(op.result(i))) {
        if (!named_) named_ = SymbolsInAttributes(*root_);
        if (named_->contains(symbol)) return true;
      }
    }
    return false;
  }

  static int64_t RemoveUnreachable(Region& region) {
    int64_t removed = RemoveUnreachableBlocks(region);
    for (Block& block : region) {
      for (Operation& op : block) {
        for (unsigned r = 0; r < op.num_regions(); ++r) removed += RemoveUnreachable(op.region(r));
      }
    }
    return removed;
  }

  Operation* root_ = nullptr;
  // The symbols in attributes, as far as a sweep has needed them.
  std::optional<absl::flat_hash_set<std::string_view>> named_;
};

}  // namespace

PassInfo DcePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"blocks-removed", "blocks that are never reached"},
                     {"ops-removed", "operations without use"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Dce>(); };
  return info;
}

}  // namespace tenon
