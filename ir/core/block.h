// Blocks and regions.
#ifndef TENON_IR_CORE_BLOCK_H_
#define TENON_IR_CORE_BLOCK_H_

#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "ir/core/operation.h"

namespace tenon {

// Iterates over ops of a block or blocks of a region. An iterator is valid as long as the element
// it stands at is in the list; whoever erases or moves that one reads the next link first:
// `for (Operation *op = block.front(), *next; op; op = next) { next = op->next(); … }`.
template <typename T>
class LinkIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = T;
  using reference = T&;
  using pointer = T*;
  using iterator_category = std::forward_iterator_tag;
  LinkIterator() = default;
  explicit LinkIterator(T* at) : at_(at) {}
  T& operator*() const { return *at_; }
  T* operator->() const { return at_; }
  LinkIterator& operator++() {
    at_ = at_->next();
    return *this;
  }
  LinkIterator operator++(int) {
    LinkIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const LinkIterator&) const = default;

 private:
  T* at_ = nullptr;
};

// A use of a block by a terminator: a link in the block's list of predecessors.
class BlockOperand {
 public:
  Block* get() const { return block_; }
  Operation* owner() const { return owner_; }
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

class Block {
 public:
  Block() = default;
  // Destroys its operations. What uses values of the block from outside is left with null operands.
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Value AddArgument(Type type, Location location = Location());
  // REQUIRES: the argument has no uses. Those after it keep their Values and move up.
  void EraseArgument(unsigned i);
  unsigned num_arguments() const { return static_cast<unsigned>(arguments_.size()); }
  Value argument(unsigned i) const { return Value(arguments_[i].get()); }

  bool empty() const { return first_ == nullptr; }
  Operation* front() const { return first_; }
  Operation* back() const { return last_; }
  // The last op if it is a terminator or of an unknown dialect; null otherwise.
  Operation* terminator() const;
  LinkIterator<Operation> begin() const { return LinkIterator<Operation>(first_); }
  LinkIterator<Operation> end() const { return LinkIterator<Operation>(); }
  void Append(Operation* op) { Insert(op, nullptr); }
  // Inserts a detached op before `before`, an op of this block; null means at the end. The block
  // owns it from now on.
  void Insert(Operation* op, Operation* before);

  Region* parent() const { return parent_; }
  Operation* parent_op() const;
  Block* next() const { return next_; }
  Block* prev() const { return prev_; }
  bool has_predecessors() const { return first_pred_ != nullptr; }
  BlockOperand* first_predecessor() const { return first_pred_; }
  // Makes every operand and successor of the ops inside null, however deep, so that they can be
  // destroyed in any order.
  void DropAllReferences();
  // Gives every op of the block a fresh order number stride, 2·stride, … Of several threads that
  // read one block (Print, Clone) each writes the same numbers.
  void Renumber() const;
  static constexpr uint32_t kOrderStride = 4;

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

// A list of blocks, which it owns; the first is the entry. Belongs to its operation.
class Region {
 public:
  explicit Region(Operation* parent) : parent_(parent) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Operation* parent() const { return parent_; }
  bool empty() const { return first_ == nullptr; }
  Block& front() const { return *first_; }
  Block& back() const { return *last_; }
  LinkIterator<Block> begin() const { return LinkIterator<Block>(first_); }
  LinkIterator<Block> end() const { return LinkIterator<Block>(); }
  Block* AddBlock();  // appended
  void Insert(std::unique_ptr<Block> block, Block* before);
  std::unique_ptr<Block> Remove(Block* block);
  void TakeBody(Region& other);  // moves all blocks of `other` to the end of this region
  void DropAllReferences();

 private:
  Operation* parent_;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};
static_assert(sizeof(Region) == 24);

}  // namespace tenon

#endif  // TENON_IR_CORE_BLOCK_H_
