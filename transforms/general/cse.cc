// cse: an operation that computes what a dominating one has computed is replaced by it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "ir/core/block.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/verify/dominance.h"
#include "ir/dialect/calls_and_jumps.h"
#include "pass/analysis_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

bool MayMerge(const Operation& op) {
  if (op.num_results() == 0 || op.num_regions() > 0 || op.Has(Trait::kTerminator)) return false;
  return op.info().is_registered() && EffectsOf(op).pure();
}

size_t HashOfSome(size_t hash, std::span<const std::byte> bytes) {
  for (size_t at :
       {size_t{0}, bytes.size() / 2, bytes.size() - std::min<size_t>(bytes.size(), 8)}) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(sizeof(word), bytes.size() - at));
    hash = absl::HashOf(hash, word);
  }
  return hash;
}

// Cheap: large constants count with their type and a few bytes; SameElements has the last word.
size_t HashOf(const Operation& op) {
  size_t hash = absl::HashOf(op.id(), op.num_operands(), op.result().type().storage());
  unsigned i = 0;
  if (op.Has(Trait::kCommutative) && op.num_operands() >= 2) {
    const auto a = reinterpret_cast<uintptr_t>(op.operand(0).impl());
    const auto b = reinterpret_cast<uintptr_t>(op.operand(1).impl());
    hash = absl::HashOf(hash, std::min(a, b), std::max(a, b));
    i = 2;
  }
  for (; i < op.num_operands(); ++i) hash = absl::HashOf(hash, op.operand(i).impl());
  for (Attribute slot : op.slots()) {
    if (!IsLargeElements(slot)) {
      hash = absl::HashOf(hash, slot.storage());
      continue;
    }
    if (const std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(slot)) {
      // The same bytes of other sources are not found: that is not worth making them for.
      hash = absl::HashOf(hash, deferred->recipe());
      for (const auto& source : deferred->sources()) hash = HashOfSome(hash, source->bytes());
    } else {
      hash = HashOfSome(hash, slot.raw_bytes());
    }
    hash = absl::HashOf(hash, slot.type().storage());
  }
  return hash;
}

bool SameAttribute(Attribute a, Attribute b) {
  if (a == b) return true;
  return IsLargeElements(a) && IsLargeElements(b) && SameElements(a, b);
}

bool SameOperands(const Operation& a, const Operation& b) {
  if (a.num_operands() != b.num_operands()) return false;
  unsigned i = 0;
  if (a.Has(Trait::kCommutative) && a.num_operands() >= 2) {
    const bool straight = a.operand(0) == b.operand(0) && a.operand(1) == b.operand(1);
    const bool swapped = a.operand(0) == b.operand(1) && a.operand(1) == b.operand(0);
    if (!straight && !swapped) return false;
    i = 2;
  }
  for (; i < a.num_operands(); ++i) {
    if (a.operand(i) != b.operand(i)) return false;
  }
  return true;
}

bool SameOperation(const Operation& a, const Operation& b) {
  if (a.id() != b.id() || a.num_results() != b.num_results() || !SameOperands(a, b)) return false;
  for (unsigned i = 0; i < a.num_results(); ++i) {
    if (a.result(i).type() != b.result(i).type()) return false;
  }
  for (unsigned i = 0; i < a.num_slots(); ++i) {
    if (!SameAttribute(a.slot(i), b.slot(i))) return false;
  }
  return a.discardable_attrs() == b.discardable_attrs();
}

class Cse : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    analyses_ = context.analyses;
    Scope scope(analyses_->Get<DominanceInfo>(op));
    VisitRegions(op, scope, true);
    if (scope.merged > 0) context.statistics->Add("ops-merged", scope.merged);
    // Only operations without regions go.
    return PassResult{.changed = scope.merged > 0,
                      .preserved = PreservedAnalyses::Of<DominanceInfo>()};
  }

 private:
  // An operation that was seen, and the one before it of the same hash.
  struct Seen {
    Operation* op;
    size_t hash;
    uint32_t previous;  // position in Scope::seen plus one; 0: none
  };
  struct Scope {
    explicit Scope(DominanceInfo& info) : dominance(info) {}
    DominanceInfo& dominance;
    std::vector<Seen> seen;                        // in order
    absl::flat_hash_map<size_t, uint32_t> newest;  // by hash; position plus one, never iterated
    int64_t merged = 0;
  };
  // More are not compared with an op: blocks of which none dominates another may have the same ops.
  static constexpr int kMostCandidates = 64;

  // `ends`: nothing is looked up in the scope behind `op`.
  void VisitRegions(Operation* op, Scope& scope, bool ends) {
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      const size_t before = scope.seen.size();
      VisitRegion(op->region(r), scope);
      if (!ends || r + 1 < op->num_regions()) Forget(scope, before);
    }
  }

  // Drops the operations from `before` on. Outside of their region nobody sees their values.
  static void Forget(Scope& scope, size_t before) {
    for (; scope.seen.size() > before; scope.seen.pop_back()) {
      scope.newest[scope.seen.back().hash] = scope.seen.back().previous;
    }
  }

  void VisitRegion(Region& region, Scope& scope) {
    // Blocks may stand in any order. Those that nothing reaches are left to dce.
    for (Block* block : BlocksInDominanceOrder(region)) {
      for (Operation *op = block->front(), *next; op != nullptr; op = next) {
        next = op->next();
        if (op->num_regions() > 0) {
          if (op->Has(Trait::kIsolatedFromAbove)) {
            Scope inner(analyses_->Get<DominanceInfo>(op));
            VisitRegions(op, inner, true);
            scope.merged += inner.merged;
          } else {
            VisitRegions(op, scope, false);
          }
        } else if (MayMerge(*op)) {
          VisitOp(op, scope);
        }
      }
    }
  }

  static void VisitOp(Operation* op, Scope& scope) {
    const size_t hash = HashOf(*op);
    uint32_t& newest = scope.newest[hash];
    int candidates = 0;
    for (uint32_t at = newest; at != 0 && candidates < kMostCandidates; ++candidates) {
      const Seen& known = scope.seen[at - 1];
      if (SameOperation(*known.op, *op) && scope.dominance.ValueDominates(known.op->result(), op)) {
        Merge(op, known.op);
        ++scope.merged;
        return;
      }
      at = known.previous;
    }
    if (scope.seen.size() == UINT32_MAX - 1) return;
    scope.seen.push_back({op, hash, newest});
    newest = static_cast<uint32_t>(scope.seen.size());
  }

  static void Merge(Operation* op, Operation* known) {
    const Location parts[] = {known->location(), op->location()};
    known->set_location(Location::Fused(op->context(), parts));
    for (unsigned i = 0; i < op->num_results(); ++i) {
      op->result(i).ReplaceAllUsesWith(known->result(i));
    }
    op->Erase();
  }

  AnalysisManager* analyses_ = nullptr;
};

}  // namespace

PassInfo CsePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"ops-merged", "operations replaced by an equal one"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Cse>(); };
  return info;
}

}  // namespace tenon
