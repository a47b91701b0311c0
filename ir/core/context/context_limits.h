// The limits of a context.
#ifndef TENON_IR_CORE_CONTEXT_CONTEXT_LIMITS_H_
#define TENON_IR_CORE_CONTEXT_CONTEXT_LIMITS_H_

#include "ir/base/limits.h"

namespace tenon {

class Context;

// Sets the limits that the parser, the verifier and the diagnostics of `context` use: `nesting` and
// `message_bytes`. Out-of-range values are clamped. Call it before anything is read; not
// thread-safe.
void SetLimits(Context& context, const Limits& limits);
// Returns the limits of `context`, which are the defaults before SetLimits.
const Limits& LimitsOf(const Context& context);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_CONTEXT_LIMITS_H_
