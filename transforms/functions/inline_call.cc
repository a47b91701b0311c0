#include "transforms/functions/inline_call.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/verify/verify_functions.h"

namespace tenon {
namespace {

// The symbols in the types of values inside of `function`, in the order of the text.
std::vector<std::string_view> SymbolsInTypes(Operation& function) {
  std::vector<std::string_view> symbols;
  const auto add = [&](Type type) {
    if (!type.is_tensor()) return;
    for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
  };
  function.WalkPreOrder([&](Operation* op) {
    for (unsigned i = 0; i < op->num_results(); ++i) add(op->result(i).type());
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      for (Block& block : op->region(r)) {
        for (unsigned i = 0; i < block.num_arguments(); ++i) add(block.argument(i).type());
      }
    }
    return true;
  });
  return symbols;
}

// Does a user need exactly the type that `value` has? Arguments of blocks do.
bool IsTypeNeeded(Value value) {
  for (OpOperand& use : value.uses()) {
    if (IsJump(*use.owner())) return true;
  }
  return false;
}

class Inliner {
 public:
  Inliner(Operation* call, Operation* callee, Caller& caller)
      : call_(call), callee_(callee), caller_(caller) {}

  bool Run() {
    const bool one_block = callee_->region().front().next() == nullptr;
    if (!one_block && call_->parent_op() != caller_.function) return false;
    for (Block& block : callee_->region()) {
      if (block.back() == nullptr || !(IsReturn(*block.back()) || IsJump(*block.back()))) {
        return false;
      }
    }
    if (!TakesOperands() || !NameExtents() || !ResultsFit(one_block)) return false;
    for (const auto& [symbol, dim] : names_) {
      std::vector<std::string_view> symbols;
      dim.CollectSymbols(symbols);
      caller_.extents.insert(symbols.begin(), symbols.end());
    }
    IrMapping mapping;
    Region& region = *call_->parent_region();
    Block* const before = &region.back();
    CloneRegion(callee_->region(), region, mapping);
    Block* const entry = before->next();
    for (Block* block = entry; block != nullptr; block = block->next()) Adopt(*block);
    for (unsigned i = 0; i < entry->num_arguments(); ++i) {
      entry->argument(i).ReplaceAllUsesWith(Argument(i));
    }
    if (one_block) {
      Splice(region, entry);
    } else {
      Split(region, entry);
    }
    return true;
  }

 private:
  Value Argument(unsigned i) const { return CallArguments(*call_)[i]; }

  // Calls of other dialects have no verifier that compares them with the function.
  bool TakesOperands() const {
    const Block& entry = callee_->region().front();
    const OperandRange arguments = CallArguments(*call_);
    if (arguments.size() != entry.num_arguments()) return false;
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      if (!CompatibleTypes(arguments[i].type(), entry.argument(i).type())) return false;
    }
    for (Block& block : callee_->region()) {
      if (IsReturn(*block.back()) && block.back()->num_operands() != call_->num_results()) {
        return false;
      }
    }
    return true;
  }

