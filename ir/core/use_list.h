// Linking and unlinking of uses, inlined where operations are created and destroyed. Internal to
// ir/core.
#ifndef TENON_IR_CORE_USE_LIST_H_
#define TENON_IR_CORE_USE_LIST_H_

#include "ir/core/value.h"

namespace tenon {

inline void OpOperand::Link(ValueImpl* value) {
  value_ = value;
  if (value == nullptr) return;
  next_ = value->first_use_;
  if (next_ != nullptr) next_->set_back(&next_);
  set_back(&value->first_use_);
  value->first_use_ = this;
}

inline void OpOperand::Unlink() {
  if (value_ == nullptr) return;
  *back() = next_;
  if (next_ != nullptr) next_->set_back(back());
  value_ = nullptr;
  next_ = nullptr;
}

}  // namespace tenon

#endif  // TENON_IR_CORE_USE_LIST_H_
