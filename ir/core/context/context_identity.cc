#include "ir/core/context/context_identity.h"

#include "ir/core/context/context_impl.h"

namespace tenon {

ContextIdentity::ContextIdentity(const Context& context) : identity_(context.impl().identity) {}

bool ContextIdentity::IsOf(const Context& context) const {
  return identity_.lock() == context.impl().identity;
}

}  // namespace tenon
