#include "ir/core/verify/dominance.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tenon {
namespace {

// The dominator tree of a region by Lengauer and Tarjan (with path compression only: O(m log n)).
// Blocks are numbered in depth-first preorder from the entry; unreachable ones have no number.
class RegionDominance {
 public:
  explicit RegionDominance(const Region& region) {
    if (region.empty()) return;
    Number(&region.front());
    ComputeTree();
    ComputeIntervals();
  }

  bool IsReachable(const Block* block) const { return numbers_.contains(block); }
  Block* ImmediateDominator(const Block* block) const {
    const auto at = numbers_.find(block);
    if (at == numbers_.end() || at->second == 0) return nullptr;
    return const_cast<Block*>(blocks_[idom_[at->second]]);
  }
  bool Dominates(const Block* a, const Block* b) const {
    auto at_b = numbers_.find(b);
    if (at_b == numbers_.end()) return true;
    auto at_a = numbers_.find(a);
    if (at_a == numbers_.end()) return false;
    uint32_t begin = begin_[at_a->second];
    uint32_t of_b = begin_[at_b->second];
    return begin <= of_b && of_b < begin + size_[at_a->second];
  }

 private:
  void Number(const Block* entry) {
    struct Frame {
      const Block* block;
      unsigned next = 0;
    };
    auto add = [&](const Block* block, uint32_t parent) {
      if (!numbers_.emplace(block, static_cast<uint32_t>(blocks_.size())).second) return false;
      blocks_.push_back(block);
      parent_.push_back(parent);
      return true;
    };
    add(entry, 0);
    std::vector<Frame> stack = {{entry}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Operation* last = frame.block->back();
      if (last == nullptr || frame.next == last->num_successors()) {
        stack.pop_back();
        continue;
      }
      const Block* successor = last->successor(frame.next++);
      if (successor == nullptr || successor->parent() != entry->parent()) continue;
      if (add(successor, numbers_[frame.block])) stack.push_back({successor});
    }
  }

  void ComputeTree() {
    auto n = static_cast<uint32_t>(blocks_.size());
    semi_.resize(n);
    label_.resize(n);
    ancestor_.assign(n, kNone);
    idom_.assign(n, 0);
    for (uint32_t i = 0; i < n; ++i) semi_[i] = label_[i] = i;
    std::vector<std::vector<uint32_t>> buckets(n);
    for (uint32_t w = n; w-- > 1;) {
      for (BlockOperand* use = blocks_[w]->first_predecessor(); use != nullptr;
           use = use->next_use()) {
        auto it = numbers_.find(use->owner()->block());
        if (it == numbers_.end()) continue;
        semi_[w] = std::min(semi_[w], semi_[Evaluate(it->second)]);
      }
      buckets[semi_[w]].push_back(w);
      ancestor_[w] = parent_[w];
      for (uint32_t v : std::exchange(buckets[parent_[w]], {})) {
        uint32_t u = Evaluate(v);
        idom_[v] = semi_[u] < semi_[v] ? u : parent_[w];
      }
    }
    for (uint32_t w = 1; w < n; ++w) {
      if (idom_[w] != semi_[w]) idom_[w] = idom_[idom_[w]];
    }
  }

  // The vertex of least semidominator on the linked path above v.
  uint32_t Evaluate(uint32_t v) {
    if (ancestor_[v] == kNone) return v;
    path_.clear();
    for (uint32_t u = v; ancestor_[ancestor_[u]] != kNone; u = ancestor_[u]) path_.push_back(u);
    while (!path_.empty()) {
      uint32_t u = path_.back();
      path_.pop_back();
      uint32_t above = ancestor_[u];
      if (semi_[label_[above]] < semi_[label_[u]]) label_[u] = label_[above];
      ancestor_[u] = ancestor_[above];
    }
    return label_[v];
  }

  // Subtrees as intervals, so that a query is two comparisons.
  void ComputeIntervals() {
    size_t n = blocks_.size();
    size_.assign(n, 1);
    begin_.assign(n, 0);
    for (size_t w = n; w-- > 1;) size_[idom_[w]] += size_[w];
    std::vector<uint32_t> next(n, 1);
    for (size_t w = 1; w < n; ++w) {
      uint32_t above = idom_[w];
      begin_[w] = next[above];
      next[above] += size_[w];
      next[w] = begin_[w] + 1;
    }
  }

  static constexpr uint32_t kNone = ~uint32_t{0};
  absl::flat_hash_map<const Block*, uint32_t> numbers_;
  std::vector<const Block*> blocks_;
  std::vector<uint32_t> parent_, semi_, label_, ancestor_, idom_, size_, begin_, path_;
};

}  // namespace

struct DominanceInfo::Impl {
  const RegionDominance& Get(const Region* region) {
    std::unique_ptr<RegionDominance>& entry = regions[region];
    if (!entry) entry = std::make_unique<RegionDominance>(*region);
    return *entry;
  }
  absl::flat_hash_map<const Region*, std::unique_ptr<RegionDominance>> regions;
};

DominanceInfo::DominanceInfo() : impl_(std::make_unique<Impl>()) {}
DominanceInfo::~DominanceInfo() = default;

bool DominanceInfo::IsReachable(Block* block) {
  return block->prev() == nullptr || impl_->Get(block->parent()).IsReachable(block);
}

Block* DominanceInfo::ImmediateDominator(Block* block) {
  return impl_->Get(block->parent()).ImmediateDominator(block);
}

bool DominanceInfo::BlockDominates(Block* a, Block* b) {
  return a == b || impl_->Get(a->parent()).Dominates(a, b);
}

bool DominanceInfo::ValueDominates(Value value, Operation* user) {
  Block* from = value.parent_block();
  if (from == nullptr || from->parent() == nullptr) return false;
  // The op that holds the use, seen from the region of the value.
  Operation* at = user;
  while (at != nullptr && at->parent_region() != from->parent()) at = at->parent_op();
  if (at == nullptr) return false;
  if (at->block() != from) return BlockDominates(from, at->block());
  Operation* op = value.defining_op();
  // An op's own regions do not see its results.
  return op == nullptr || (op != at && op->IsBeforeInBlock(at));
}

}  // namespace tenon
