#include "ir/core/clone.h"

#include <utility>
#include <vector>

namespace tenon {

Value IrMapping::Lookup(Value from) const {
  auto it = values_.find(from.impl());
  return it == values_.end() ? from : it->second;
}

Block* IrMapping::Lookup(Block* from) const {
  auto it = blocks_.find(from);
  return it == blocks_.end() ? from : it->second;
}

namespace {

// Copies ops block by block. A result of a block being copied is found by its op's position, which
// the order number gives, so that the common case needs no hashing. Only operands of what is not
// copied refer to the original, whose use lists are not touched otherwise.
class Cloner {
 public:
  // `learn`: tell the mapping of every copied result, not only of arguments and blocks.
  Cloner(IrMapping& mapping, bool learn) : mapping_(mapping), learn_(learn) {}

  Operation* Copy(const Operation& op) {
    Operation* copy = CopyAlone(op);
    for (unsigned i = 0; i < op.num_regions(); ++i) CopyBlocks(op.region(i), copy->region(i));
    for (auto [operand, original] : pending_) {
      const bool itself = original.is_result() && original.defining_op() == &op;
      operand->set(itself ? copy->result(original.result_index()) : original);
    }
    return copy;
  }

  void CopyRegion(const Region& from, Region& to) {
    CopyBlocks(from, to);
    for (auto [operand, original] : pending_) operand->set(original);
  }

 private:
  struct Scope {
    const Block* block;
    std::vector<Operation*> copies;  // by position in the block
  };

  // A region being copied: `op` has a copy already, of which the regions before `region` are done.
  // Null: the ops of `block` are done.
  struct RegionCopy {
    const Region* from;
    Block* block = nullptr;
    Block* copy = nullptr;
    const Operation* op = nullptr;
    unsigned region = 0;
    size_t first_pending = 0;
  };

  // Regions inside wait on a stack of their own: no nesting is too deep.
  void CopyBlocks(const Region& from, Region& to) {
    Enter(from, to);
    while (!regions_.empty()) {
      RegionCopy& at = regions_.back();
      if (at.op == nullptr) {
        NextBlock(at);
      } else if (at.region < at.op->num_regions()) {
        const unsigned i = at.region++;
        Enter(at.op->region(i), scopes_.back().copies.back()->region(i));
      } else {
        at.op = at.op->next();
        at.region = 0;
        if (at.op != nullptr) CopyInto(at);
      }
    }
  }

  // Without what is in its regions.
  Operation* CopyAlone(const Operation& op) {
    absl::InlinedVector<Value, 6> operands;
    absl::InlinedVector<unsigned, 2> unknown;
    for (const OpOperand& operand : op.operands()) {
      operands.push_back(Image(operand.get()));
      if (operands.back() || !operand.get()) continue;
      unknown.push_back(static_cast<unsigned>(operands.size()) - 1);
    }
    absl::InlinedVector<Type, 2> types;
    for (unsigned i = 0; i < op.num_results(); ++i) types.push_back(op.result(i).type());
    absl::InlinedVector<Block*, 2> successors;
    for (unsigned i = 0; i < op.num_successors(); ++i)
      successors.push_back(mapping_.Lookup(op.successor(i)));
    Operation* copy = Operation::Create(op.info(), op.location(), types, operands, op.slots(),
                                        successors, op.num_regions());
    if (Attribute discardable = op.discardable_attrs()) copy->SetDiscardableAttrs(discardable);
    if (learn_) {
      for (unsigned i = 0; i < op.num_results(); ++i) mapping_.Map(op.result(i), copy->result(i));
    }
    for (unsigned i = 0; i < op.num_results(); ++i) CopyName(op.result(i), copy->result(i));
    for (unsigned i : unknown) pending_.emplace_back(&copy->operands()[i], op.operand(i));
    return copy;
  }

  static void CopyName(Value from, Value to) {
    if (from.has_name()) to.set_name(from.name());
  }

  void Enter(const Region& from, Region& to) {
    for (Block& block : from) {
      Block* copy = to.AddBlock();
      mapping_.Map(&block, copy);
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        Value argument = block.argument(i);
        Value argument_copy = copy->AddArgument(argument.type(), argument.location());
        CopyName(argument, argument_copy);
        mapping_.Map(argument, argument_copy);
      }
    }
    regions_.push_back({.from = &from, .first_pending = pending_.size()});
  }

  void NextBlock(RegionCopy& at) {
    at.block = at.block == nullptr ? FirstBlock(*at.from) : at.block->next();
    if (at.block == nullptr) return Leave(at);
    at.copy = mapping_.Lookup(at.block);
    at.block->Renumber();
    scope_of_[at.block] = scopes_.size();
    scopes_.push_back({at.block, {}});
    at.op = at.block->front();
    at.region = 0;
    if (at.op != nullptr) CopyInto(at);
  }

  void CopyInto(RegionCopy& at) {
    Operation* copy = CopyAlone(*at.op);
    at.copy->Append(copy);
    scopes_.back().copies.push_back(copy);
  }

  // The region is complete: operands that waited for its ops have them now.
  void Leave(const RegionCopy& at) {
    size_t kept = at.first_pending;
    for (size_t i = at.first_pending; i < pending_.size(); ++i) {
      auto [operand, original] = pending_[i];
      if (Value image = Image(original)) {
        operand->set(image);
      } else {
        pending_[kept++] = pending_[i];
      }
    }
    pending_.resize(kept);
    while (!scopes_.empty() && scopes_.back().block->parent() == at.from) {
      scope_of_.erase(scopes_.back().block);
      scopes_.pop_back();
    }
    regions_.pop_back();
  }

  static Block* FirstBlock(const Region& region) {
    return region.empty() ? nullptr : &region.front();
  }

  Value Learnt(Value value) const {
    const Value image = mapping_.Lookup(value);
    return image == value ? Value() : image;
  }

  // Null if there is none, or none yet.
  Value Image(Value value) const {
    if (!value || value.is_block_argument()) return value ? Learnt(value) : value;
    const Operation* op = value.defining_op();
    const Scope* scope = scopes_.empty() ? nullptr : &scopes_.back();
    if (scope == nullptr || scope->block != op->block()) {
      auto it = scope_of_.find(op->block());
      if (it == scope_of_.end()) return Learnt(value);
      scope = &scopes_[it->second];
    }
    size_t position = op->position_after_renumbering();
    return position < scope->copies.size() ? scope->copies[position]->result(value.result_index())
                                           : Value();
  }

  IrMapping& mapping_;
  bool learn_;
  // Operands that refer to ops not copied yet (of later blocks, here or around): null until the
  // region of the op is complete. What is left at the end lies outside of what is copied.
  std::vector<std::pair<OpOperand*, Value>> pending_;
  std::vector<RegionCopy> regions_;
  std::vector<Scope> scopes_;
  absl::flat_hash_map<const Block*, size_t> scope_of_;
};

}  // namespace

Operation* Clone(const Operation& op, IrMapping& mapping) { return Cloner(mapping, true).Copy(op); }

Operation* Clone(const Operation& op) {
  IrMapping mapping;
  return Cloner(mapping, false).Copy(op);
}

void CloneRegion(const Region& from, Region& to, IrMapping& mapping) {
  Cloner(mapping, true).CopyRegion(from, to);
}

}  // namespace tenon
