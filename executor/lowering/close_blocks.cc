#include "executor/lowering/close_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon {
namespace {

// The block of `region` in which `op` lies, however deep.
Block* BlockAround(const Region& region, const Operation* op) {
  while (op->parent_region() != &region) op = op->parent_op();
  return op->block();
}

class BlockCloser {
 public:
  explicit BlockCloser(Region& region) : region_(region) {}

  bool Run() {
    bool changed = RemoveUnreachableBlocks(region_) > 0;
    for (Block& block : region_) number_.emplace(&block, number_.size());
    std::vector<Value> shared;
    for (Block& block : region_) {
      for (unsigned i = 0; i < block.num_arguments(); ++i) shared.push_back(block.argument(i));
      for (Operation *op = block.front(), *next; op != nullptr; op = next) {
        next = op->next();
        if (op->Has(Trait::kConstantLike)) {
          changed |= CopyToReaders(*op);
        } else {
          for (unsigned i = 0; i < op->num_results(); ++i) shared.push_back(op->result(i));
        }
      }
    }
    for (const Value value : shared) changed |= Share(value);
    PassAlong();
    return changed;
  }

 private:
  using Uses = std::vector<std::pair<OpOperand*, Block*>>;

  // The uses of `value` in other blocks than `home`.
  Uses UsesElsewhere(Value value, const Block* home) const {
    Uses uses;
    for (OpOperand& use : value.uses()) {
      Block* const block = BlockAround(region_, use.owner());
      if (block != home) uses.emplace_back(&use, block);
    }
    return uses;
  }

  bool CopyToReaders(Operation& constant) {
    const Uses uses = UsesElsewhere(constant.result(), constant.block());
    absl::flat_hash_map<Block*, Operation*> copies;
    for (const auto& [use, block] : uses) {
      Operation*& copy = copies[block];
      if (copy == nullptr) {
        copy = Clone(constant);
        block->Insert(copy, block->front());
      }
      use->set(copy->result());
    }
    if (!uses.empty() && !constant.has_uses()) constant.Erase();
    return !uses.empty();
  }

  // Gives every block that reads `value`, or lies on a path to one that does, an argument for it.
  bool Share(Value value) {
    Block* const home = value.parent_block();
    const Uses uses = UsesElsewhere(value, home);
    if (uses.empty()) return false;
    absl::flat_hash_map<Block*, Value> argument;
    std::vector<Block*> work;
    const auto need = [&](Block* block) {
      if (block == home || argument.contains(block)) return;
      argument[block] = block->AddArgument(value.type());
      work.push_back(block);
    };
    // In the order of the region, since use lists have another.
    std::vector<Block*> readers;
    for (const auto& use : uses) readers.push_back(use.second);
    std::sort(readers.begin(), readers.end(),
              [&](Block* a, Block* b) { return number_.at(a) < number_.at(b); });
    for (Block* const block : readers) need(block);
    for (size_t i = 0; i < work.size(); ++i) {
      for (const BlockOperand* at = work[i]->first_predecessor(); at != nullptr;
           at = at->next_use()) {
        need(at->owner()->block());
      }
    }
    for (const auto& [use, block] : uses) use->set(argument.at(block));
    for (Block* const block : work) {
      for (const BlockOperand* at = block->first_predecessor(); at != nullptr;
           at = at->next_use()) {
        Operation* const jump = at->owner();
        const auto own = argument.find(jump->block());
        const Value passed = own == argument.end() ? value : own->second;
        std::vector<std::vector<Value>>& more = passed_[jump];
        more.resize(jump->num_successors());
        AddFor(*jump, block, passed, more);
      }
    }
    return true;
  }

  // A jump that goes to `block` twice stands twice in its list of predecessors: it is served once.
  static void AddFor(const Operation& jump, const Block* block, Value passed,
                     std::vector<std::vector<Value>>& more) {
    for (unsigned s = 0; s < jump.num_successors(); ++s) {
      if (jump.successor(s) != block) continue;
      const size_t wanted = block->num_arguments() - jump.successor_operands(s).second;
      if (more[s].size() < wanted) more[s].push_back(passed);
    }
  }

  void PassAlong() {
    for (Block& block : region_) {
      const auto more = passed_.find(block.back());
      if (more != passed_.end()) AddJumpOperands(block.back(), more->second);
    }
  }

  Region& region_;
  absl::flat_hash_map<const Block*, size_t> number_;  // in the order of the region
  absl::flat_hash_map<Operation*, std::vector<std::vector<Value>>> passed_;
};

}  // namespace

bool CloseBlocks(Operation& func) { return BlockCloser(func.region()).Run(); }

}  // namespace tenon
