#include "ir/core/context/context_identity.h"

#include "ir/core/context/context_impl.h"

namespace tenon {

ContextIdentity::ContextIdentity(const Context& context) : identity_(ImplOf(context).identity) {}

bool ContextIdentity::IsOf(const Context& context) const {
  return identity_.lock() == ImplOf(context).identity;
}

}  // namespace tenon
