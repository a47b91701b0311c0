#include "ir/core/verify/verifier.h"

#include <algorithm>
#include <memory>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/verify/dominance.h"
#include "ir/core/verify/op_checks.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {
namespace {

constexpr int kMaxErrors = 20;

// May values of this region be used before they are defined, as in MLIR's graph regions? So it is
// for modules, and nothing is known about ops of unknown dialects.
bool IsGraphRegion(const Region& region) {
  const Operation* op = region.parent();
  return op != nullptr && (!op->info().is_registered() || op->Has(Trait::kNoTerminator));
}

// May its own rules look at operations elsewhere, by their names?
bool RefersToSymbols(const Operation& op) {
  const std::span<const Attribute> slots = op.slots();
  return std::any_of(slots.begin(), slots.end(), [](Attribute slot) {
    return slot && slot.kind() == Attribute::Kind::kSymbolRef;
  });
}

class Verifier {
 public:
  // With `left_out`, does what VerifyWithin does.
  explicit Verifier(bool* left_out) : left_out_(left_out) {}

  absl::Status Run(Operation* op) {
    Visit(*op);
    return status_;
  }

 private:
  bool Full() const { return errors_ >= kMaxErrors; }

  void Fail(const Operation& op, std::string_view message) {
    if (Full()) return;
    absl::Status status =
        EmitError(op.context(), op.location(), fmt::format("{}: {}", op.name(), message));
    if (errors_++ == 0) status_ = std::move(status);
  }

  void Visit(Operation& op) {
    if (op.info().is_registered()) {
      const bool leave_out = left_out_ != nullptr && RefersToSymbols(op);
      if (leave_out) *left_out_ = true;
      if (std::string message = CheckOperation(op, !leave_out); !message.empty()) Fail(op, message);
    }
    for (unsigned r = 0; r < op.num_results(); ++r) CheckRank(op, "result", op.result(r).type());
    if (op.num_successors() > 0) CheckSuccessors(op);
    const int64_t most = LimitsOf(op.context()).nesting;
    if (op.num_regions() > 0 && nesting_ >= most) {
      Fail(op,
           fmt::format("is nested deeper than {} levels (Limits::nesting or --max-nesting)", most));
      return;
    }
    ++nesting_;
    for (unsigned i = 0; i < op.num_regions() && !Full(); ++i) VisitRegion(op, op.region(i));
    --nesting_;
    if (op.Has(Trait::kSymbolTable)) CheckSymbols(op);
#ifndef NDEBUG
    CheckUseLists(op);
#endif
  }

  void CheckRank(Operation& op, std::string_view what, Type type) {
    if (!type || !type.is_tensor() || type.rank() <= kMaxRank) return;
    Fail(op,
         fmt::format("a {} has {} dimensions (expected at most {})", what, type.rank(), kMaxRank));
  }

  void VisitRegion(Operation& parent, Region& region) {
    bool graph = IsGraphRegion(region);
    bool needs_terminator = parent.info().is_registered() && !parent.Has(Trait::kNoTerminator);
    for (Block& block : region) {
      if (Full()) return;
      if (&block == &region.front() && block.has_predecessors()) {
        Fail(parent, "the entry block of a region must not be a successor");
      }
      if (needs_terminator && block.terminator() == nullptr) {
        Fail(block.empty() ? parent : *block.back(),
             block.empty() ? "has an empty block, which needs a terminator"
                           : "is the last op of a block and must be a terminator");
      }
      for (unsigned i = 0; i < block.num_arguments(); ++i)
        CheckRank(parent, "block argument", block.argument(i).type());
      for (Operation& op : block) {
        if (Full()) return;
        for (OpOperand& operand : op.operands()) CheckUse(op, block, operand.get(), graph, operand);
        Visit(op);
      }
    }
  }

  void CheckUse(Operation& op, Block& block, Value value, bool graph, OpOperand& operand) {
    if (!value) {
      if (!op.info().is_registered()) Fail(op, fmt::format("operand {} is null", operand.index()));
      return;  // registered ops: CheckOperation has said so
    }
    if (value.parent_block() == &block) {
      if (graph || value.is_block_argument()) return;
      Operation* defining = value.defining_op();
      if (defining == &op || !defining->IsBeforeInBlock(&op))
        FailUse(op, value, operand, "does not dominate this use");
      return;
    }
    CheckDistantUse(op, value, operand);
  }

  // The value belongs to another block: of this region, or of one around it.
  void CheckDistantUse(Operation& op, Value value, OpOperand& operand) {
    Block* from = value.parent_block();
    Region* home = from == nullptr ? nullptr : from->parent();
    if (home == nullptr) return FailUse(op, value, operand, "belongs to no region");
    const Operation* isolated = nullptr;
    Operation* at = &op;
    while (at->parent_region() != home) {
      at = at->parent_op();
      if (at == nullptr) return FailUse(op, value, operand, "is not visible here");
      if (isolated == nullptr && at->Has(Trait::kIsolatedFromAbove)) isolated = at;
    }
    if (isolated != nullptr) {
      return FailUse(op, value, operand,
                     fmt::format("is defined outside of {}, which is isolated", isolated->name()));
    }
    if (IsGraphRegion(*home)) return;
    if (!dominance_.ValueDominates(value, &op))
      FailUse(op, value, operand, "does not dominate this use");
  }

  void FailUse(const Operation& op, Value value, const OpOperand& operand, std::string_view what) {
    if (Full()) return;
    std::vector<Diagnostic> notes;
    notes.push_back({Severity::kNote, value.location(), "the value is defined here", {}});
    absl::Status status = EmitError(
        op.context(), op.location(),
        fmt::format("{}: operand {} {}", op.name(), operand.index(), what), std::move(notes));
    if (errors_++ == 0) status_ = std::move(status);
  }

  void CheckSuccessors(const Operation& op) {
    if (op.next() != nullptr) Fail(op, "has successors and must be the last op of its block");
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      const Block* block = op.successor(i);
      if (block == nullptr || block->parent() != op.parent_region()) {
        Fail(op, fmt::format("successor {} is not a block of the same region", i));
      }
    }
  }

  void CheckSymbols(const Operation& table) {
    for (unsigned i = 0; i < table.num_regions(); ++i) {
      absl::flat_hash_map<absl::string_view, const Operation*> seen;
      for (Block& block : table.region(i)) {
        for (Operation& op : block) {
          std::string_view name = SymbolName(op);
          if (name.empty()) {
            if (op.Has(Trait::kSymbol)) Fail(op, "needs a symbol name that is not empty");
            continue;
          }
          auto [it, inserted] = seen.emplace(absl::string_view(name.data(), name.size()), &op);
          if (!inserted) Fail(op, fmt::format("symbol @{} is defined twice", name));
        }
      }
    }
  }

#ifndef NDEBUG
  void CheckUseLists(const Operation& op) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      for (OpOperand& use : op.result(i).uses()) {
        const Operation* owner = use.owner();
        unsigned index = use.index();
        TENON_CHECK(use.get() == op.result(i) && index < owner->num_operands() &&
                    &owner->operands()[index] == &use);
      }
    }
  }
#endif

  bool* const left_out_;
  DominanceInfo dominance_;
  int errors_ = 0;
  int nesting_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status Verify(Operation* op) { return Verifier(nullptr).Run(op); }

absl::Status VerifyWithin(Operation* op, bool& left_out) { return Verifier(&left_out).Run(op); }

}  // namespace tenon
