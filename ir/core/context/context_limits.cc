#include "ir/core/context/context_limits.h"

#include <algorithm>
#include <cstdint>

#include "ir/core/context/context.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

void SetLimits(Context& context, const Limits& limits) {
  Limits& own = ImplOf(context).limits;
  own = limits;
  own.nesting = std::clamp<int64_t>(limits.nesting, 1, kMaxNesting);
  own.message_bytes = std::max<int64_t>(limits.message_bytes, 1);
}

const Limits& LimitsOf(const Context& context) { return ImplOf(context).limits; }

}  // namespace tenon
