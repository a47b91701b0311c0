// Blocks, regions and the lists that link them.
#ifndef TENON_IR_CORE_BLOCK_H_
#define TENON_IR_CORE_BLOCK_H_

#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "ir/core/operation.h"

namespace tenon {

// Iterates over the ops of a block or the blocks of a region. An iterator is valid while its
// element is in the list. To erase or move elements in a loop, read the next link first:
//   for (Operation *op = block.front(), *next; op; op = next) { next = op->next(); … }
template <typename T>
class LinkIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = T;
  using reference = T&;
  using pointer = T*;
  using iterator_category = std::forward_iterator_tag;
  LinkIterator() = default;
  explicit LinkIterator(T* at) : at_(at) {}  // Null is the end.
  T& operator*() const { return *at_; }      // Requires that this is not the end.
  T* operator->() const { return at_; }      // The same.
  // Moves to the next element. Requires that this is not the end.
  LinkIterator& operator++() {
    at_ = at_->next();
    return *this;
  }
  // The same, but returns a copy made before the move.
  LinkIterator operator++(int) {
    LinkIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const LinkIterator&) const = default;

 private:
  T* at_ = nullptr;
};

// A use of a block as a successor: a link in the block's list of predecessors.
class BlockOperand {
 public:
  Block* get() const { return block_; }        // The block; may be null.
  Operation* owner() const { return owner_; }  // The op that has the successor.
  // The next use of the block as a successor; null at the end.
  BlockOperand* next_use() const { return next_; }

 private:
  friend class Operation;
  friend class Block;
  explicit BlockOperand(Operation* owner) : owner_(owner) {}
  void Link(Block* block);
  void Unlink();
  Block* block_ = nullptr;
  BlockOperand* next_ = nullptr;
  BlockOperand* prev_ = nullptr;
  Operation* owner_;
};

// A list of operations, which it owns, with arguments. A block belongs to a region or to the caller
// who made it.
class Block {
 public:
  Block() = default;
  // Destroys its operations. Operands elsewhere that use values of the block become null.
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Appends an argument and returns it.
  Value AddArgument(Type type, Location location = Location());
  // Removes argument `i`, which must have no uses. Later arguments move down by one; their Values
  // stay valid.
  void EraseArgument(unsigned i);
  // The number of arguments.
  unsigned num_arguments() const { return static_cast<unsigned>(arguments_.size()); }
  // Requires i < num_arguments().
  Value argument(unsigned i) const {
    TENON_DCHECK(i < arguments_.size());
    return Value(arguments_[i].get());
  }

  bool empty() const { return first_ == nullptr; }  // True if it has no ops.
  Operation* front() const { return first_; }       // The first op; null if it is empty.
  Operation* back() const { return last_; }         // The last op; null if it is empty.
  // Returns the last op if it has the terminator trait or is of an unregistered op; null otherwise.
  Operation* terminator() const;
  // At the first op.
  LinkIterator<Operation> begin() const { return LinkIterator<Operation>(first_); }
  LinkIterator<Operation> end() const { return LinkIterator<Operation>(); }  // Behind the last op.
  // Inserts a detached op at the end. See Insert.
  void Append(Operation* op) { Insert(op, nullptr); }
  // Inserts a detached op before `before`, an op of this block; at the end if `before` is null. The
  // block becomes the owner. Takes amortized logarithmic time. Source of the order numbers: Bender
  // et al., "Two Simplified Algorithms for Maintaining Order in a List" (2002).
  void Insert(Operation* op, Operation* before);

  // The region that holds the block; null if it is in none.
  Region* parent() const { return parent_; }
  // The op that owns the region; null if there is none.
  Operation* parent_op() const;
  Block* next() const { return next_; }  // The next block of the region; null at its end.
  Block* prev() const { return prev_; }  // The previous block; null at the start.
  // True if a terminator has the block as a successor.
  bool has_predecessors() const { return first_pred_ != nullptr; }
  // The latest use as a successor, or null. BlockOperand::next_use leads to the others.
  BlockOperand* first_predecessor() const { return first_pred_; }
  // Sets every operand and successor of all nested ops to null, so that the ops can be destroyed in
  // any order.
  void DropAllReferences();
  // Numbers the ops of the block kOrderStride, 2 * kOrderStride, …. Several threads may call it at
  // the same time on a block that nobody changes.
  void Renumber() const;
  static constexpr uint32_t kOrderStride = 4;  // The distance of neighbors after Renumber().

 private:
  friend class BlockOperand;
  friend class Operation;
  friend class Region;
  Region* parent_ = nullptr;
  Block* prev_ = nullptr;
  Block* next_ = nullptr;
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  BlockOperand* first_pred_ = nullptr;
  mutable std::atomic<bool> order_valid_ = true;
  std::vector<std::unique_ptr<BlockArgumentImpl>> arguments_;
};

// A list of blocks, which it owns. The first block is the entry. A region belongs to its operation.
class Region {
 public:
  explicit Region(Operation* parent) : parent_(parent) {}  // `parent` will own the region.
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Operation* parent() const { return parent_; }     // The op that owns the region.
  bool empty() const { return first_ == nullptr; }  // True if it has no blocks.
  Block& front() const { return *first_; }          // The entry. Requires a block.
  Block& back() const { return *last_; }            // The last block. Requires a block.
  LinkIterator<Block> begin() const { return LinkIterator<Block>(first_); }  // At the entry.
  LinkIterator<Block> end() const { return LinkIterator<Block>(); }  // Behind the last block.
  // Appends an empty block and returns it.
  Block* AddBlock();
  // Inserts `block` before `before`; at the end if `before` is null.
  void Insert(std::unique_ptr<Block> block, Block* before);
  // Takes `block` out without destroying it.
  std::unique_ptr<Block> Remove(Block* block);
  // Moves all blocks of `other` to the end of this region.
  void TakeBody(Region& other);
  // Calls Block::DropAllReferences for each block.
  void DropAllReferences();

 private:
  Operation* parent_;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};
static_assert(sizeof(Region) == 24);

}  // namespace tenon

#endif  // TENON_IR_CORE_BLOCK_H_