  // Finds out what the extents of the callee are in the caller.
  bool NameExtents() {
    Block& entry = callee_->region().front();
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Type own = entry.argument(i).type(), given = Argument(i).type();
      if (own == given && own.is_static()) continue;
      if (!own.is_tensor()) continue;
      if (!given.is_tensor() || given.rank() != own.rank()) return false;
      for (int64_t axis = 0; axis < own.rank(); ++axis) {
        const DimExpr dim = own.dim(axis), by = given.dim(axis);
        // The call fails if the extents differ, and so must what takes its place.
        if (dim.is_constant() && !DimExpr::ProvablyEqual(dim, by)) return false;
        if (dim.kind() != DimExpr::Kind::kSymbol) continue;
        const auto [at, inserted] = names_.emplace(std::string(dim.symbol()), by);
        if (!inserted && !DimExpr::ProvablyEqual(at->second, by)) return false;
      }
    }
    // Extents such as 2 * S.
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Type own = entry.argument(i).type(), given = Argument(i).type();
      if (!own.is_tensor() || own == given) continue;
      for (int64_t axis = 0; axis < own.rank(); ++axis) {
        const DimExpr dim = own.dim(axis);
        if (dim.is_constant() || dim.is_unknown() || dim.kind() == DimExpr::Kind::kSymbol) continue;
        if (!DimExpr::ProvablyEqual(InCaller(dim), given.dim(axis))) return false;
      }
    }
    const absl::flat_hash_set<std::string_view> in_attributes = SymbolsInAttributes(*callee_);
    std::vector<std::string_view> of_arguments;
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Type type = entry.argument(i).type();
      if (!type.is_tensor()) continue;
      for (DimExpr d : type.dims()) d.CollectSymbols(of_arguments);
    }
    for (std::string_view symbol : of_arguments) {
      const auto named = names_.find(symbol);
      if (named == names_.end()) return false;  // it follows from an extent such as 2 * S
      if (named->second.is_unknown() && in_attributes.contains(symbol)) return false;
    }
    std::set<std::string, std::less<>> added;
    for (std::string_view symbol : SymbolsInTypes(*callee_)) {
      if (names_.contains(symbol)) continue;
      std::string name(symbol);
      for (int n = 2; caller_.extents.contains(name) || !added.insert(name).second; ++n) {
        name = fmt::format("{}_{}", symbol, n);
      }
      names_.emplace(std::string(symbol), DimExpr::Symbol(call_->context(), name));
    }
    return true;
  }

  DimExpr InCaller(DimExpr dim) const {
    if (dim.is_constant() || dim.is_unknown()) return dim;
    return dim.Substitute([&](std::string_view symbol) -> std::optional<DimExpr> {
      const auto at = names_.find(symbol);
      return at == names_.end() ? std::nullopt : std::optional<DimExpr>(at->second);
    });
  }

  Type InCaller(Type type) const {
    if (!type || !type.is_tensor() || type.is_static()) return type;
    std::vector<DimExpr> dims;
    for (DimExpr d : type.dims()) dims.push_back(InCaller(d));
    return Type::Tensor(type.context(), type.dtype(), std::span<const DimExpr>(dims));
  }

  // The type that a value returned by the callee has in the caller: arguments are operands there.
  Type TypeInCaller(Value value) const {
    if (value.is_block_argument() && value.argument_owner() == &callee_->region().front()) {
      return Argument(value.argument_index()).type();
    }
    return InCaller(value.type());
  }

  bool ResultsFit(bool one_block) const {
    for (Block& block : callee_->region()) {
      if (!IsReturn(*block.back())) continue;
      for (unsigned i = 0; i < call_->num_results(); ++i) {
        const Type was = call_->result(i).type(), now = TypeInCaller(block.back()->operand(i));
        if (was == now) continue;
        if (!one_block || !was.is_tensor() || !now.is_tensor() || !CompatibleTypes(now, was) ||
            IsTypeNeeded(call_->result(i))) {
          return false;
        }
      }
    }
    for (unsigned i = 0; i < callee_->region().front().num_arguments(); ++i) {
      const Value argument = callee_->region().front().argument(i);
      if (IsTypeNeeded(argument) && InCaller(argument.type()) != Argument(i).type()) {
        return false;
      }
    }
    return true;
  }

  // Gives what was copied the extents of the caller, and the call as a place.
  void Adopt(Block& block) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      block.argument(i).set_type(InCaller(block.argument(i).type()));
    }
    for (Operation& op : block) {
      if (IsCall(op)) caller_.calls.push_back(&op);
      op.set_location(Location::CallSite(call_->context(), op.location(), call_->location()));
      for (unsigned i = 0; i < op.num_slots(); ++i) {
        const Attribute old = op.slot(i);
        if (!old || old.kind() != Attribute::Kind::kDims) continue;
        std::vector<DimExpr> dims;
        for (DimExpr d : old.dims()) dims.push_back(InCaller(d));
        op.set_slot(i, Attribute::Dims(op.context(), dims));
      }
      for (unsigned i = 0; i < op.num_results(); ++i) {
        op.result(i).set_type(InCaller(op.result(i).type()));
      }
      for (unsigned r = 0; r < op.num_regions(); ++r) {
        for (Block& inner : op.region(r)) Adopt(inner);
      }
    }
  }

  void Splice(Region& region, Block* entry) {
    Operation* const last = entry->back();
    for (unsigned i = 0; i < call_->num_results(); ++i) {
      caller_.facts.Define(call_->result(i).type(), last->operand(i).type());
      call_->result(i).ReplaceAllUsesWith(last->operand(i));
    }
    last->Erase();
    while (!entry->empty()) entry->front()->MoveBefore(call_);
    region.Remove(entry);
    call_->Erase();
  }

  // The blocks of the callee come between what is before the call and what is behind it.
  void Split(Region& region, Block* entry) {
    Block* const before = call_->block();
    region.Insert(std::make_unique<Block>(), before->next());
    Block* const after = before->next();
    while (call_->next() != nullptr) {
      Operation* const op = call_->next();
      op->RemoveFromBlock();
      after->Append(op);
    }
    for (unsigned i = 0; i < call_->num_results(); ++i) {
      const Value argument = after->AddArgument(call_->result(i).type(), call_->location());
      call_->result(i).ReplaceAllUsesWith(argument);
    }
    std::vector<Block*> copied;
    for (Block* block = entry; block != nullptr; block = block->next()) copied.push_back(block);
    for (Block* block : copied) {
      Operation* const last = block->back();
      if (!IsReturn(*last)) continue;
      std::vector<Value> values;
      for (OpOperand& operand : last->operands()) values.push_back(operand.get());
      const Location location = last->location();
      last->Erase();
      JumpTo(block, after, values, location);
    }
    while (!entry->empty()) entry->front()->MoveBefore(call_);
    region.Remove(entry);
    for (size_t i = 1; i < copied.size(); ++i) region.Insert(region.Remove(copied[i]), after);
    call_->Erase();
  }

  Operation *call_, *callee_;
  Caller& caller_;
  std::map<std::string, DimExpr, std::less<>> names_;  // of the callee's extents in the caller
};

}  // namespace

Caller::Caller(Operation* function) : function(function) {
  for (std::string_view symbol : SymbolsInTypes(*function)) extents.emplace(symbol);
  for (std::string_view symbol : SymbolsInAttributes(*function)) extents.emplace(symbol);
}

bool InlineCall(Operation* call, Operation* callee, Caller& caller) {
  return Inliner(call, callee, caller).Run();
}

}  // namespace tenon
