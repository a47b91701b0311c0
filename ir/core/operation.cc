#include "ir/core/operation.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ir/core/block.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/text/printer.h"
#include "ir/core/use_list.h"

namespace tenon {

static_assert(sizeof(Operation) == 48);
static_assert(sizeof(BlockOperand) == 32);
static_assert(sizeof(Attribute) == 8);

size_t Operation::AllocationSize(unsigned operands, unsigned results, unsigned slots,
                                 unsigned successors, unsigned regions) {
  return results * sizeof(ValueImpl) + sizeof(Operation) + operands * sizeof(OpOperand) +
         slots * sizeof(Attribute) + successors * sizeof(BlockOperand) + regions * sizeof(Region);
}

Operation::Operation(const OpInfo& info, Location location, unsigned operands, unsigned results,
                     unsigned slots, unsigned successors, unsigned regions)
    : info_(&info),
      location_(location),
      num_operands_(operands),
      has_erased_operands_(0),
      num_results_(static_cast<uint16_t>(results)),
      num_slots_(static_cast<uint8_t>(slots)),
      num_successors_(static_cast<uint8_t>(successors)),
      num_regions_(static_cast<uint8_t>(regions)),
      has_discardable_(0) {}

Operation* Operation::Create(const OpInfo& info, Location location,
                             std::span<const Type> result_types, std::span<const Value> operands,
                             std::span<const Attribute> slots, std::span<Block* const> successors,
                             unsigned num_regions) {
  TENON_CHECK(operands.size() <= kMaxOperands && result_types.size() <= kMaxResults &&
              successors.size() <= kMaxSuccessors && num_regions <= kMaxRegions);
  const auto num_operands = static_cast<unsigned>(operands.size());
  const auto num_results = static_cast<unsigned>(result_types.size());
  const auto num_slots = static_cast<unsigned>(info.num_slots());
  const auto num_successors = static_cast<unsigned>(successors.size());
  size_t bytes = AllocationSize(num_operands, num_results, num_slots, num_successors, num_regions);
  auto* memory = static_cast<std::byte*>(ImplOf(info.context()).op_pool.Allocate(bytes));
  auto* op = new (memory + num_results * sizeof(ValueImpl))
      Operation(info, location, num_operands, num_results, num_slots, num_successors, num_regions);
  for (unsigned i = 0; i < num_results; ++i) {
    new (reinterpret_cast<ValueImpl*>(op) - (i + 1)) ValueImpl(result_types[i], i, false);
  }
  OpOperand* operand = op->operand_storage();
  for (unsigned i = 0; i < num_operands; ++i) {
    new (operand + i) OpOperand(i);
    operand[i].Link(operands[i].impl());
  }
  Attribute* slot = op->slot_storage();
  for (unsigned i = 0; i < num_slots; ++i) {
    Attribute value = i < slots.size() ? slots[i] : Attribute();
    if (!value) value = info.default_value(i);
    new (slot + i) Attribute(value);
    CountBlobUse(value, 1);
  }
  for (unsigned i = 0; i < num_successors; ++i) {
    auto* successor = new (op->successor_storage() + i) BlockOperand(op);
    successor->Link(successors[i]);
  }
  for (unsigned i = 0; i < num_regions; ++i) new (op->region_storage() + i) Region(op);
  return op;
}

Operation* Operation::Create(const OperationState& state) {
  Operation* op = Create(*state.info, state.location, state.result_types, state.operands,
                         state.slots, state.successors, state.num_regions);
  if (state.discardable) op->SetDiscardableAttrs(state.discardable);
  return op;
}

void Operation::Destroy() {
  TENON_CHECK(block_ == nullptr);
  if (Has(Trait::kSymbolTable)) EndSymbolEpoch(context());
  for (unsigned i = 0; i < num_regions_; ++i) region_storage()[i].~Region();
  if (has_discardable_) SetDiscardableAttrs(Attribute());
  for (unsigned i = 0; i < num_operands_; ++i) operand_storage()[i].Unlink();
  for (unsigned i = 0; i < num_slots_; ++i) CountBlobUse(slot_storage()[i], -1);
  for (unsigned i = 0; i < num_successors_; ++i) successor_storage()[i].Unlink();
  for (unsigned i = 0; i < num_results_; ++i) {
    TENON_DCHECK(!result(i).has_uses());
    while (result(i).has_uses()) result(i).uses().first->set(Value());
    if (result(i).has_name()) result(i).impl()->DropName();
  }
  size_t bytes =
      AllocationSize(num_operands_cap(), num_results_, num_slots_, num_successors_, num_regions_);
  OpPool& pool = ImplOf(context()).op_pool;
  pool.Free(reinterpret_cast<ValueImpl*>(this) - num_results_, bytes);
}

void Operation::Erase() {
  RemoveFromBlock();
  Destroy();
}

std::pair<unsigned, unsigned> Operation::operand_group(unsigned group) const {
  const OpInfo& op_info = info();
  if (op_info.segment_slot() < 0) {
    // At most one group is flexible; the ones before it have one operand each.
    const std::vector<OperandDef>& groups = op_info.def().operands;
    unsigned first = 0;
    for (unsigned i = 0;; ++i) {
      unsigned size = 1;
      if (groups[i].arity != Arity::kSingle) {
        size = std::max(num_operands() + 1, static_cast<unsigned>(groups.size())) -
               static_cast<unsigned>(groups.size());
      }
      if (i == group) return {first, size};
      first += size;
    }
  }
  std::span<const int64_t> sizes = slot(op_info.segment_slot()).ints();
  unsigned first = 0;
  for (unsigned i = 0; i < group; ++i) first += static_cast<unsigned>(sizes[i]);
  return {first, static_cast<unsigned>(sizes[group])};
}

Value Operation::operand_or_null(unsigned group) const {
  auto [first, size] = operand_group(group);
  return size == 0 ? Value() : operand(first);
}

void Operation::EraseOperand(unsigned i) {
  TENON_CHECK(i < num_operands_);
  for (unsigned j = i; j + 1 < num_operands_; ++j) set_operand(j, operand(j + 1));
  operand_storage()[num_operands_ - 1].Unlink();
  const uint32_t erased = has_erased_operands_ ? num_erased_operands() : 0;
  --num_operands_;
  has_erased_operands_ = 1;
  new (&num_erased_operands()) uint32_t(erased + 1);
}

bool Operation::has_uses() const {
  for (unsigned i = 0; i < num_results_; ++i) {
    if (result(i).has_uses()) return true;
  }
  return false;
}

void Operation::ReplaceAllUsesWith(std::span<const Value> values) {
  TENON_CHECK(values.size() == num_results_);
  for (unsigned i = 0; i < num_results_; ++i) {
    if (result(i).has_uses()) result(i).ReplaceAllUsesWith(values[i]);
  }
}

void Operation::set_slot(unsigned i, Attribute value) {
  TENON_CHECK(i < num_slots_);
  if (Has(Trait::kSymbol)) EndSymbolEpoch(context());
  if (!value) value = info_->default_value(static_cast<int>(i));
  CountBlobUse(value, 1);
  CountBlobUse(slot_storage()[i], -1);
  slot_storage()[i] = value;
}

namespace {

// The dictionary with another value for `name`, or without it; null if nothing is in it then.
Attribute WithEntry(Context& context, Attribute dictionary, std::string_view name,
                    Attribute value) {
  std::vector<NamedAttribute> entries;
  if (dictionary) {
    for (const NamedAttribute& e : dictionary.entries()) {
      if (e.name.str() != name) entries.push_back(e);
    }
  }
  if (value) entries.push_back({context.Intern(name), value});
  return entries.empty() ? Attribute() : Attribute::Dictionary(context, entries);
}

}  // namespace

Attribute Operation::attr(std::string_view name) const {
  if (int i = info_->FindSlot(name); i >= 0) return slot(i);
  if (!info_->is_registered() && slot(0)) {
    if (Attribute value = slot(0).Get(name)) return value;
  }
  Attribute dictionary = discardable_attrs();
  return dictionary ? dictionary.Get(name) : Attribute();
}

void Operation::SetAttr(std::string_view name, Attribute value) {
  if (int i = info_->FindSlot(name); i >= 0) {
    set_slot(i, value);
    return;
  }
  if (!info_->is_registered() && slot(0) && slot(0).Get(name)) {
    set_slot(0, WithEntry(context(), slot(0), name, value));
  } else {
    SetDiscardableAttrs(WithEntry(context(), discardable_attrs(), name, value));
  }
}

Attribute Operation::discardable_attrs() const {
  if (!has_discardable_) return Attribute();
  auto& shard = ImplOf(context()).DiscardableOf(this);
  std::lock_guard<std::mutex> lock(shard.mutex);
  return *shard.attrs.Find(this);
}

void Operation::SetDiscardableAttrs(Attribute dictionary) {
  if (dictionary && dictionary.entries().empty()) dictionary = Attribute();
  if (!dictionary && !has_discardable_) return;
  auto& shard = ImplOf(context()).DiscardableOf(this);
  std::lock_guard<std::mutex> lock(shard.mutex);
  if (dictionary) {
    shard.attrs[this] = dictionary;
  } else {
    shard.attrs.Erase(this);
  }
  has_discardable_ = dictionary ? 1 : 0;
}

BlockOperand* Operation::successor_storage() const {
  return reinterpret_cast<BlockOperand*>(slot_storage() + num_slots_);
}

Region* Operation::region_storage() const {
  return reinterpret_cast<Region*>(successor_storage() + num_successors_);
}

Block* Operation::successor(unsigned i) const {
  TENON_CHECK(i < num_successors_);
  return successor_storage()[i].get();
}

void Operation::set_successor(unsigned i, Block* block) {
  TENON_CHECK(i < num_successors_);
  successor_storage()[i].Unlink();
  successor_storage()[i].Link(block);
}

std::pair<unsigned, unsigned> Operation::successor_operands(unsigned i) const {
  const std::vector<SuccessorDef>& defs = info_->def().successors;
  if (i >= defs.size() || defs[i].operand_group < 0) return {0, 0};
  return operand_group(static_cast<unsigned>(defs[i].operand_group));
}

Region& Operation::region(unsigned i) const {
  TENON_CHECK(i < num_regions_);
  return region_storage()[i];
}

Operation* Operation::parent_op() const {
  return block_ == nullptr ? nullptr : block_->parent_op();
}
Region* Operation::parent_region() const { return block_ == nullptr ? nullptr : block_->parent(); }

void Operation::MoveBefore(Operation* other) {
  TENON_CHECK(other != this && other->block_ != nullptr);
  if (block_ != nullptr) RemoveFromBlock();
  other->block_->Insert(this, other);
}

void Operation::MoveAfter(Operation* other) {
  TENON_CHECK(other != this && other->block_ != nullptr);
  if (block_ != nullptr) RemoveFromBlock();
  other->block_->Insert(this, other->next_);
}

void Operation::RemoveFromBlock() {
  TENON_CHECK(block_ != nullptr);
  if (Has(Trait::kSymbol)) EndSymbolEpoch(context());
  (prev_ != nullptr ? prev_->next_ : block_->first_) = next_;
  (next_ != nullptr ? next_->prev_ : block_->last_) = prev_;
  block_ = nullptr;
  prev_ = next_ = nullptr;
}

bool Operation::IsBeforeInBlock(const Operation* other) const {
  TENON_CHECK(block_ != nullptr && block_ == other->block_);
  if (!block_->order_valid_.load(std::memory_order_acquire)) block_->Renumber();
  return order() < other->order();
}

size_t Operation::position_after_renumbering() const { return order() / Block::kOrderStride - 1; }

bool Operation::IsAncestorOf(const Operation* other) const {
  while (other != nullptr && other != this) other = other->parent_op();
  return other == this;
}

namespace {

// The ops directly below `op`, one by one. The successor of the last one taken is known before that
// one is looked at, so that it may go away.
class Children {
 public:
  explicit Children(Operation* op) : op_(op) {}
  Operation* op() const { return op_; }
  // Null at the end.
  Operation* Take() {
    while (next_ == nullptr) {
      if (block_ != nullptr) block_ = block_->next();
      while (block_ == nullptr) {
        if (region_ == op_->num_regions()) return nullptr;
        Region& region = op_->region(region_++);
        block_ = region.empty() ? nullptr : &region.front();
      }
      next_ = block_->front();
    }
    return std::exchange(next_, next_->next());
  }

 private:
  Operation* op_;
  unsigned region_ = 0;
  Block* block_ = nullptr;
  Operation* next_ = nullptr;
};

// The ops around the one being looked at. On the heap: no nesting is too deep.
using WalkStack = absl::InlinedVector<Children, 8>;

}  // namespace

void Operation::Walk(const std::function<void(Operation*)>& f) {
  WalkStack stack = {Children(this)};
  while (!stack.empty()) {
    Operation* op = stack.back().Take();
    if (op == nullptr) {
      op = stack.back().op();
      stack.pop_back();
    } else if (op->num_regions() > 0) {
      stack.emplace_back(op);
      continue;
    }
    f(op);
  }
}

bool Operation::WalkPreOrder(const std::function<bool(Operation*)>& f) {
  if (!f(this)) return false;
  WalkStack stack = {Children(this)};
  while (!stack.empty()) {
    Operation* op = stack.back().Take();
    if (op == nullptr) {
      stack.pop_back();
      continue;
    }
    if (!f(op)) return false;
    if (op->num_regions() > 0) stack.emplace_back(op);
  }
  return true;
}

std::string Operation::text() const {
  return Print(*this, {.generic = true, .locations = false, .elide_resources = true});
}

}  // namespace tenon
