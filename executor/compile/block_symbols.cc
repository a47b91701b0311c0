#include "executor/compile/block_symbols.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/verify/dominance.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon {
namespace {

class SymbolLinker {
 public:
  SymbolLinker(Region& region, Instruction& blocks) : blocks_(blocks) {
    blocks_.symbols.resize(blocks_.regions.size());
    below_.resize(blocks_.regions.size());
    absl::flat_hash_map<const Block*, int> number;
    for (Block& block : region) number.emplace(&block, static_cast<int>(number.size()));
    DominanceInfo dominance;
    for (Block* block : BlocksInDominanceOrder(region)) {
      Block* const above = dominance.ImmediateDominator(block);
      if (above != nullptr) below_[number.at(above)].push_back(number.at(block));
    }
  }

  // Walks the tree of dominators. On the way down, `above_` counts the blocks that name a symbol.
  void Run() {
    std::vector<std::pair<int, size_t>> path = {{0, 0}};  // with the next block below
    Enter(0);
    while (!path.empty()) {
      const int at = path.back().first;
      if (path.back().second < below_[at].size()) {
        const int next = below_[at][path.back().second++];
        Enter(next);
        path.emplace_back(next, 0);
      } else {
        for (const int slot : blocks_.symbols[at].slots) --above_[slot];
        path.pop_back();
      }
    }
  }

 private:
  void Enter(int block) {
    BlockSymbols& symbols = blocks_.symbols[block];
    for (const std::string_view symbol : blocks_.regions[block].program->outer_symbols) {
      const int slot = slots_.emplace(symbol, static_cast<int>(slots_.size())).first->second;
      above_.resize(slots_.size(), 0);
      symbols.slots.push_back(slot);
      symbols.reads.push_back(above_[slot] > 0);
      ++above_[slot];
    }
  }

  Instruction& blocks_;
  std::vector<std::vector<int>> below_;
  absl::flat_hash_map<std::string_view, int> slots_;
  std::vector<int> above_;  // by slot
};

}  // namespace

void LinkBlockSymbols(Region& region, Instruction& blocks) { SymbolLinker(region, blocks).Run(); }

}  // namespace tenon
