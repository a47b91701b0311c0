#include "ir/core/block.h"

#include <cstdint>
#include <limits>

#include "ir/core/context/context_impl.h"

namespace tenon {

void BlockOperand::Link(Block* block) {
  block_ = block;
  if (block == nullptr) return;
  prev_ = nullptr;
  next_ = block->first_pred_;
  if (next_ != nullptr) next_->prev_ = this;
  block->first_pred_ = this;
}

void BlockOperand::Unlink() {
  if (block_ == nullptr) return;
  (prev_ != nullptr ? prev_->next_ : block_->first_pred_) = next_;
  if (next_ != nullptr) next_->prev_ = prev_;
  block_ = nullptr;
  prev_ = next_ = nullptr;
}

namespace {

// Leaves the users of a value that goes away with null operands; they are about to go away too.
void DropUses(Value value) {
  while (value.has_uses()) value.uses().first->set(Value());
}

}  // namespace

// From the back, in one pass: most values have lost their uses by the time it is their turn.
Block::~Block() {
  while (last_ != nullptr) {
    for (unsigned i = 0; i < last_->num_results(); ++i) DropUses(last_->result(i));
    last_->Erase();
  }
  for (unsigned i = 0; i < num_arguments(); ++i) DropUses(argument(i));
  while (first_pred_ != nullptr) first_pred_->Unlink();
}

Value Block::AddArgument(Type type, Location location) {
  arguments_.push_back(std::make_unique<BlockArgumentImpl>(type, this, num_arguments(), location));
  // Operands keep numbers in the upper 16 bits of pointers to it (value.h).
  TENON_CHECK_MSG(reinterpret_cast<uintptr_t>(arguments_.back().get()) >> 48 == 0,
                  "a block argument lies beyond the first 48 bits of addresses");
  return Value(arguments_.back().get());
}

void Block::EraseArgument(unsigned i) {
  TENON_CHECK(i < arguments_.size() && !argument(i).has_uses());
  arguments_.erase(arguments_.begin() + i);
  for (unsigned j = i; j < arguments_.size(); ++j) arguments_[j]->index = j;
}

Operation* Block::terminator() const {
  if (last_ == nullptr) return nullptr;
  return last_->Has(Trait::kTerminator) || !last_->info().is_registered() ? last_ : nullptr;
}

// Where there is no number between the neighbours, the ops around the new one are spread over the
// smallest range of numbers, a power of two, that has room for them. The larger the range, the
// sparser it must be, so that an insertion costs a logarithm on average, wherever it is (Bender and
// others, "Two simplified algorithms for maintaining order in a list").
void Block::Insert(Operation* op, Operation* before) {
  TENON_CHECK(op->block_ == nullptr && (before == nullptr || before->block_ == this));
  if (op->Has(Trait::kSymbol)) EndSymbolEpoch(op->context());
  Operation* prev = before == nullptr ? last_ : before->prev_;
  op->block_ = this;
  op->prev_ = prev;
  op->next_ = before;
  (prev != nullptr ? prev->next_ : first_) = op;
  (before != nullptr ? before->prev_ : last_) = op;
  if (!order_valid_.load(std::memory_order_relaxed)) return;
  const uint32_t low = prev != nullptr ? prev->order() : 0;
  if (before == nullptr) {
    if (low > std::numeric_limits<uint32_t>::max() - 2 * kOrderStride) {
      order_valid_.store(false, std::memory_order_relaxed);
    } else {
      op->set_order(low + kOrderStride);
    }
    return;
  }
  if (before->order() > low + 1) {
    op->set_order(low + (before->order() - low) / 2);
    return;
  }
  Operation *first = op, *last = op;
  uint64_t count = 1;
  double sparseness = 1;
  for (uint64_t range = 2; range <= uint64_t{1} << 32; range *= 2) {
    sparseness *= 1.25;
    const uint64_t begin = low & ~(range - 1), end = begin + range;
    for (; first->prev_ != nullptr && first->prev_->order() >= begin; ++count) first = first->prev_;
    for (; last->next_ != nullptr && last->next_->order() < end; ++count) last = last->next_;
    if (static_cast<double>(count + 1) * sparseness > static_cast<double>(range)) continue;
    const uint64_t stride = range / (count + 1);
    uint64_t order = begin;
    for (Operation* at = first;; at = at->next_) {
      at->set_order(static_cast<uint32_t>(order += stride));
      if (at == last) return;
    }
  }
  order_valid_.store(false, std::memory_order_relaxed);
}

Operation* Block::parent_op() const { return parent_ == nullptr ? nullptr : parent_->parent(); }

void Block::DropAllReferences() {
  for (Operation* top = first_; top != nullptr; top = top->next()) {
    top->Walk([](Operation* op) {
      for (OpOperand& operand : op->operands()) operand.set(Value());
      for (unsigned i = 0; i < op->num_successors(); ++i) op->set_successor(i, nullptr);
    });
  }
}

void Block::Renumber() const {
  uint32_t order = kOrderStride;
  for (Operation* op = first_; op != nullptr; op = op->next()) {
    op->set_order(order);
    order += kOrderStride;
  }
  order_valid_.store(true, std::memory_order_release);
}

// Blocks of regions inside come to the end first, so that no nesting is too deep.
Region::~Region() {
  for (Block& block : *this) {
    for (Operation& op : block) {
      for (unsigned i = 0; i < op.num_regions(); ++i) TakeBody(op.region(i));
    }
  }
  while (last_ != nullptr) Remove(last_);
}

namespace {

// A block of operations joins or leaves a region: its symbols come and go with it.
void NoteSymbolsOf(const Region& region, const Block& block) {
  const Operation* table = region.parent();
  if (table != nullptr && !block.empty() && table->Has(Trait::kSymbolTable)) {
    EndSymbolEpoch(table->context());
  }
}

}  // namespace

Block* Region::AddBlock() {
  auto block = std::make_unique<Block>();
  Block* raw = block.get();
  Insert(std::move(block), nullptr);
  return raw;
}

void Region::Insert(std::unique_ptr<Block> owned, Block* before) {
  Block* block = owned.release();
  Block* prev = before == nullptr ? last_ : before->prev_;
  block->parent_ = this;
  NoteSymbolsOf(*this, *block);
  block->prev_ = prev;
  block->next_ = before;
  (prev != nullptr ? prev->next_ : first_) = block;
  (before != nullptr ? before->prev_ : last_) = block;
}

std::unique_ptr<Block> Region::Remove(Block* block) {
  NoteSymbolsOf(*this, *block);
  (block->prev_ != nullptr ? block->prev_->next_ : first_) = block->next_;
  (block->next_ != nullptr ? block->next_->prev_ : last_) = block->prev_;
  block->parent_ = nullptr;
  block->prev_ = block->next_ = nullptr;
  return std::unique_ptr<Block>(block);
}

void Region::TakeBody(Region& other) {
  TENON_CHECK(&other != this);
  while (other.first_ != nullptr) Insert(other.Remove(other.first_), nullptr);
}

void Region::DropAllReferences() {
  for (Block& block : *this) block.DropAllReferences();
}

}  // namespace tenon
