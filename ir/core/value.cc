#include "ir/core/value.h"

#include <algorithm>
#include <utility>

#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/block.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/operation.h"
#include "ir/core/use_list.h"

namespace tenon {

// Results lie directly before the operation's header, result i at distance (i + 1).
Operation* Value::owner_op() const {
  return const_cast<Operation*>(reinterpret_cast<const Operation*>(impl_ + result_index() + 1));
}

unsigned Value::result_index() const {
  TENON_CHECK_READ(impl_ != nullptr);
  // A result of a saturated index has at least kMaxIndex others before it, at higher addresses.
  unsigned beyond = 0;
  const ValueImpl* at = impl_;
  while (at->stored_index() == ValueImpl::kMaxIndex) {
    at += ValueImpl::kMaxIndex;
    beyond += ValueImpl::kMaxIndex;
  }
  return at->stored_index() + beyond;
}

Block* Value::argument_owner() const {
  TENON_CHECK_READ(impl_ != nullptr && is_block_argument());
  return static_cast<BlockArgumentImpl*>(impl_)->owner;
}

unsigned Value::argument_index() const {
  TENON_CHECK_READ(impl_ != nullptr && is_block_argument());
  return static_cast<BlockArgumentImpl*>(impl_)->index;
}

Block* Value::parent_block() const {
  TENON_CHECK_READ(impl_ != nullptr);
  return is_block_argument() ? argument_owner() : owner_op()->block();
}

Location Value::location() const {
  return is_block_argument() ? static_cast<BlockArgumentImpl*>(impl_)->location
                             : owner_op()->location();
}

size_t Value::num_uses() const {
  size_t n = 0;
  for (OpOperand* use = impl_->first_use_; use != nullptr; use = use->next_use()) ++n;
  return n;
}

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// As the lexer reads names behind "%" (lexer.h). A name does not end with "-", for "->" may follow.
std::string ReadableName(std::string_view name) {
  std::string text;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool kept = letter || IsDigit(c) || c == '_' || c == '$' || c == '.' || c == '-';
    if (text.empty() && IsDigit(c)) text += '_';
    text += kept ? c : '_';
  }
  if (text.ends_with('-')) text.back() = '_';
  return text;
}

// True for the names that the printer gives to values without one.
bool IsGivenByPrinter(std::string_view name) {
  if (name.starts_with("arg")) name.remove_prefix(3);
  return std::all_of(name.begin(), name.end(), IsDigit);
}

}  // namespace

void ValueImpl::DropName() {
  auto& shard = ImplOf(*type().storage()->context).NamesOf(this);
  std::lock_guard<std::mutex> lock(shard.mutex);
  shard.names.Erase(this);
  type_and_index_ &= ~kNamedFlag;
}

std::string Value::name() const {
  if (!has_name()) return std::string();
  auto& shard = ImplOf(*type().storage()->context).NamesOf(impl_);
  std::lock_guard<std::mutex> lock(shard.mutex);
  return *shard.names.Find(impl_);
}

void Value::set_name(std::string_view name) {
  TENON_CHECK_READ(impl_ != nullptr);
  if (IsGivenByPrinter(name)) {
    if (has_name()) impl_->DropName();
    return;
  }
  auto& shard = ImplOf(*type().storage()->context).NamesOf(impl_);
  std::string text = ReadableName(name);
  std::lock_guard<std::mutex> lock(shard.mutex);
  shard.names[impl_] = std::move(text);
  impl_->type_and_index_ |= ValueImpl::kNamedFlag;
}

void Value::ReplaceAllUsesWith(Value other) {
  TENON_CHECK(other != *this);
  if (has_name() && other && !other.has_name()) other.set_name(name());
  while (impl_->first_use_ != nullptr) impl_->first_use_->set(other);
}

void Value::ReplaceAllUsesExcept(Value other, const Operation* except) {
  for (OpOperand *use = impl_->first_use_, *next; use != nullptr; use = next) {
    next = use->next_use();
    if (use->owner() != except) use->set(other);
  }
}

Operation* OpOperand::owner() const {
  return const_cast<Operation*>(reinterpret_cast<const Operation*>(this - index())) - 1;
}

unsigned OpOperand::index() const {
  // As for results, in the other direction.
  unsigned beyond = 0;
  const OpOperand* at = this;
  while ((at->back_and_index_ >> 48) == kMaxIndex) at -= kMaxIndex, beyond += kMaxIndex;
  return static_cast<unsigned>(at->back_and_index_ >> 48) + beyond;
}

void OpOperand::set(Value value) {
  Unlink();
  Link(value.impl());
}

}  // namespace tenon
