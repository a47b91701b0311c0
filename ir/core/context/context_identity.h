// Recognizing a Context after others have ended.
#ifndef TENON_IR_CORE_CONTEXT_CONTEXT_IDENTITY_H_
#define TENON_IR_CORE_CONTEXT_CONTEXT_IDENTITY_H_

#include <memory>

#include "ir/core/context/context.h"

namespace tenon {

// Identifies a Context, also after its end: a later Context at the same address is not taken for
// it. Caches use it as a key. A default-constructed identity belongs to no Context.
class ContextIdentity {
 public:
  ContextIdentity() = default;
  explicit ContextIdentity(const Context& context);
  bool IsOf(const Context& context) const;

 private:
  std::weak_ptr<const char> identity_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_CONTEXT_IDENTITY_H_
