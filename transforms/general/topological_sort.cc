// topological-sort: in regions where operations may read what comes later, orders them so that none
// does, as far as they do not read each other in a circle. Keeps the order otherwise.
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class Sorter {
 public:
  explicit Sorter(Block& block) : block_(block) {}

  int64_t Run() {
    std::vector<Operation*> ops;
    for (Operation& op : block_) {
      position_.emplace(&op, ops.size());
      ops.push_back(&op);
    }
    readers_.resize(ops.size());
    waits_.resize(ops.size(), 0);
    for (size_t i = 0; i < ops.size(); ++i) {
      ops[i]->WalkPreOrder([&](Operation* inner) {
        for (OpOperand& operand : inner->operands()) Wait(i, operand.get());
        return true;
      });
    }
    return Place(ops);
  }

 private:
  void Wait(size_t reader, Value value) {
    if (!value || value.defining_op() == nullptr || value.parent_block() != &block_) return;
    const size_t maker = position_.at(value.defining_op());
    if (maker == reader) return;
    readers_[maker].push_back(reader);
    ++waits_[reader];
  }

  // Goes through the ops in order and puts each in place once nothing is missing. If only circles
  // are left, their first op takes its place.
  int64_t Place(const std::vector<Operation*>& ops) {
    std::vector<Operation*> order;
    std::vector<bool> placed(ops.size(), false);
    std::vector<size_t> ready;
    const auto place = [&](size_t i) {
      ready.push_back(i);
      placed[i] = true;
      while (!ready.empty()) {
        const size_t at = ready.back();
        ready.pop_back();
        order.push_back(ops[at]);
        for (auto it = readers_[at].rbegin(); it != readers_[at].rend(); ++it) {
          // Readers behind the current op come at their own turn.
          if (--waits_[*it] == 0 && !placed[*it] && *it < i) {
            placed[*it] = true;
            ready.push_back(*it);
          }
        }
      }
    };
    const bool has_terminator =
        !ops.empty() && (ops.back()->Has(Trait::kTerminator) || ops.back()->num_successors() > 0);
    const size_t sorted = ops.size() - (has_terminator ? 1 : 0);
    for (size_t i = 0; i < sorted; ++i) {
      if (!placed[i] && waits_[i] == 0) place(i);
    }
    for (size_t i = 0; i < sorted; ++i) {
      if (!placed[i]) place(i);
    }
    if (has_terminator) order.push_back(ops.back());
    int64_t moved = 0;
    for (size_t i = 0; i < order.size(); ++i) moved += order[i] != ops[i] ? 1 : 0;
    if (moved == 0) return 0;
    for (Operation* op : order) {
      op->RemoveFromBlock();
      block_.Append(op);
    }
    return moved;
  }

  Block& block_;
  absl::flat_hash_map<const Operation*, size_t> position_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<size_t> waits_;
};

class TopologicalSort : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    std::vector<Block*> blocks;
    op->WalkPreOrder([&](Operation* inner) {
      const bool free = !inner->info().is_registered() || inner->Has(Trait::kNoTerminator);
      for (unsigned r = 0; free && r < inner->num_regions(); ++r) {
        for (Block& block : inner->region(r)) blocks.push_back(&block);
      }
      return true;
    });
    int64_t moved = 0;
    for (Block* block : blocks) moved += Sorter(*block).Run();
    if (moved > 0) context.statistics->Add("ops-moved", moved);
    return PassResult{moved > 0};
  }
};

}  // namespace

PassInfo TopologicalSortPassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"ops-moved", "operations moved behind what they read"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<TopologicalSort>(); };
  return info;
}

}  // namespace tenon
