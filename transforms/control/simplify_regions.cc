// simplify-regions: jumps to one of several equal blocks all go to the first.
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "ir/core/block.h"
#include "ir/dialect/calls_and_jumps.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

size_t HashOfBlock(const Block& block) {
  size_t hash = absl::HashOf(block.num_arguments());
  for (const Operation& op : block) {
    hash = absl::HashOf(hash, op.id(), op.num_operands(), op.num_results());
    // Values from outside of the block are the same ones in an equal block.
    for (const OpOperand& operand : op.operands()) {
      if (operand.get() && operand.get().parent_block() != &block)
        hash = absl::HashOf(hash, operand.get().impl());
    }
    for (unsigned i = 0; i < op.num_successors(); ++i) hash = absl::HashOf(hash, op.successor(i));
    for (Attribute slot : op.slots()) hash = absl::HashOf(hash, slot.storage());
  }
  return hash;
}

class BlockComparison {
 public:
  bool Equal(const Block& a, const Block& b) {
    if (a.num_arguments() != b.num_arguments()) return false;
    for (unsigned i = 0; i < a.num_arguments(); ++i) {
      if (!Pair(a.argument(i), b.argument(i))) return false;
    }
    const Operation *x = a.front(), *y = b.front();
    for (; x != nullptr && y != nullptr; x = x->next(), y = y->next()) {
      if (!Equal(*x, *y)) return false;
    }
    return x == nullptr && y == nullptr;
  }

 private:
  bool Pair(Value a, Value b) {
    image_[b.impl()] = a.impl();
    return a.type() == b.type();
  }

  bool Equal(const Operation& a, const Operation& b) {
    if (a.id() != b.id() || a.num_operands() != b.num_operands() ||
        a.num_results() != b.num_results() || a.num_slots() != b.num_slots() ||
        a.num_successors() != b.num_successors() || a.num_regions() > 0 || b.num_regions() > 0 ||
        a.discardable_attrs() != b.discardable_attrs()) {
      return false;
    }
    for (unsigned i = 0; i < a.num_operands(); ++i) {
      const auto image = image_.find(b.operand(i).impl());
      ValueImpl* const other = image == image_.end() ? b.operand(i).impl() : image->second;
      if (a.operand(i).impl() != other) return false;
    }
    for (unsigned i = 0; i < a.num_slots(); ++i) {
      if (a.slot(i) != b.slot(i)) return false;
    }
    for (unsigned i = 0; i < a.num_successors(); ++i) {
      if (a.successor(i) != b.successor(i)) return false;
    }
    for (unsigned i = 0; i < a.num_results(); ++i) {
      if (!Pair(a.result(i), b.result(i))) return false;
    }
    return true;
  }

  absl::flat_hash_map<ValueImpl*, ValueImpl*> image_;
};

// Do other blocks read what the block defines?
bool IsReadElsewhere(const Block& block) {
  const auto is_read = [&](Value value) {
    for (OpOperand& use : value.uses()) {
      if (use.owner()->block() != &block) return true;
    }
    return false;
  };
  for (unsigned i = 0; i < block.num_arguments(); ++i) {
    if (is_read(block.argument(i))) return true;
  }
  for (const Operation& op : block) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (is_read(op.result(i))) return true;
    }
  }
  return false;
}

class SimplifyRegions : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    int64_t merged = 0;
    op->Walk([&](Operation* inner) {
      for (unsigned r = 0; r < inner->num_regions(); ++r) {
        Region& region = inner->region(r);
        if (region.empty() || region.front().next() == nullptr) continue;
        merged += RemoveUnreachableBlocks(region);
        // Blocks in front of equal ones may be equal then.
        for (int64_t more = 1; more > 0; merged += more) more = Merge(region);
      }
    });
    if (merged > 0) context.statistics->Add("blocks-removed", merged);
    return PassResult{merged > 0};
  }

 private:
  static int64_t Merge(Region& region) {
    absl::flat_hash_map<size_t, std::vector<Block*>> seen;
    int64_t merged = 0;
    for (Block *block = region.front().next(), *next; block != nullptr; block = next) {
      next = block->next();
      if (IsReadElsewhere(*block)) continue;
      std::vector<Block*>& candidates = seen[HashOfBlock(*block)];
      Block* same = nullptr;
      for (Block* candidate : candidates) {
        if (same == nullptr && BlockComparison().Equal(*candidate, *block)) same = candidate;
      }
      if (same == nullptr) {
        candidates.push_back(block);
        continue;
      }
      while (block->first_predecessor() != nullptr) {
        Operation* const jump = block->first_predecessor()->owner();
        for (unsigned s = 0; s < jump->num_successors(); ++s) {
          if (jump->successor(s) == block) jump->set_successor(s, same);
        }
      }
      block->DropAllReferences();
      region.Remove(block);
      ++merged;
    }
    return merged;
  }
};

}  // namespace

PassInfo SimplifyRegionsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"blocks-removed", "blocks merged with an equal one"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<SimplifyRegions>(); };
  return info;
}

}  // namespace tenon
