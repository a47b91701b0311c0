// Deep copies of operations and regions.
#include <utility>
#include <vector>

#include "ir/core/builder.h"

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
// the order number gives, so that the common case needs no hashing.
class Cloner {
 public:
  // `learn`: tell the mapping of every copied result, not only of arguments and blocks.
  Cloner(IrMapping& mapping, bool learn) : mapping_(mapping), learn_(learn) {}

  Operation* Copy(const Operation& op) {
    absl::InlinedVector<Value, 6> operands;
    for (OpOperand& operand : op.operands()) operands.push_back(Image(operand.get()));
    absl::InlinedVector<Type, 2> types;
    for (unsigned i = 0; i < op.num_results(); ++i) types.push_back(op.result(i).type());
    absl::InlinedVector<Block*, 2> successors;
    for (unsigned i = 0; i < op.num_successors(); ++i)
      successors.push_back(mapping_.Lookup(op.successor(i)));
    Operation* copy = Operation::Create(op.info(), op.location(), types, operands, op.slots(),
                                        successors, op.num_regions());
    // A slot emptied on the original must not come back as the default.
    for (unsigned i = 0; i < op.num_slots(); ++i) {
      if (copy->slot(i) != op.slot(i)) copy->set_slot(i, op.slot(i));
    }
    if (Attribute discardable = op.discardable_attrs()) copy->SetDiscardableAttrs(discardable);
    if (learn_) {
      for (unsigned i = 0; i < op.num_results(); ++i) mapping_.Map(op.result(i), copy->result(i));
    }
    for (unsigned i = 0; i < op.num_regions(); ++i) CopyRegion(op.region(i), copy->region(i));
    return copy;
  }

  void CopyRegion(const Region& from, Region& to) {
    for (Block& block : from) {
      Block* copy = to.AddBlock();
      mapping_.Map(&block, copy);
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        Value argument = block.argument(i);
        mapping_.Map(argument, copy->AddArgument(argument.type(), argument.location()));
      }
    }
    size_t first_pending = pending_.size();
    for (Block& block : from) {
      Block* copy = mapping_.Lookup(&block);
      block.Renumber();
      scope_of_[&block] = scopes_.size();
      scopes_.push_back({&block, {}});
      for (Operation& op : block) {
        Operation* cloned = Copy(op);
        copy->Append(cloned);
        scopes_.back().copies.push_back(cloned);
        for (unsigned i = 0; i < op.num_operands(); ++i) {
          if (cloned->operand(i) == op.operand(i))
            pending_.emplace_back(&cloned->operands()[i], op.operand(i));
        }
      }
    }
    size_t kept = first_pending;
    for (size_t i = first_pending; i < pending_.size(); ++i) {
      auto [operand, original] = pending_[i];
      if (Value image = Image(original); image != original) {
        operand->set(image);
      } else {
        pending_[kept++] = pending_[i];
      }
    }
    pending_.resize(kept);
    while (!scopes_.empty() && scopes_.back().block->parent() == &from) {
      scope_of_.erase(scopes_.back().block);
      scopes_.pop_back();
    }
  }

 private:
  struct Scope {
    const Block* block;
    std::vector<Operation*> copies;  // by position in the block
  };

  Value Image(Value value) const {
    if (!value || value.is_block_argument()) return value ? mapping_.Lookup(value) : value;
    const Operation* op = value.defining_op();
    const Scope* scope = scopes_.empty() ? nullptr : &scopes_.back();
    if (scope == nullptr || scope->block != op->block()) {
      auto it = scope_of_.find(op->block());
      if (it == scope_of_.end()) return mapping_.Lookup(value);
      scope = &scopes_[it->second];
    }
    size_t position = op->position_after_renumbering();
    return position < scope->copies.size() ? scope->copies[position]->result(value.result_index())
                                           : value;
  }

  IrMapping& mapping_;
  bool learn_;
  // Operands that refer to ops not copied yet (of later blocks, here or around): mended when the
  // region of the op is complete. What is left at the end lies outside of what is copied.
  std::vector<std::pair<OpOperand*, Value>> pending_;
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
