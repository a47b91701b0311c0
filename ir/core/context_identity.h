// Which Context something was made for.
#ifndef TENON_IR_CORE_CONTEXT_IDENTITY_H_
#define TENON_IR_CORE_CONTEXT_IDENTITY_H_

#include <memory>

#include "ir/core/context.h"

namespace tenon {

// Remembers a Context beyond its end: what is cached for it is not taken for a later Context at the
// same address. Of no Context by default.
class ContextIdentity {
 public:
  ContextIdentity() = default;
  explicit ContextIdentity(const Context& context);
  bool IsOf(const Context& context) const;

 private:
  std::weak_ptr<const char> identity_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_IDENTITY_H_
