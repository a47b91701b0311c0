// Views of operands, results, block arguments and users, for loops and generic code.
#ifndef TENON_IR_CORE_RANGES_H_
#define TENON_IR_CORE_RANGES_H_

#include <cstddef>
#include <iterator>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/value.h"

namespace tenon {

// A view of consecutive values of one op or block: `Derived::at(i)` is value `i`. It is two words,
// to be passed by value, and shows the values as they are when they are read. It is invalid once
// its op is destroyed or its block loses arguments.
template <typename Derived>
class ValueRangeBase {
 public:
  // Visits the values in order.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Value;
    using reference = Value;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    Iterator(const Derived& range, size_t i) : range_(range), i_(i) {}  // At value `i`.
    Value operator*() const { return range_.at(i_); }  // Requires that this is not the end.
    // Moves to the next value.
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    // The same, but returns a copy made before the move.
    Iterator operator++(int) {
      Iterator old = *this;
      ++i_;
      return old;
    }
    // Compares positions; requires iterators of one range.
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    Derived range_;
    size_t i_ = 0;
  };

  using value_type = Value;         // As of containers.
  using const_iterator = Iterator;  // As of containers.

  size_t size() const { return count_; }      // the number of values
  bool empty() const { return count_ == 0; }  // true if there are none
  // Value `i`. Requires i < size(), which debug builds check.
  Value operator[](size_t i) const {
    TENON_DCHECK(i < count_);
    return self().at(i);
  }
  Value front() const { return (*this)[0]; }          // Requires a value.
  Value back() const { return (*this)[count_ - 1]; }  // Requires a value.
  Iterator begin() const { return {self(), 0}; }      // At the first value.
  Iterator end() const { return {self(), count_}; }   // Behind the last value.
  // A copy of the values, which later changes of the IR do not alter.
  std::vector<Value> vec() const {
    std::vector<Value> values(count_);
    for (size_t i = 0; i < count_; ++i) values[i] = self().at(i);
    return values;
  }
  operator std::vector<Value>() const { return vec(); }  // NOLINT(google-explicit-constructor)

 protected:
  ValueRangeBase() = default;
  // A range of `count` values.
  explicit ValueRangeBase(size_t count) : count_(count) {}

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  size_t count_ = 0;
};

// Operands: all of an op, or a group.
class OperandRange : public ValueRangeBase<OperandRange> {
 public:
  OperandRange() = default;  // Empty.
  // `count` operands from `first` on.
  OperandRange(const OpOperand* first, size_t count) : ValueRangeBase(count), first_(first) {}
  // operator[] without its check.
  Value at(size_t i) const { return first_[i].get(); }

 private:
  const OpOperand* first_ = nullptr;
};

// Results: all of an op, or the last ones.
class ResultRange : public ValueRangeBase<ResultRange> {
 public:
  ResultRange() = default;  // Empty.
  // Results from `first` on, the storage of which lies below that of the first.
  ResultRange(Value first, size_t count) : ValueRangeBase(count), first_(first.impl()) {}
  // operator[] without its check.
  Value at(size_t i) const { return Value(first_ - i); }

 private:
  ValueImpl* first_ = nullptr;
};

// The ops that use a value, once for each use, the most recent use first. The range is valid while
// the uses stay as they are.
class UserRange {
 public:
  // Visits the users.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Operation*;
    using reference = Operation*;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    explicit Iterator(OpOperand* use) : use_(use) {}        // Null is the end.
    Operation* operator*() const { return use_->owner(); }  // Requires that this is not the end.
    // Moves to the next use.
    Iterator& operator++() {
      use_ = use_->next_use();
      return *this;
    }
    // The same, but returns a copy made before the move.
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator&) const = default;

   private:
    OpOperand* use_ = nullptr;
  };
  explicit UserRange(Value value) : first_(value.uses().first) {}  // `value` must not be null.
  Iterator begin() const { return Iterator(first_); }              // At the latest use.
  Iterator end() const { return Iterator(); }                      // Behind the last use.
  bool empty() const { return first_ == nullptr; }                 // True if nothing uses it.

 private:
  OpOperand* first_;
};

// The users of `value`, which must not be null.
inline UserRange UsersOf(Value value) { return UserRange(value); }

}  // namespace tenon

#endif  // TENON_IR_CORE_RANGES_H_
