// dce: removes operations without uses that at most read, and blocks that control flow never
// reaches. An operation stays whose value alone has an extent that an attribute names.
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/ctl.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class Dce : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    root_ = op;
    int64_t blocks = 0, ops = 0;
    for (unsigned r = 0; r < op->num_regions(); ++r) blocks += RemoveUnreachable(op->region(r));
    // A value of one block may be used in an earlier one, so one sweep may not be enough.
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
  int64_t Sweep(Region& region) {
    std::vector<Block*> blocks;
    for (Block& block : region) blocks.push_back(&block);
    int64_t removed = 0;
    for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {
      for (Operation *op = (*it)->back(), *previous; op != nullptr; op = previous) {
        previous = op->prev();
        for (unsigned r = 0; r < op->num_regions(); ++r) removed += Sweep(op->region(r));
        if (op->has_uses() || op->Has(Trait::kTerminator) || op->Has(Trait::kSymbol)) continue;
        if (op->num_regions() > 0 && !IsStructuredControl(*op)) continue;
        const Effects effects = EffectsOf(*op);
        if (effects.writes || effects.random || IsNamed(*op)) continue;
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
    if (region.empty()) return 0;
    absl::flat_hash_set<Block*> reached = {&region.front()};
    std::vector<Block*> work = {&region.front()};
    while (!work.empty()) {
      Block* block = work.back();
      work.pop_back();
      Operation* last = block->back();
      for (unsigned i = 0; last != nullptr && i < last->num_successors(); ++i) {
        if (reached.insert(last->successor(i)).second) work.push_back(last->successor(i));
      }
    }
    std::vector<Block*> dead;
    int64_t removed = 0;
    for (Block& block : region) {
      if (reached.count(&block) == 0) {
        dead.push_back(&block);
        continue;
      }
      for (Operation& op : block) {
        for (unsigned r = 0; r < op.num_regions(); ++r) removed += RemoveUnreachable(op.region(r));
      }
    }
    // Dead blocks may use each other's values in any order.
    for (Block* block : dead) block->DropAllReferences();
    for (Block* block : dead) region.Remove(block);
    return removed + static_cast<int64_t>(dead.size());
  }

  Operation* root_ = nullptr;
  // The symbols in attributes, as far as a sweep has needed them.
  std::optional<absl::flat_hash_set<std::string_view>> named_;
};

}  // namespace

PassInfo DcePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Dce>(); };
  return info;
}

}  // namespace tenon
